package export

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"time"

	"github.com/waggle-crawler/waggle/event"
)

// A line of JSON holds no byte that a terminal obeys: control, invisible and
// bidirectional characters are escaped, so nothing of a text is lost.

func writePagesJSONL(ctx context.Context, in *Input, out io.Writer) error {
	w := bufio.NewWriter(out)
	var b []byte
	return pagesTo(ctx, in, func(p pageRow) error {
		o := jsonObject{b: b[:0]}
		o.text("url", p.URL)
		o.text("time", p.Time.Format(time.RFC3339Nano))
		o.number("status", float64(p.Status))
		o.text("type", p.Type)
		o.text("language", p.Language)
		o.text("title", p.Title)
		o.text("text", p.Text)
		o.number("relevance", p.Relevance)
		o.truth("relevant", p.Relevant)
		o.text("reason", p.Reason)
		o.text("copy_of", p.CopyOf)
		o.text("judge", p.Judge)
		o.text("scorer", p.Scorer)
		o.number("depth", float64(p.Depth))
		o.text("from", p.From)
		o.text("digest", p.Digest)
		o.texts("opt_outs", p.OptOuts)
		o.text("tdm_policy", p.TDMPolicy)
		o.text("crawl", p.Crawl)
		o.columns(in.Columns, p.Values)
		b = append(o.b, "}\n"...)
		_, err := w.Write(b)
		return err
	}, w.Flush)
}

func writeLinksJSONL(ctx context.Context, in *Input, out io.Writer) error {
	w := bufio.NewWriter(out)
	var b []byte
	return linksTo(ctx, in, func(l linkRow) error {
		o := jsonObject{b: b[:0]}
		o.text("from", l.From)
		o.text("to", l.To)
		o.text("kind", l.Kind)
		o.text("anchor", l.Anchor)
		o.text("context", l.Context)
		if l.Priority != nil {
			o.number("priority", *l.Priority)
		}
		o.text("fate", l.Fate)
		o.text("reason", l.Reason)
		o.text("crawl", l.Crawl)
		b = append(o.b, "}\n"...)
		_, err := w.Write(b)
		return err
	}, w.Flush)
}

// jsonObject appends the members of an object, without its end.
type jsonObject struct {
	b     []byte
	begun bool
}

func (o *jsonObject) key(k string) {
	if o.begun {
		o.b = append(o.b, ',')
	} else {
		o.b, o.begun = append(o.b, '{'), true
	}
	o.b = append(event.AppendText(o.b, k), ':')
}

func (o *jsonObject) text(k, v string) {
	o.key(k)
	o.b = event.AppendText(o.b, v)
}

func (o *jsonObject) texts(k string, v []string) {
	o.key(k)
	o.b = append(o.b, '[')
	for i, s := range v {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = event.AppendText(o.b, s)
	}
	o.b = append(o.b, ']')
}

func (o *jsonObject) number(k string, v float64) {
	o.key(k)
	o.b = event.AppendNumber(o.b, v)
}

func (o *jsonObject) truth(k string, v bool) {
	o.key(k)
	o.b = strconv.AppendBool(o.b, v)
}
