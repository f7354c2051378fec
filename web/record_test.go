package web_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

func TestAbsent(t *testing.T) {
	u, err := web.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	absent := web.NotRecorded(u)
	if !absent.Absent() || absent.Status != 404 || absent.URL != u {
		t.Errorf("what is not recorded: %+v", absent)
	}
	for name, r := range map[string]web.Response{
		"a dead link":         {Status: 404},
		"another word":        {Status: 404, Header: web.Header{web.RecordHeader: {"present"}}},
		"a page that says it": {Status: 200, Header: web.Header{web.RecordHeader: {web.RecordAbsent}}},
	} {
		if r.Absent() {
			t.Errorf("%s is absent", name)
		}
	}
}
