package figures

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// Of pages that repeat one another the first that a filter wants is listed, with the number of
// those that the log tells to repeat it; and those of one page are listed on their own. The
// bodies of dance and hive differ, and their digests begin alike.
func TestCopiesAreFolded(t *testing.T) {
	c := New()
	for i, p := range []struct {
		url, like string
		digest    string
		reason    web.Reason
	}{
		{"a.test/dance", "", "11111111aaaaaaaaaaaaaaaaaaaaaaaa", ""},
		{"a.test/hive", "", "11111111bbbbbbbbbbbbbbbbbbbbbbbb", ""},
		{"b.test/dance", "a.test/dance", "33333333aaaaaaaaaaaaaaaaaaaaaaaa", web.ReasonNearCopy},
		{"b.test/dance-print", "a.test/dance", "44444444aaaaaaaaaaaaaaaaaaaaaaaa", web.ReasonNearCopy},
		{"c.test/dance", "", "33333333aaaaaaaaaaaaaaaaaaaaaaaa", web.ReasonDuplicate}, // of a near-copy
		{"c.test/hive", "", "11111111bbbbbbbbbbbbbbbbbbbbbbbb", web.ReasonDuplicate},
		{"c.test/lost", "lost.test/", "55555555aaaaaaaaaaaaaaaaaaaaaaaa", web.ReasonNearCopy}, // of a page that the log has lost
		{"c.test/odd", "", "", web.ReasonDuplicate},
		{"a.test/hidden", "", "66666666aaaaaaaaaaaaaaaaaaaaaaaa", web.ReasonNoIndex},
	} {
		e := event.Fetched{At: at(i), Visit: event.Visit{URL: addr(t, "http://"+p.url)}, Digest: p.digest, Reason: p.reason, Title: p.url}
		if p.like != "" {
			e.Like = addr(t, "http://"+p.like)
		}
		c.Add(e, int64(i))
	}
	for _, test := range []struct {
		name string
		f    Filter
		want string
	}{
		{"all", Filter{}, "a/dance a/hive b/dance b/dance-print c/dance c/hive c/lost c/odd a/hidden of 9"},
		{"folded", Filter{Fold: true}, "a/dance+3 a/hive+1 c/lost c/odd a/hidden of 5"},
		{"folded, from the second on", Filter{Fold: true, From: 1, N: 2}, "a/hive+1 c/lost of 5"},
		{"folded, in another order", Filter{Fold: true, Order: "address", Down: true}, "c/odd c/lost a/hive+1 a/hidden a/dance+3 of 5"},
		{"folded, of a host without the first page", Filter{Fold: true, Host: "b.test"}, "b/dance b/dance-print of 2"},
		{"folded, by words", Filter{Fold: true, Text: "dance"}, "a/dance+3 of 1"},
		{"folded, those left out", Filter{Fold: true, Verdict: "left-out"}, "b/dance b/dance-print c/dance c/hive c/lost c/odd a/hidden of 7"},
		{"copies of the first", Filter{CopiesOf: addr(t, "http://a.test/dance")}, "a/dance b/dance b/dance-print c/dance of 4"},
		{"copies of a copy", Filter{CopiesOf: addr(t, "http://c.test/dance"), Order: "address"}, "a/dance b/dance b/dance-print c/dance of 4"},
		{"copies of a page that is no copy", Filter{CopiesOf: addr(t, "http://c.test/odd")}, "c/odd of 1"},
		{"copies of what was not fetched", Filter{CopiesOf: addr(t, "http://lost.test/")}, "of 0"},
	} {
		if test.f.N == 0 {
			test.f.N = 50
		}
		list, all := c.List(test.f)
		var got []string
		for _, p := range list {
			name := strings.Replace(strings.TrimPrefix(p.URL, "http://"), ".test", "", 1)
			if n := c.Copies(p.Number); test.f.Fold && n > 0 {
				name += fmt.Sprintf("+%d", n)
			}
			got = append(got, name)
		}
		if line := strings.Join(slices.Concat(got, []string{fmt.Sprintf("of %d", all)}), " "); line != test.want {
			t.Errorf("%s: %s, want %s", test.name, line, test.want)
		}
	}
}
