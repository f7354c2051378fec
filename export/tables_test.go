package export

import (
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Of a document that repeats a secret where it is not concealed the tables have what the log has of its links,
// and no text around them.
func TestLinksOfTellingPage(t *testing.T) {
	at := func(s string) web.URL {
		u, err := web.Parse("https://in.test" + s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	page := &web.Page{Title: "Bees", Links: []web.Link{
		{URL: at("/hive"), Kind: web.LinkA, Anchor: "the hive by-hand-4711", After: "of by-hand-4711"},
		{URL: at("/hive"), Kind: web.LinkA, Anchor: "hive"},
		{URL: at("/in?by-hand-4711"), Kind: web.LinkA, Anchor: "in"},
	}}
	fates := &fates{codes: map[fate]int{}}
	for _, c := range []struct {
		telling, parsed int // links left out of the log, and of these by the parser
		anchor          string
		rows            int
		want            string
	}{
		{1, 0, "the hive …", 1, "the hive …"},
		{2, 1, "hive", 1, "hive"},
		{1, 1, "hive", 2, "the hive by-hand-4711"},
		{0, 0, "hive", 2, "the hive by-hand-4711"},
	} {
		page.Telling = c.parsed
		f := &found{Fetched: event.Fetched{Telling: c.telling, Queued: []event.Found{{URL: at("/hive"), Anchor: c.anchor}}}, Page: page}
		fates.list, fates.known = []uint64{keyOf(at("/hive"))}, []fate{{waiting, ""}}
		rows := linksOf(f, fates)
		if len(rows) != c.rows || rows[0].Anchor != c.want || rows[0].Kind != "a" || (rows[0].Context == "") != (c.want != page.Links[0].Anchor) {
			t.Errorf("%+v: the tables have %+v", c, rows)
		}
	}
}
