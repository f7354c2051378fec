package pool

import (
	"bytes"
	"testing"
)

// Whatever a file of labels holds, in either form: what is taken are grades of pages to read.
func FuzzLabels(f *testing.F) {
	f.Add([]byte("n\tgrade\n1\t2\n2\t?\n"))
	f.Add([]byte("reader\tnote\tgrade\ttopic\taddress\tround\tn\nbob\tx\t0\ttree/bees\thttp://a.test/\t2\t2\n"))
	f.Add([]byte("tree/bees 0 http://a.test/ -1\n"))
	f.Add([]byte("\ufeffweb\ttopic\tn\tgrade\r\n# why\r\n\r\ntree\tbees\t30\t1\r\n"))
	p, _ := drawn(f)
	bees := &p.Topics[0]
	ix := p.index()
	f.Fuzz(func(t *testing.T, b []byte) {
		labels, err := NewImporter(p, ImportOptions{Topic: bees.Key(), Reader: "ada"}).Read(bytes.NewReader(b), "f")
		if (err == nil) != (len(labels) > 0) {
			t.Fatalf("%v, %v", labels, err)
		}
		for _, l := range labels {
			if _, _, err := ix.find(l.Key, l.URL.String()); err != nil || l.Reader == "" || l.Round < 1 {
				t.Errorf("%+v", l)
			}
		}
	})
}
