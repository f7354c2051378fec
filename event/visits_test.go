package event

import (
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// ReadVisits gives what ReadFile gives but for the links of pages, whatever the texts
// before them hold.
func TestReadVisits(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, "log")
		log, err := Open(path, []byte(Empty))
		if err != nil {
			rt.Fatal(err)
		}
		defer log.Close()
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 0, 8).Draw(rt, "events")
		title := rapid.SampledFrom([]string{`a,"queued":[b`, `"skipped":[`, `\",\"queued\":[`, ""}).Draw(rt, "title")
		events = append(events, Fetched{At: after(1), Title: title, Links: 2, Queued: []Found{{URL: addr("https://a.example/")}}},
			Fetched{At: after(2), Title: title, Skipped: []Skipped{{URL: addr("https://a.example/")}}, Omitted: 3}, Fetched{At: after(3), Title: title})
		if _, err := log.Append(events...); err != nil {
			rt.Fatal(err)
		}
		var want, got []Event
		for e, err := range ReadFile(path) {
			if err != nil {
				rt.Fatal(err)
			}
			if p, ok := e.(Fetched); ok {
				p.Queued, p.Skipped, p.Omitted = nil, nil, 0
				e = p
			}
			want = append(want, e)
		}
		for e, err := range ReadVisits(path) {
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, e)
		}
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}
