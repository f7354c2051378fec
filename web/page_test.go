package web_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

func TestReleaseGivesBackOnce(t *testing.T) {
	(*web.Response)(nil).Release()
	n := 0
	r := &web.Response{}
	r.Release()
	r.OnRelease(func() { n++ })
	r.Release()
	r.Release()
	if n != 1 {
		t.Errorf("given back %d times, want once", n)
	}
}

// Links in which something is concealed are counted and left out, in the host as well.
func TestWithoutConcealed(t *testing.T) {
	p := &web.Page{}
	for i, s := range []string{"https://a.example/1", "https://a.example/?t=" + web.Concealed, "https://" + web.Concealed + ".b.example/", "https://a.example/2"} {
		u, err := web.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		p.Links = append(p.Links, web.Link{URL: u, Position: i})
	}
	p.WithoutConcealed()
	if p.Telling != 2 || len(p.Links) != 2 || p.Links[0].URL.Path() != "/1" || p.Links[1].URL.Path() != "/2" || p.Links[1].Position != 3 {
		t.Errorf("%d are left out of %v", p.Telling, p.Links)
	}
}
