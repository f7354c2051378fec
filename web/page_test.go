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
