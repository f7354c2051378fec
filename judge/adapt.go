package judge

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// Names under which a judge's state is stored; see topicJudge.State.
const (
	partHead = ""      // counts, and what was said of the pages remembered
	partView = "view"  // the view that was settled last
	partPage = "page." // and a number: a page remembered
	partSite = "site." // and a number: a host
)

// Observe learns from a page that was judged so: the template of its host and,
// of the first blendPages pages, what is common on the web. After 1, 2, 4 …
// blendPages pages the view is made anew; the pages so far that are then
// judged otherwise are returned.
func (j *topicJudge) Observe(p *web.Page, said web.Verdict) []web.Renewal {
	m := j.memory
	if m == nil || m.others[p.URL] { // it counts already
		return nil
	}
	if !j.isExample(p.URL) {
		j.templates.observe(p)
	}
	if len(m.pages) == blendPages {
		return nil
	}
	m.remember(p, said, j.analyzer.In(p.TermLanguage))
	if m.shares {
		m.lessons = append(m.lessons, len(m.pages)-1)
	}
	return j.updateView(m)
}

// updateView makes the view anew if the number of pages is a power of two, and returns
// the pages that are judged otherwise by it.
func (j *topicJudge) updateView(m *memory) []web.Renewal {
	if n := len(m.pages); n&(n-1) != 0 {
		return nil
	}
	v := j.newView(m)
	j.view.Store(v)
	return j.renew(v)
}

// Share keeps the pages that are remembered from now on for other workers of the crawl, as
// lessons: document frequencies are those of the pages of all.
func (j *topicJudge) Share() {
	if j.memory != nil {
		j.memory.shares = true
	}
}

// Lessons are the pages that were remembered since it was last asked, each as memory.sum,
// 8 bytes, and pageWords.AppendBinary.
func (j *topicJudge) Lessons() (out [][]byte) {
	if m := j.memory; m != nil {
		for _, i := range m.lessons {
			b, _ := m.pages[i].AppendBinary(binary.BigEndian.AppendUint64(nil, m.sum))
			out = append(out, b)
		}
		m.lessons = nil
	}
	return out
}

// Learn remembers a page of another worker. Of the template of its host nothing is known
// here. It returns the own pages that are judged otherwise now. A lesson by another vocabulary,
// as of a worker that has other keywords still or already, is an error.
func (j *topicJudge) Learn(lesson []byte) (renewed []web.Renewal, err error) {
	m := j.memory
	if m == nil || len(m.pages) == blendPages {
		return nil, nil
	}
	if len(lesson) < 8 || binary.BigEndian.Uint64(lesson) != m.sum {
		return nil, fmt.Errorf("%w (of another vocabulary)", errState)
	}
	var p pageWords
	if err := p.unmarshal(lesson[8:], len(m.vocabulary)); err != nil {
		return nil, err
	}
	p.said = float32(math.NaN())
	m.add(p)
	return j.updateView(m), nil
}

// Label has pages that a person wants more of stand beside the examples of the topic, in
// place of those before, and makes the view anew. Of their words the memory of the first
// pages knows those that the topic gave as well.
func (j *topicJudge) Label(wanted []*web.Page) []web.Renewal {
	j.examples = append(j.examples[:j.ofTopic:j.ofTopic], wanted...)
	if j.memory == nil || len(j.memory.pages) == 0 {
		j.view.Store(j.newView(nil))
		return nil
	}
	v := j.newView(j.memory)
	j.view.Store(v)
	j.memory.labelled = true
	return j.renew(v)
}

func (j *topicJudge) isExample(u web.URL) bool {
	return slices.ContainsFunc(j.examples, func(p *web.Page) bool { return p.URL == u })
}

// Renewals that are smaller are not told, unless the page changes sides.
const leastRenewal = 0.02

// renew judges the remembered pages by a new view.
func (j *topicJudge) renew(v *view) (out []web.Renewal) {
	for i, s := range j.memory.scores(v, j.templates) {
		p := &j.memory.pages[i]
		is := j.verdictFor(v, s)
		was := float64(p.said)
		if math.IsNaN(was) {
			continue
		}
		if math.Abs(is.Relevance-was) >= leastRenewal || is.Relevant != (was >= j.threshold) {
			p.said = float32(is.Relevance)
			out = append(out, web.Renewal{URL: p.url, Verdict: is, Was: was >= j.threshold})
		}
	}
	return out
}

// State holds the parts of what was learnt that changed since it was last
// asked, by name:
//
//	""       version 1 · pages uvarint · pages that the view was made of uvarint, 0 = none ·
//	         next uvarint · sites uvarint · what was said of each page, float32
//	view     the view settled last, if one was; see view.AppendBinary
//	page.N   page N remembered; see pageWords.AppendBinary
//	site.N   host N; see site.AppendBinary
func (j *topicJudge) State() map[string][]byte {
	m := j.memory
	if m == nil || m.stored == len(m.pages) && len(j.templates.changed) == 0 && !m.labelled {
		return nil
	}
	parts := map[string][]byte{}
	if m.labelled {
		m.labelled = false
		parts[partView] = j.view.Load().append(nil)
	}
	for ; m.stored < len(m.pages); m.stored++ {
		parts[partPage+strconv.Itoa(m.stored)], _ = m.pages[m.stored].AppendBinary(nil)
		if n := m.stored + 1; n&(n-1) == 0 {
			parts[partView] = j.view.Load().append(nil)
		}
	}
	for i := range j.templates.changed {
		parts[partSite+strconv.Itoa(i)], _ = j.templates.sites[i].AppendBinary(nil)
	}
	clear(j.templates.changed)
	head := []byte{stateVersion}
	head = binary.AppendUvarint(head, uint64(len(m.pages)))
	head = binary.AppendUvarint(head, uint64(j.view.Load().pages))
	head = binary.AppendUvarint(head, uint64(j.templates.next))
	head = binary.AppendUvarint(head, uint64(len(j.templates.sites)))
	for i := range m.pages {
		head = binary.BigEndian.AppendUint32(head, math.Float32bits(m.pages[i].said))
	}
	parts[partHead] = head
	return parts
}

const stateVersion = 1

// Restore goes on from what State returned, all parts of it together, for a
// judge of the same topic and options. part gives what was stored under a name,
// nil for nothing. After an error the judge is as before.
func (j *topicJudge) Restore(part func(name string) ([]byte, error)) error {
	head, err := part(partHead)
	if err != nil || len(head) == 0 {
		return err
	}
	if j.memory == nil {
		return fmt.Errorf("judge %s: there is a state of what it learnt, but it is frozen here: resume with the options of the first run", j.name)
	}
	wrong := func(err error) error { return fmt.Errorf("judge %s: %w", j.name, err) }
	r := stateReader{b: head}
	if r.int(math.MaxUint8) != stateVersion {
		return wrong(fmt.Errorf("%w (of another version)", errState))
	}
	pages := r.int(blendPages)
	settled := min(pages, r.int(max(1, pages)))
	if settled == 1 { // earlier versions say so of any number, and of none: the last power of two
		settled = 1 << (bits.Len(uint(pages)) - 1)
	}
	next, sites := r.int(maxSites), r.int(maxSites)
	m := newMemory(j.memory.vocabulary)
	for i := range pages {
		var p pageWords
		b, err := part(partPage + strconv.Itoa(i))
		if err == nil {
			err = p.unmarshal(b, len(m.vocabulary))
		}
		if err != nil {
			return wrong(err)
		}
		p.said = math.Float32frombits(r.hash())
		m.add(p)
	}
	if err := r.end(); err != nil {
		return wrong(err)
	}
	m.stored, m.looked, m.shares = pages, pages, j.memory.shares
	t := newTemplates()
	for i := range sites {
		b, err := part(partSite + strconv.Itoa(i))
		s := &site{}
		if err == nil {
			err = s.UnmarshalBinary(b)
		}
		if err != nil {
			return wrong(err)
		}
		t.sites = append(t.sites, s)
		t.at[s.host] = i
		t.known.Store(s.host, s.template())
	}
	t.next = next
	view := j.view.Load()
	if settled > 0 {
		b, err := part(partView)
		if err == nil {
			view, err = readView(b, j.constants.bm25)
		}
		if err != nil {
			return wrong(err)
		}
		j.calibrate(view)
		view.pages, view.crawl = settled, j.constants.crawlOffset(settled)
	}
	j.memory, j.templates = m, t
	j.view.Store(view)
	return nil
}

// Inherit begins with what a judge of the same topic and options knew at the end of another crawl;
// part is as for Restore. State gives all of it out again, and of that crawl's pages none is ever
// told to be judged otherwise. After an error the judge is as before.
func (j *topicJudge) Inherit(part func(name string) ([]byte, error)) error {
	if err := j.Restore(part); err != nil || j.memory == nil {
		return err
	}
	m := j.memory
	for i := range m.pages {
		m.pages[i].said = float32(math.NaN())
		m.others[m.pages[i].url] = true
	}
	m.stored, m.labelled = 0, j.view.Load().pages > 0
	for i := range j.templates.sites {
		j.templates.changed[i] = true
	}
	return nil
}

// append appends the view, but for crawl, which follows from the number of pages, and
// for slope and offset, which follow from the topic and the labels, as
//
//	reference, unit, background float64 each · terms uvarint, for each: stem,
//	its length first, weight float64 · phrases uvarint, for each: terms uvarint,
//	their indices uvarint each, weight float64
func (v *view) append(b []byte) []byte {
	float := func(f float64) { b = binary.BigEndian.AppendUint64(b, math.Float64bits(f)) }
	float(v.reference)
	float(v.fullText)
	for _, x := range v.background {
		float(x)
	}
	b = binary.AppendUvarint(b, uint64(len(v.query.terms)))
	for _, t := range v.query.terms {
		b = append(binary.AppendUvarint(b, uint64(len(t.stem))), t.stem...)
		float(t.weight)
	}
	b = binary.AppendUvarint(b, uint64(len(v.query.phrases)))
	for _, p := range v.query.phrases {
		b = binary.AppendUvarint(b, uint64(len(p.at)))
		for _, i := range p.at {
			b = binary.AppendUvarint(b, uint64(i))
		}
		float(p.weight)
	}
	return b
}

func readView(b []byte, m bm25) (*view, error) {
	r := stateReader{b: b}
	v := &view{reference: r.float(), fullText: r.float()}
	for i := range v.background {
		v.background[i] = r.float()
	}
	v.query.bm25 = m
	for range r.int(len(r.b)) {
		v.query.terms = append(v.query.terms, termWeight{r.text(), r.float()})
	}
	for range r.int(len(r.b)) {
		var p phrase
		for range r.int(len(r.b)) {
			p.at = append(p.at, r.int(len(v.query.terms)-1))
		}
		p.weight = r.float()
		v.query.phrases = append(v.query.phrases, p)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	sorted := slices.IsSortedFunc(v.query.terms, func(a, b termWeight) int { return strings.Compare(a.stem, b.stem) })
	if !sorted || !(v.reference > 0 && v.fullText > 0) {
		return nil, fmt.Errorf("%w (damaged)", errState)
	}
	v.query.index()
	return v, nil
}
