// Package explain tells why a page of a crawl was fetched, or not: the way to it by
// the log, what the scorer makes of the link that led there, and what the judge
// makes of the page, with both as the crawl left them.
//
// All of it is text for a terminal; nothing of a page acts there.
package explain

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Explain writes what there is to tell of an address of a crawl, which may be
// running; the scorer is asked where it is not. Documents reads what is no HTML. What cannot be told, and why,
// is given to doubt, and the rest is told all the same. The error is that of reading
// the log, of writing, or of ctx.
func Explain(ctx context.Context, out io.Writer, col collection.Collection, documents parse.Documents, u web.URL, doubt func(what string, why error)) (event.Fate, error) {
	x, err := col.Explain(u)
	if err != nil {
		return "", err
	}
	if err := col.CutShort(); err != nil {
		doubt("What the end of the log told", err)
	}
	if slices.ContainsFunc(x.Notes, func(n event.Note) bool { return n.What == "judged" }) {
		said, err := col.Said(u)
		if err != nil {
			return x.Fate, err
		}
		compare(x.Notes, said)
	}
	if err := writePath(out, &x); err != nil {
		return x.Fate, err
	}
	if i, ok := linkOf(&x); ok {
		l, err := explainLink(ctx, col, documents, x.Path[:i+1])
		switch {
		case ctx.Err() != nil:
			return x.Fate, ctx.Err()
		case err != nil:
			doubt("What made the priority of that link", err)
		default:
			l.print(out)
		}
	}
	if x.Fate == event.Taken && x.Rendered == nil && !x.NoBrowser {
		switch why, err := unrendered(ctx, col, documents, u); {
		case ctx.Err() != nil:
			return x.Fate, ctx.Err()
		case err != nil:
			doubt("Why no browser was asked for it", err)
		default:
			fmt.Fprintf(out, "\n%s\n", why)
		}
	}
	if x.Fate == event.Taken {
		switch p, ok, err := explainPage(ctx, col, documents, u); {
		case ctx.Err() != nil:
			return x.Fate, ctx.Err()
		case err != nil:
			doubt("What its relevance is made of", err)
		case ok:
			p.label = x.Label
			p.print(out)
		}
	}
	return x.Fate, nil
}

// compare gives notes of judgements what had been said of the page before each: said is
// all that was, oldest first. Where notes were left out the last ones are kept.
func compare(notes []event.Note, said []float64) {
	last := len(said) - 1
	for i := len(notes) - 1; i >= 0 && last > 0; i-- {
		if n := &notes[i]; n.What == "judged" && n.Relevance == said[last] {
			n.Was = &said[last-1]
			last--
		}
	}
}

// stoppedMaker is makerOf of a crawl that must not be running: its frontier changes then.
func stoppedMaker(col collection.Collection, documents parse.Documents) (*job.Maker, error) {
	if col.Running() {
		return nil, fmt.Errorf("the crawl in %s is running: ask again once it has ended or was stopped", col.Dir())
	}
	return makerOf(col, documents)
}

// makerOf makes the parts of a crawl as it left them, or of one that runs as its last turn has them.
func makerOf(col collection.Collection, documents parse.Documents) (*job.Maker, error) {
	j, err := job.Read(col.JobFile())
	if err != nil {
		return nil, err
	}
	return &job.Maker{Job: j, Begun: &col, Documents: documents}, nil
}

// Address reads an address that a person gave, which may lack its scheme, and then as the
// crawl reads those of links.
func Address(col collection.Collection, address string) (web.URL, error) {
	u, err := web.Given(address)
	if err != nil {
		return u, err
	}
	address = web.WithScheme(address)
	if j, err := job.Read(col.JobFile()); err == nil {
		if v, err := j.Canon().Parse(address); err == nil {
			return v, nil
		}
	}
	return u, nil
}
