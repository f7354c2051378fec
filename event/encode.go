package event

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// maxLine bounds a line of a log, newline included, in bytes: the writer keeps
// to it, and the reader need not hold more.
const maxLine = 16 << 20

// AppendJSON appends e to b as one JSON object without a newline. Equal events
// give equal bytes. Whatever bytes its strings hold, the result is valid UTF-8
// and free of control and bidirectional characters, so that it can be shown on
// a terminal: invalid UTF-8 becomes U+FFFD, the others are escaped. A NaN is
// written as null, which reads as 0, and an infinity as the largest number.
// Events are values: a pointer to one is an error, as is any other type.
func AppendJSON(b []byte, e Event) ([]byte, error) {
	o := object{b: b}
	kind := ""
	if e != nil {
		kind = e.Kind()
	}
	switch e := e.(type) {
	case Started:
		o.begin(kind, e.At)
		o.text("name", e.Name)
		o.text("scorer", e.Scorer)
		o.text("judge", e.Judge)
		o.flag("resumed", e.Resumed)
		o.optInt("budget_pages", int64(e.Pages))
		o.optInt("budget_ns", int64(e.Limit))
		o.int("workers", int64(e.Workers))
		o.flag("several", e.Several)
		o.float("threshold", e.Threshold)
		o.texts("settings", e.Settings)
	case Changed:
		o.begin(kind, e.At)
		o.text("setting", e.Setting)
		o.text("old", e.Old)
		o.text("new", e.New)
	case Seeded:
		o.begin(kind, e.At)
		o.found(e.Queued)
		o.skipped(e.Skipped)
	case Fetched:
		o.begin(kind, e.At)
		o.visit(e.Visit)
		o.int("status", int64(e.Status))
		o.text("mime", e.MIME)
		o.int("bytes", int64(e.Bytes))
		o.float("took", e.Took)
		o.optText("title", e.Title)
		o.optText("language", e.Language)
		o.text("digest", e.Digest)
		o.float("relevance", e.Relevance)
		o.float("similarity", e.Similarity)
		o.flag("relevant", e.Relevant)
		o.optText("reason", string(e.Reason))
		o.optText("like", e.Like.String())
		if e.Likeness != 0 {
			o.float("likeness", e.Likeness)
		}
		o.directives(e.Directives)
		o.flag("tdm_by_site", e.BySite)
		o.flag("truncated", e.Truncated)
		o.optText("cut", e.Cut)
		if e.Rendered != nil {
			o.value("rendered", e.Rendered)
		}
		o.flag("no_browser", e.NoBrowser)
		o.int("links", int64(e.Links))
		o.optInt("telling", int64(e.Telling))
		o.optInt("concealed", int64(e.Concealed))
		o.optInt("entries", int64(e.Entries))
		o.dated(e.Dated)
		o.optInt("sent", int64(e.Sent))
		o.found(e.Queued)
		o.skipped(e.Skipped)
		o.optInt("omitted", int64(e.Omitted))
	case SiteFile:
		o.begin(kind, e.At)
		o.text("url", e.URL.String())
		o.optInt("status", int64(e.Status))
		o.int("rules", int64(e.Rules))
		o.optText("wrong", e.Wrong)
	case Received:
		o.begin(kind, e.At)
		o.optText("from", e.From.String())
		o.int("depth", int64(e.Depth))
		o.found(e.Queued)
		o.skipped(e.Skipped)
	case Failed:
		o.begin(kind, e.At)
		o.visit(e.Visit)
		o.text("reason", string(e.Reason))
		o.optText("detail", e.Detail)
		o.optInt("status", int64(e.Status))
		o.optInt("bytes", int64(e.Bytes))
		if e.Took != 0 {
			o.float("took", e.Took)
		}
		o.flag("retry", e.Retry)
		o.flag("outage", e.Outage)
		o.optText("to", e.To.String())
		o.flag("queued", e.Queued)
	case Dropped:
		o.begin(kind, e.At)
		o.text("reason", string(e.Reason))
		o.optText("host", string(e.Host))
		o.int("count", int64(e.Count))
		if len(e.URLs) > 0 {
			o.key("urls")
			for i, u := range e.URLs {
				o.sep(i, '[')
				o.b = AppendText(o.b, u.String())
			}
			o.b = append(o.b, ']')
		}
		o.optText("detail", e.Detail)
	case Rejudged:
		o.begin(kind, e.At)
		o.optText("judge", e.Judge)
		if e.Judge != "" {
			o.float("threshold", e.Threshold)
		}
		o.verdicts(e.Pages)
	case Act:
		o.begin(kind, e.At)
		o.int("number", int64(e.Number))
		o.text("do", string(e.Do))
		o.optText("url", e.URL.String())
		o.optText("place", e.Place)
		o.optInt("pages", int64(e.Pages))
		o.optInt("was", int64(e.Was))
		o.optText("delay", e.Delay)
		o.optText("before", e.Before)
		o.optList("keywords", e.Keywords)
		o.optList("keywords_before", e.KeywordsBefore)
		o.optInt("act", int64(e.Act))
		o.optText("refused", e.Refused)
		o.optInt("own", int64(e.Own))
		o.optMoment("told", e.Told)
		o.optInt("known", int64(e.Known))
		o.flag("absent", e.Absent)
	case Doubt:
		o.begin(kind, e.At)
		o.list("notes", e.Notes)
	case Outage:
		o.begin(kind, e.At)
		o.moment("since", e.Since)
		o.optInt("sites", int64(e.Sites))
		o.optInt("probes", int64(e.Probes))
		o.optMoment("next", e.Next)
		o.flag("over", e.Over)
		o.flag("proxy", e.Proxy)
		o.optText("detail", e.Detail)
	case HostDown:
		o.begin(kind, e.At)
		o.text("host", string(e.Host))
		o.optText("reason", string(e.Reason))
		o.optText("detail", e.Detail)
		o.int("failures", int64(e.Failures))
		o.moment("since", e.Since)
		o.optMoment("next", e.Next)
		o.flag("over", e.Over)
	case Trap:
		o.begin(kind, e.At)
		o.text("host", string(e.Host))
		o.text("shape", e.Shape)
		o.int("copies", int64(e.Copies))
		o.text("like", e.Like.String())
	case Shipped:
		o.begin(kind, e.At)
		o.optText("file", e.File)
		o.optInt("bytes", e.Bytes)
		o.optText("sha256", e.SHA256)
		o.optText("trouble", e.Trouble)
	case Tick:
		o.begin(kind, e.At)
		o.frontier(e.Frontier)
		o.flag("waits", e.Waits)
	case Ended:
		o.begin(kind, e.At)
		o.text("how", string(e.How))
		o.frontier(e.Frontier)
		o.optMoment("next", e.Next)
		o.optMoment("until", e.Until)
	case Unknown:
		if !json.Valid(e.Raw) || len(e.Raw) == 0 || e.Raw[0] != '{' {
			return b, fmt.Errorf("event of kind %.40q: its line is no JSON object", e.Name)
		}
		for _, c := range e.Raw {
			if c == '\n' || c == '\r' {
				c = ' ' // white space between tokens: JSON strings hold none
			}
			o.b = append(o.b, c)
		}
		return o.b, nil
	default:
		return b, fmt.Errorf("event of type %T: not one of package event's values", e)
	}
	return append(o.b, '}'), nil
}

// fit returns events with the same content as e whose lines keep to limit:
// long lists of seeds are spread over several events, long lists of a page's
// links are cut, and the cut is counted; so are single texts.
func fit(e Event, limit int) []Event {
	const overhead = 128 // bounds the bytes of a list element beside its strings
	room := limit / 2    // escapes at most double an address; the rest is for the other fields
	size := func(u web.URL, anchor string) int { return len(u.String()) + 6*len(anchor) + overhead }
	cutFound := func(l []Found) int {
		for i, f := range l {
			if room -= size(f.URL, f.Anchor); room < 0 {
				return i
			}
		}
		return len(l)
	}
	cutSkipped := func(l []Skipped) int {
		for i, s := range l {
			if room -= size(s.URL, string(s.Reason)); room < 0 {
				return i
			}
		}
		return len(l)
	}
	// spread is false for a single element beyond the limit: the caller reports it.
	spread := func(queued []Found, skipped []Skipped, with func([]Found, []Skipped) Event) (out []Event, ok bool) {
		for len(queued)+len(skipped) > 0 {
			room = limit / 2
			n, m := cutFound(queued), 0
			if n == len(queued) {
				m = cutSkipped(skipped)
			}
			if n+m == 0 {
				return nil, false
			}
			out = append(out, with(queued[:n], skipped[:m]))
			queued, skipped = queued[n:], skipped[m:]
		}
		return out, true
	}
	switch e := e.(type) {
	case Seeded:
		out, ok := spread(e.Queued, e.Skipped, func(q []Found, s []Skipped) Event { return Seeded{e.At, q, s} })
		if ok {
			return out
		}
	case Received:
		out, ok := spread(e.Queued, e.Skipped, func(q []Found, s []Skipped) Event { return Received{e.At, e.From, e.Depth, q, s} })
		if ok {
			return out
		}
	case SiteFile:
		e.Wrong = clip(e.Wrong)
		return []Event{e}
	case Failed:
		e.Detail = clip(e.Detail)
		return []Event{e}
	case Changed:
		e.Old, e.New = clip(e.Old), clip(e.New)
		return []Event{e}
	case HostDown:
		e.Detail = clip(e.Detail)
		return []Event{e}
	case Trap:
		e.Shape = clip(e.Shape)
		return []Event{e}
	case Shipped:
		e.Trouble = clip(e.Trouble)
		return []Event{e}
	case Fetched:
		e.MIME, e.Title, e.Directives.TDMPolicy = clip(e.MIME), clip(e.Title), clip(e.Directives.TDMPolicy)
		for i, d := range e.Dated {
			if room -= size(d.URL, string(d.Changed)); room < limit/4 {
				e.Dated = e.Dated[:i]
				break
			}
		}
		all := len(e.Queued) + len(e.Skipped)
		e.Queued = e.Queued[:cutFound(e.Queued)]
		e.Skipped = e.Skipped[:cutSkipped(e.Skipped)]
		e.Omitted += all - len(e.Queued) - len(e.Skipped)
		return []Event{e}
	case Dropped:
		e.Detail = clip(e.Detail)
		for i, u := range e.URLs {
			if room -= size(u, ""); room < 0 {
				e.URLs = e.URLs[:i]
				break
			}
		}
		return []Event{e}
	}
	return []Event{e}
}

// clip keeps the first 4 KiB.
func clip(s string) string { return s[:min(len(s), 4<<10)] }

// object appends the members of a JSON object, the kind first.
type object struct{ b []byte }

func (o *object) begin(kind string, at At) {
	o.b = append(o.b, `{"kind":"`...)
	o.b = append(o.b, kind...)
	o.b = append(o.b, '"')
	o.moment("at", at.At)
}

func (o *object) moment(k string, t time.Time) {
	o.key(k)
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		t = time.Time{} // RFC 3339 has no such year
	}
	o.b = append(o.b, '"')
	o.b = t.AppendFormat(o.b, time.RFC3339Nano)
	o.b = append(o.b, '"')
}

func (o *object) optMoment(k string, t time.Time) {
	if !t.IsZero() {
		o.moment(k, t)
	}
}

func (o *object) key(k string) {
	o.b = append(o.b, ',', '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, '"', ':')
}

// sep opens a list or object before its first element and parts the others.
func (o *object) sep(i int, open byte) {
	if i > 0 {
		open = ','
	}
	o.b = append(o.b, open)
}

func (o *object) text(k, v string) {
	o.key(k)
	o.b = AppendText(o.b, v)
}

func (o *object) optText(k, v string) {
	if v != "" {
		o.text(k, v)
	}
}

// list writes texts in their order.
func (o *object) list(k string, of []string) {
	o.key(k)
	o.b = append(o.b, '[')
	for i, s := range of {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = AppendText(o.b, s)
	}
	o.b = append(o.b, ']')
}

func (o *object) optList(k string, of []string) {
	if len(of) > 0 {
		o.list(k, of)
	}
}

// texts writes a mapping, sorted by its keys.
func (o *object) texts(k string, of map[string]string) {
	if len(of) == 0 {
		return
	}
	o.key(k)
	for i, key := range slices.Sorted(maps.Keys(of)) {
		o.sep(i, '{')
		o.b = append(AppendText(o.b, key), ':')
		o.b = AppendText(o.b, of[key])
	}
	o.b = append(o.b, '}')
}

func (o *object) int(k string, v int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) optInt(k string, v int64) {
	if v != 0 {
		o.int(k, v)
	}
}

func (o *object) float(k string, v float64) {
	o.key(k)
	o.b = AppendNumber(o.b, v)
}

func (o *object) flag(k string, v bool) {
	if v {
		o.key(k)
		o.b = append(o.b, "true"...)
	}
}

// value writes what is rarely there as encoding/json does.
func (o *object) value(k string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a plain struct
	}
	o.key(k)
	o.b = append(o.b, b...)
}

func (o *object) visit(v Visit) {
	o.text("url", v.URL.String())
	o.optText("from", v.From.String())
	o.optText("link", string(v.Link))
	o.int("depth", int64(v.Depth))
	o.float("priority", v.Priority)
}

// list adds objects that begin with an address, and of which more adds the rest; nothing where
// there are none.
func list[T any](o *object, key string, all []T, address func(*T) web.URL, more func(*T)) {
	if len(all) == 0 {
		return
	}
	o.key(key)
	for i := range all {
		o.sep(i, '[')
		o.b = append(o.b, `{"url":`...)
		o.b = AppendText(o.b, address(&all[i]).String())
		more(&all[i])
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

func (o *object) found(l []Found) {
	list(o, "queued", l, func(f *Found) web.URL { return f.URL }, func(f *Found) {
		o.float("priority", f.Priority)
		o.optText("anchor", f.Anchor)
		o.flag("raised", f.Raised)
		o.optText("link", string(f.Link))
		o.optText("changed", string(f.Changed))
	})
}

func (o *object) dated(l []Dated) {
	list(o, "dated", l, func(d *Dated) web.URL { return d.URL }, func(d *Dated) {
		o.text("changed", string(d.Changed))
		o.float("value", d.Value)
		o.optText("then", string(d.Then))
	})
}

func (o *object) skipped(l []Skipped) {
	list(o, "skipped", l, func(s *Skipped) web.URL { return s.URL }, func(s *Skipped) {
		o.text("reason", string(s.Reason))
		o.optText("link", string(s.Link))
	})
}

func (o *object) directives(d web.Directives) {
	if d == (web.Directives{}) {
		return
	}
	o.key("directives")
	n := len(o.b)
	o.flag("noindex", d.NoIndex)
	o.flag("nofollow", d.NoFollow)
	o.flag("noarchive", d.NoArchive)
	o.flag("noai", d.NoAI)
	o.flag("noimageai", d.NoImageAI)
	o.flag("tdm_reservation", d.TDMReserved)
	o.optText("tdm_policy", d.TDMPolicy)
	o.b[n] = '{' // in place of the first comma
	o.b = append(o.b, '}')
}

func (o *object) frontier(s web.FrontierStats) {
	o.key("frontier")
	n := len(o.b)
	o.int("queued", int64(s.Queued))
	o.int("leased", int64(s.Leased))
	o.int("seen", int64(s.Seen))
	o.int("hosts", int64(s.Hosts))
	o.int("ready", int64(s.Ready))
	o.int("waiting", int64(s.Waiting))
	o.optInt("down", int64(s.Down))
	o.optInt("held", int64(s.Held))
	o.optInt("muted", int64(s.Muted))
	o.b[n] = '{'
	o.b = append(o.b, '}')
}

// AppendNumber appends v as a JSON number, the shortest decimal that reads back as v.
func AppendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "null"...)
	case math.IsInf(v, 0):
		v = math.Copysign(math.MaxFloat64, v)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// plain tells the bytes that stand for themselves in a JSON string. It is never
// changed.
var plain = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// AppendText appends s as a JSON string that can be shown on a terminal, as the texts
// of AppendJSON are.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, s[start:i]...)
			b = utf8.AppendRune(b, utf8.RuneError)
			start = i + n
		case unseen(r):
			b = append(b, s[start:i]...)
			if r > 0xffff { // a surrogate pair
				v := r - 0x10000
				b = appendEscape(b, 0xd800+v>>10)
				r = 0xdc00 + v&0x3ff
			}
			b = appendEscape(b, r)
			start = i + n
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, r rune) []byte {
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
