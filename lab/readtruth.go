package lab

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/eval"
	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/eval/silver"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// A lab can take its truth, its examples, or both, from a pool that was read,
// instead of from the web's own files:
//
//	truth: read          pages count from a grade on; those that nobody read count
//	                     by estimate, see eval.Reading
//	truth: silver        pages that nobody read have the grade that a classifier
//	                     gave them (package silver), and nothing is estimated
//	silver: silver.tsv   the file of these grades
//	examples: read       those chosen in the pool's examples.tsv, and its negatives
//	bad-examples: 2      two of the examples are exchanged for pages that are not
//	                     about the topic, as people give such too
//	pool: docs/truth     its folder
//	grade: 1             from which a page counts
//
// Examples and negatives are hits for no strategy, and bad examples neither.

// The values of truth: and examples:.
const (
	ofWeb    = "web"
	ofRead   = "read"
	ofSilver = "silver" // of truth: alone
	maxBads  = 100
	maxCount = 10_000
)

// readPool is what a lab takes from a pool.
type readPool struct {
	*pool.Pool
	labels   map[pool.Key][]pool.Label
	given    int                        // labels in force
	examples map[pool.Key]pool.Examples // nil unless the lab asks for them
	silver   silver.Grades              // nil unless the lab asks for them
}

// openPool opens the pool of a lab, once; nil where the lab needs none.
func (f *File) openPool() (*readPool, error) {
	if f.Pool == "" || f.pool != nil {
		return f.pool, nil
	}
	p, err := pool.Open(f.Pool)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.at("pool"), err)
	}
	out := &readPool{Pool: p}
	labels, err := pool.ReadLabels(f.Pool, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.at("pool"), err)
	}
	out.labels, out.given = pool.ByTopic(labels), len(pool.InForce(labels))
	if f.graded() && len(out.labels) == 0 {
		return nil, fmt.Errorf("%s: nobody has read a page of %s yet: waggle lab read is where pages are read", f.at("truth"), f.Pool)
	}
	if f.Examples == ofRead {
		if out.examples, err = pool.ReadExamples(f.Pool); err != nil {
			return nil, fmt.Errorf("%s: %w", f.at("examples"), err)
		}
	}
	if f.Truth == ofSilver {
		if out.silver, err = silver.Read(f.Silver, p); err != nil {
			return nil, fmt.Errorf("%s: %w", f.at("silver"), err)
		}
	}
	f.pool = out
	return out, nil
}

// graded tells whether the truth is grades of a pool, all by readers or some by a
// classifier.
func (f *File) graded() bool { return f.Truth == ofRead || f.Truth == ofSilver }

// checkRead finds what is wrong with the keys of a truth that was read.
func (f *File) checkRead(bad func(at, format string, args ...any)) {
	if f.Truth != ofWeb && !f.graded() {
		bad(f.at("truth"), "truth: %q: web (the web's own), read (a pool's) or silver (a classifier's) is wanted", f.Truth)
	}
	if f.Examples != ofWeb && f.Examples != ofRead {
		bad(f.at("examples"), "examples: %q: web (the web's own) or read (a pool's) is wanted", f.Examples)
	}
	if (f.Truth == ofSilver) != (f.Silver != "") {
		bad(f.at("silver"), "truth: silver and silver: FILE need each other: waggle lab pool extend makes the file")
	}
	reads := f.graded() || f.Examples == ofRead
	switch {
	case reads && f.Pool == "":
		bad(f.at("truth"), "truth and examples that were read are in the folder of a pool: name it by pool:")
	case !reads && f.BadExamples == 0 && f.Pool != "":
		bad(f.at("pool"), "a pool is named, and neither truth: read nor examples: read asks for it")
	case f.Grade != 1 && f.Grade != 2:
		bad(f.at("grade"), "grade: %d: pages count from grade 1 (in part) or 2 (mainly)", f.Grade)
	case f.Grade == 2 && !f.graded():
		bad(f.at("grade"), "grade: is of truth: read and truth: silver")
	}
	if f.Truth == ofRead && f.Outside == "bounds" {
		bad(f.at("outside"), "outside: bounds and truth: read both give figures as bounds: choose drop or fail")
	}
	if f.BadExamples < 0 || f.BadExamples > maxBads {
		bad(f.at("bad-examples"), "bad-examples: %d is outside 0…%d", f.BadExamples, maxBads)
	}
	if f.ExampleCount != nil && (*f.ExampleCount < f.BadExamples || *f.ExampleCount > maxCount) {
		why := ""
		if f.BadExamples > 0 {
			why = ": bad-examples are some of them"
		}
		bad(f.at("example-count"), "example-count: %d is outside %d…%d%s", *f.ExampleCount, f.BadExamples, maxCount, why)
	}
	if !(f.Noise >= 0 && f.Noise <= 1) {
		bad(f.at("label-noise"), "label-noise: %v is outside 0…1: the share of pages of which scorers are told the verdict of another page", f.Noise)
	}
	for i, w := range f.Webs {
		if w.Train != nil && (f.Examples == ofRead || f.BadExamples > 0 || f.ExampleCount != nil) {
			bad(f.at("webs", fmt.Sprint(i), "train"), "a web that is parted takes its examples from the hosts that teach: leave out examples: read, bad-examples: and example-count:")
		}
	}
}

// topicTruth is what counts as a page of a topic.
func (w *labWeb) topicTruth(f *File, p *readPool, t corpus.Topic) (map[web.URL]bool, error) {
	k := pool.Key{Web: w.Name, Topic: t.Name}
	if !f.graded() {
		if p != nil {
			w.grades[t.Name] = pool.Grades(p.labels[k], k)
		}
		return w.Truth(t.Name)
	}
	x, err := p.Topic(k)
	if err != nil {
		return nil, err
	}
	grades := pool.Grades(p.labels[k], k)
	truth := map[web.URL]bool{}
	sum := xxh3.HashString(p.Revision)
	for u, g := range grades {
		sum += xxh3.HashString(fmt.Sprint(u, " ", g))
		if g >= pool.Grade(f.Grade) {
			truth[u] = true
		}
	}
	if f.Truth == ofSilver {
		all := p.silver[k]
		if len(all) == 0 {
			return nil, fmt.Errorf("%s has no grade of it", f.Silver)
		}
		relevant := 0
		for u, g := range all {
			if _, read := grades[u]; read {
				continue // a reader's grade stays
			}
			sum += xxh3.HashString(fmt.Sprint("silver ", u, " ", g))
			if g >= pool.Grade(f.Grade) {
				truth[u] = true
				relevant++
			}
		}
		w.notes = append(w.notes, fmt.Sprintf("%s: of %s that count, readers found %d among the %d that they graded, and the classifier %d.", k, terminal.Count(len(truth), "page"), len(truth)-relevant, len(grades), relevant))
	} else if len(grades) < len(x.Pages) {
		w.notes = append(w.notes, fmt.Sprintf("%s: %s to read %s no grade yet.", k, outOf(len(x.Pages)-len(grades), len(x.Pages), "page"), agreeing(len(x.Pages)-len(grades), "has", "have")))
	}
	if len(truth) == 0 {
		return nil, fmt.Errorf("of its %s that %s read none counts, from grade %d: read more of its %s with waggle lab read %s, or name other topics by topics: of this web",
			terminal.Count(len(grades), "page"), agreeing(len(grades), "was", "were"), f.Grade, terminal.Count(len(x.Pages), "page"), f.Pool)
	}
	w.grades[t.Name] = grades
	w.truths[t.Name] = sum + uint64(f.Grade)
	return truth, nil
}

// hasTruth tells whether a topic can be measured on.
func (f *File) hasTruth(w *corpus.Web, p *readPool, t corpus.Topic) bool {
	if !f.graded() {
		return t.Truth != ""
	}
	_, err := p.Topic(pool.Key{Web: w.Name, Topic: t.Name})
	return err == nil
}

// noTruth tells why topics of a web have no truth: of the pool, where that gives it.
func (f *File) noTruth(w *corpus.Web, p *readPool) string {
	if !f.graded() {
		const list = "list the relevant addresses in truth.txt in the folder of the web, one a line, and name it at the topic in web.yaml, as truth: truth.txt"
		if f.ofKinds() { // readers are shown pages in HTML alone
			return list
		}
		return "waggle lab pool is how a web without truth files gets a truth; or " + list
	}
	if _, ok := p.Web(w.Name); ok {
		return fmt.Sprintf("the pool %s has other topics of this web alone", f.Pool)
	}
	var names []string
	for _, x := range p.Webs {
		names = append(names, x.Name)
	}
	return fmt.Sprintf("the pool %s has no page of the web %s, but of %s", f.Pool, w.Name, strings.Join(names, ", "))
}

// shownPages sets what of a topic is shown to crawls: its own examples, or those
// chosen from what was read; and which pages are bad examples of it, the best
// excuse first.
func (w *labWeb) shownPages(f *File, p *readPool, t corpus.Topic, truth map[web.URL]bool) (corpus.Topic, error) {
	old := t.Examples
	if f.Examples == ofRead {
		e, ok := p.examples[pool.Key{Web: w.Name, Topic: t.Name}]
		if !ok || len(e.Wanted) == 0 {
			return t, fmt.Errorf("%s has no example of it", filepath.Join(f.Pool, pool.ExamplesName))
		}
		t.Examples = e.Wanted
		w.negatives[t.Name] = e.Negatives
		w.notes = append(w.notes, w.oddExamples(t.Name, e)...)
	}
	if f.BadExamples == 0 {
		return t, nil
	}
	if f.BadExamples > len(t.Examples) {
		return t, fmt.Errorf("bad-examples: %d of its %d examples cannot be exchanged", f.BadExamples, len(t.Examples))
	}
	w.bad[t.Name] = w.badExamples(f, t, old, truth)
	if len(w.bad[t.Name]) < f.BadExamples {
		return t, fmt.Errorf("bad-examples: it has only %s not about it", terminal.Count(len(w.bad[t.Name]), "page"))
	}
	return t, nil
}

// oddExamples tells of examples that readers found not to be about the topic, and of
// negative ones that they found to be about it.
func (w *labWeb) oddExamples(topic string, e pool.Examples) (notes []string) {
	for _, x := range []struct {
		what string
		list []web.URL
		odd  func(pool.Grade) bool
	}{
		{"examples", e.Wanted, func(g pool.Grade) bool { return g == pool.No }},
		{"negative examples", e.Negatives, func(g pool.Grade) bool { return g > pool.No }},
	} {
		var odd []web.URL
		for _, u := range x.list {
			if g, ok := w.grades[topic][u]; ok && x.odd(g) {
				odd = append(odd, u)
			}
		}
		if len(odd) > 0 {
			notes = append(notes, fmt.Sprintf("%s/%s: readers gave %d of the %d %s in %s another grade than these should have, such as %s (grade %s).", w.Name, topic, len(odd), len(x.list), x.what, pool.ExamplesName, odd[0], w.grades[topic][odd[0]]))
		}
	}
	return notes
}

// badExamples are pages that are not about a topic, but that somebody may give as
// examples of it: those that were given and that readers found to be none; then
// such as readers found to be none, or where nobody read, pages of the record that
// the truth does not hold, by the lab's seed.
func (w *labWeb) badExamples(f *File, t corpus.Topic, old []web.URL, truth map[web.URL]bool) (out []web.URL) {
	grades := w.grades[t.Name]
	good := map[web.URL]bool{}
	for _, u := range slices.Concat(t.Examples, w.negatives[t.Name]) {
		good[u] = true
	}
	add := func(list []web.URL, is func(web.URL) bool) {
		chance := func(u web.URL) uint64 { return xxh3.HashStringSeed("bad "+t.Name+" "+u.String(), f.Seed) }
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b web.URL) int {
			return cmp.Or(cmp.Compare(chance(a), chance(b)), cmp.Compare(a.String(), b.String()))
		})
		for _, u := range list {
			if len(out) == maxBads {
				return
			}
			if !good[u] && w.Status(u) == 200 && is(u) {
				good[u] = true // once
				out = append(out, u)
			}
		}
	}
	none := func(u web.URL) bool { g, ok := grades[u]; return ok && g == pool.No }
	add(old, none)
	if grades == nil {
		add(slices.Collect(w.URLs()), func(u web.URL) bool { return !truth[u] && u.Path() != "/robots.txt" })
		return out
	}
	var read []web.URL
	for u := range grades {
		read = append(read, u)
	}
	add(read, none)
	return out
}

// readings brings what was read to the documents of the web; the graph has to be
// there.
func (f *fold) readings(r *runner) (map[string]*eval.Reading, error) {
	if !r.graded() {
		return nil, nil
	}
	p, err := r.openPool()
	if err != nil {
		return nil, err
	}
	if r.Truth == ofSilver {
		return nil, f.allGraded(r, p)
	}
	out := map[string]*eval.Reading{}
	known, _ := p.Web(f.w.Name)
	for _, t := range f.w.topics {
		x, err := p.Topic(pool.Key{Web: f.w.Name, Topic: t.Name})
		if err != nil {
			return nil, err
		}
		if out[t.Name], err = eval.NewReading(f.graph, known, x, f.w.grades[t.Name], pool.Grade(r.Grade)); err != nil {
			return nil, fmt.Errorf("%s: %w", r.at("pool"), err)
		}
	}
	return out, nil
}

// allGraded checks that each document of the web has a grade for each topic, by
// readers or by the classifier.
func (f *fold) allGraded(r *runner, p *readPool) error {
	documents := f.graph.Documents()
	for _, t := range f.w.topics {
		silver, read := p.silver[pool.Key{Web: f.w.Name, Topic: t.Name}], f.w.grades[t.Name]
		none, such := 0, web.URL{}
		for _, u := range documents {
			if _, ok := silver[u]; ok {
				continue
			}
			if _, ok := read[u]; !ok {
				none++
				such = u
			}
		}
		if none > 0 {
			return job.Mistake{Err: fmt.Errorf("%s: %s has no grade of %d of the %d documents of %s/%s, such as %s, and neither has a reader: was it cut short, or made of another web or before grades were taken back? waggle lab pool extend makes it anew", r.at("silver"), r.Silver, none, len(documents), f.w.Name, t.Name, such)}
		}
	}
	return nil
}

// readFacts are what a report says of the reading of a topic.
func (g *group) readFacts(ref eval.Reference) *report.Read {
	rd := g.fold.read[g.t.Name]
	if rd == nil {
		return nil
	}
	out := &report.Read{From: g.Grade}
	for _, grade := range rd.Grade {
		if grade != pool.CannotTell {
			out.Grades[grade]++
		}
	}
	samples := ref.Samples[g.Grade-1]
	for h, s := range samples {
		out.Strata = append(out.Strata, report.Stratum{Name: rd.Strata[h], Sample: s})
	}
	e := pool.Predict(ref.Known, ref.Unread, samples)
	out.Known, out.Low, out.High = ref.Known, e.Low, e.High
	return out
}

// readRules tell how a truth that was read is counted.
func (f *File) readRules() (out []string) {
	if f.Truth == ofSilver {
		out = append(out, fmt.Sprintf("Ground truth is silver: pages that were read have the grade of their readers, and all others that of a classifier, which errs (waggle lab pool extend tells how often). A page counts from grade %d. Do not compare these figures with those of truth: read as if they were of one truth.", f.Grade))
	}
	if f.Truth == ofRead {
		counts := "in part (grade 1) or mainly (grade 2)"
		if f.Grade == 2 {
			counts = "mainly (grade 2)"
		}
		out = append(out, fmt.Sprintf("Ground truth is what readers found by reading: a page counts that is %s about the topic. Pages that nobody read count by estimate, by the share of relevant pages among those read of their stratum; beside estimates stand the bounds, if none and if all of them were relevant.", counts))
	}
	if f.Hops > 0 && f.Truth == ofRead {
		out = append(out, fmt.Sprintf("Seeds were chosen by their distance to pages that readers found to count. A page that nobody read may count too, and may be nearer: so %s is the largest possible distance of a seed, and not always the true one.", terminal.Count(f.Hops, "link")))
	}
	if f.Examples == ofRead {
		out = append(out, "Examples and negative examples were chosen from pages that were read; they are hits for no strategy.")
	}
	if f.BadExamples > 0 {
		out = append(out, fmt.Sprintf("Of the examples of each topic, %d were exchanged for pages that are not about it.", f.BadExamples))
	}
	if f.ExampleCount != nil {
		out = append(out, fmt.Sprintf("Of the examples of each topic, crawls are given at most %d. All of them are hits for no strategy.", *f.ExampleCount))
	}
	if f.Noise > 0 {
		out = append(out, fmt.Sprintf("Of %.0f%% of the pages, drawn at random, scorers are told the verdict of another page that was judged before. The judge itself knows the right ones.", 100*f.Noise))
	}
	return out
}
