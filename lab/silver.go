package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/eval/silver"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	reader "github.com/waggle-crawler/waggle/lab/read"
	"github.com/waggle-crawler/waggle/web"
)

// silverWords bounds the words of a page that the classifier of package silver is
// given.
const silverWords = 400

// SilverOptions are those of ExtendPool.
type SilverOptions struct {
	silver.Options
	// Progress is told what is going on; it may be nil.
	Progress func(done, total int, note string)
}

// Extension is the silver grades of a pool, and how far they can be trusted.
type Extension struct {
	Labels   []silver.Label // of documents without a grade by readers
	Accuracy []SilverAccuracy
}

// SilverAccuracy compares the predictions of a topic, made without its grades, with
// these grades. Of each pair the first is from grade 1, the second from grade 2.
type SilverAccuracy struct {
	pool.Key
	Read, Web [2]silver.Accuracy // each graded page counts once; by strata, for the whole web
}

// ExtendPool extends the grades of the pool in dir to all documents of its webs, which
// are the folders of recorded webs given. See package silver.
func ExtendPool(ctx context.Context, dir string, webs []string, o SilverOptions) (*Extension, *pool.Pool, error) {
	if o.Progress == nil {
		o.Progress = func(int, int, string) {}
	}
	p, err := pool.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	labels, err := pool.ReadLabels(dir, p)
	if err != nil {
		return nil, nil, err
	}
	narratives, err := pool.ReadNarratives(dir, p)
	if err != nil {
		return nil, nil, err
	}
	own := pool.ByTopic(labels)
	texts := map[string]*silver.Web{}
	documents := map[string][]web.URL{}
	for _, path := range webs {
		name, w, docs, err := silverWeb(ctx, path, p, o)
		if err != nil {
			return nil, nil, err
		}
		texts[name], documents[name] = w, docs
	}
	topics := make([]silver.Topic, len(p.Topics))
	for i := range p.Topics {
		t := &p.Topics[i]
		if texts[t.Web] == nil {
			return nil, nil, fmt.Errorf("the pool is of the web %s too: give it by --web", t.Web)
		}
		topics[i] = silver.Topic{Key: t.Key(), Narrative: narratives[t.Key()], Web: texts[t.Web], Stratum: t.Member}
		grades := pool.Grades(own[t.Key()], t.Key())
		for _, u := range documents[t.Web] {
			g, ok := grades[u]
			if !ok {
				g = pool.CannotTell
			}
			topics[i].Gold = append(topics[i].Gold, g)
		}
	}
	if len(topics) < 2 {
		return nil, nil, errors.New("the classifier of a topic is trained on all others, and the pool has but one")
	}
	o.Progress(0, 0, "training and predicting")
	predictions, err := silver.Extend(ctx, topics, o.Options)
	if err != nil {
		return nil, nil, err
	}
	out := &Extension{}
	for i := range topics {
		t := &topics[i]
		a := SilverAccuracy{Key: t.Key}
		for g := range 2 {
			a.Read[g] = t.Measure(predictions[i], pool.Grade(g+1), false)
			a.Web[g] = t.Measure(predictions[i], pool.Grade(g+1), true)
		}
		out.Accuracy = append(out.Accuracy, a)
		for d, u := range documents[t.Key.Web] {
			if t.Gold[d] == pool.CannotTell {
				out.Labels = append(out.Labels, silver.Label{Key: t.Key, URL: u, Prediction: predictions[i][d]})
			}
		}
	}
	return out, p, nil
}

// silverWeb reads the texts of the documents of a web, which are the pool's.
func silverWeb(ctx context.Context, path string, p *pool.Pool, o SilverOptions) (name string, texts *silver.Web, documents []web.URL, err error) {
	fail := func(err error) (string, *silver.Web, []web.URL, error) {
		return "", nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err := corpus.Open(path)
	if err != nil {
		return fail(err)
	}
	defer c.Close() // it was read only
	known, ok := p.Web(c.Name)
	if !ok {
		return fail(fmt.Errorf("the pool has no page of a web %s", c.Name))
	}
	w := newLabWeb(c, &Web{Path: path, Budgets: []int{1}}, false)
	if w.folds, err = w.partition(); err != nil {
		return fail(err)
	}
	f := &File{Webs: []Web{*w.spec}, name: path}
	f.setDefaults()
	whole := w.folds[0]
	if err := whole.load(ctx, &runner{File: f, opt: Options{Progress: o.Progress}}); err != nil {
		return fail(err)
	}
	if rev := whole.graph.Revision(); rev != known.Revision {
		return fail(fmt.Errorf("%w: %s has the revision %s, and the pool is of %s", eval.ErrPool, c.Name, rev, known.Revision))
	}
	texts, documents = silver.NewWeb(), whole.graph.Documents()
	for i, u := range documents {
		if i%1000 == 0 {
			o.Progress(i, len(documents), c.Name+": reading texts")
			if ctx.Err() != nil {
				return fail(ctx.Err())
			}
		}
		page, ok := w.pages.Page(u)
		if !ok {
			texts.Add("", nil, "")
			continue
		}
		texts.Add(page.Title, page.Headings, reader.Text(page, silverWords))
	}
	return c.Name, texts, documents, nil
}

// WriteSilver tells the accuracy of silver grades from each grade on, for the pages
// that were read and for the web.
func WriteSilver(out io.Writer, all []SilverAccuracy) error {
	for g := range 2 {
		for by, name := range []string{"read", "web"} {
			fmt.Fprintf(out, "from grade %d, %s\n", g+1, name)
			if err := writeSilver(out, all, g, by == 1); err != nil {
				return err
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}

// writeSilver prints the accuracy of each topic, and the mean of all topics of which
// a figure is known.
func writeSilver(out io.Writer, all []SilverAccuracy, grade int, web bool) error {
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "topic\tpages\trelevant\taccuracy\tprecision\trecall\tkappa\tAUROC\tECE")
	var sum, known [7]float64
	pages := 0
	for _, t := range all {
		a := t.Read[grade]
		if web {
			a = t.Web[grade]
		}
		pages += a.N
		fmt.Fprintf(tab, "%s\t%s", event.Line(t.Key.String()), terminal.Number(a.N))
		for i, v := range []float64{a.Share, a.Accuracy, a.Precision, a.Recall, a.Kappa, a.AUROC, a.Calibration} {
			fmt.Fprintf(tab, "\t%s", plot.Number(v, 3))
			if !math.IsNaN(v) {
				sum[i] += v
				known[i]++
			}
		}
		fmt.Fprintln(tab)
	}
	fmt.Fprintf(tab, "mean\t%s", terminal.Number(pages))
	for i := range sum {
		fmt.Fprintf(tab, "\t%s", plot.Number(sum[i]/known[i], 3))
	}
	fmt.Fprintln(tab)
	return tab.Flush()
}
