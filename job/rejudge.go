package job

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// Rejudge judges the pages of the crawl Begun anew, from its archive, as Job says,
// scores anew the links that wait, and rewrites the harvest. Of the job, the topic
// and the judge may differ from what the crawl was told; other settings change when
// the crawl goes on. Example pages that the crawl knows, or has fetched, are not
// fetched again. The crawl must not run; Writer and Begun are of its folder.
//
// Where the process dies before the new job is kept, the crawl is as it was, but
// for the priorities of links; where it dies after that, the crawl does not go on
// until it is judged anew again.
func (m *Maker) Rejudge(ctx context.Context) (out crawl.Rejudging, err error) {
	m.rejudging = true
	if err := m.begin(); err != nil {
		return out, err
	}
	// What a crawl that goes on refuses would be made anew here, and refused afterwards.
	never := slices.DeleteFunc(m.committedDiff(), func(c event.Changed) bool {
		s, _ := Lookup(c.Setting)
		return s.Resume != Never
	})
	if err := refuse(never, m.Begun.Dir()); err != nil {
		return out, err
	}
	if err := m.know(ctx); err != nil {
		return out, err
	}
	if err := m.readFiles(); err != nil {
		return out, err
	}
	if err := m.MakeScorer(ctx); err != nil {
		return out, err
	}
	c := m.plainCrawl()
	if err := m.openStores(ctx); err != nil {
		return out, err
	}
	// By now the job has the threshold of its judge, and the log is cut back: a change that was logged by a process
	// that died before it was acknowledged is logged again.
	if was := event.ReadHistory(m.Begun.EventLog()).Settings; was != nil {
		for _, change := range m.Job.Diff(was) {
			if s, _ := Lookup(change.Setting); s.Resume == Verdicts || s.Path == event.SettingThreshold {
				c.Changes.Settings = append(c.Changes.Settings, change)
			}
		}
	}
	c.Frontier, c.Log, c.History = m.Frontier, m.Log, m.Begun.Visits()
	r, err := c.Rejudge(ctx, collection.Readable(m.Begun.Pages(ctx, m.Parser, nil)))
	if err != nil {
		return out, err
	}
	job, err := m.jobFile()
	if err != nil {
		return out, err
	}
	if err := m.Writer.ReplaceSetup(job, m.newExamples, m.criticFile); err != nil {
		return out, err
	}
	if err := r.Settle(ctx); err != nil {
		return out, err
	}
	return r.Rejudging, m.Writer.SaveHarvest()
}

// replaced are the files of the set-up that judging anew replaces.
func (m *Maker) replaced() (files []string) {
	if m.rejudging {
		files = append(files, m.Writer.ExampleFile())
	}
	if m.criticFile != nil || m.rejudging && !m.Job.byCritic() {
		files = append(files, m.Writer.CriticFile())
	}
	return files
}

// know fills in the example pages that need not be fetched: those kept of the
// crawl, and those in its archive.
func (m *Maker) know(ctx context.Context) error {
	var kept []collection.Example
	err := m.Begun.CheckExamples()
	if err == nil {
		kept, err = m.Begun.Examples()
	}
	if err != nil {
		m.Note(fmt.Sprintf("%s is missing or damaged: the example pages are taken from where they came from", m.Begun.ExampleFile()))
	}
	m.Known = map[string]collection.Example{}
	for _, e := range kept {
		m.Known[e.Source] = e
	}
	wanted := map[web.URL]string{}
	for _, list := range [][]string{m.Job.Topic.Examples, m.Job.Topic.Negatives} {
		for _, src := range list {
			if _, known := m.Known[src]; known || !IsAddress(src) {
				continue
			}
			if u, err := m.Job.Canon().Parse(src); err == nil {
				wanted[u] = src
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for r, err := range m.Begun.Responses(func(u web.URL) bool { return wanted[u] != "" }) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			continue // it is fetched then
		}
		if r.Status == 200 && len(r.Body) > 0 {
			e := collection.Example{Source: wanted[r.URL], URL: r.URL.String(), Body: r.Body}
			if v := r.Header["Content-Type"]; len(v) > 0 {
				e.MIME = v[0]
			}
			m.Known[e.Source] = e
		}
	}
	return ctx.Err()
}

// RejudgedLines tell what judging anew came to, in sentences.
func RejudgedLines(r crawl.Rejudging) (lines []string) {
	n := func(x int) string { return number(float64(x)) }
	lines = append(lines, fmt.Sprintf("%s judged anew: %s relevant, %s before; %s changed sides", terminal.Count(r.Pages, "page"), n(r.Is), n(r.Was), n(r.Changed)))
	if r.Missing > 0 {
		why := "%s pages are not in the archive, as they asked not to be kept or it is damaged: they keep their relevance"
		if r.Missing == 1 {
			why = "%s page is not in the archive, as it asked not to be kept or the archive is damaged: it keeps its relevance"
		}
		lines = append(lines, fmt.Sprintf(why, n(r.Missing)))
	}
	if r.Links > 0 {
		lines = append(lines, "waiting links scored anew: "+n(r.Links))
	}
	if r.Kept > 0 {
		lines = append(lines, "waiting links that keep their priorities, as no page in the archive holds them: "+n(r.Kept))
	}
	return lines
}

// Replace prepares the job for values that are given of its topic and its judge, each
// by the path of its setting, "" for none: a list that is given takes the place of the
// one before, and another judge has a threshold of its own. The values are set
// afterwards.
func (j *Job) Replace(given func(path string) string) error {
	for path, list := range map[string]*[]string{
		"topic.keywords": &j.Topic.Keywords, "topic.examples": &j.Topic.Examples, "topic.negatives": &j.Topic.Negatives,
		"topic.language": &j.Topic.Language, "judge.focus": &j.Judge.Focus,
	} {
		if given(path) != "" {
			*list = nil
		}
	}
	critic, name := given("judge.critic"), given("judge.name")
	if critic != "" {
		if name != "" && name != "critic" {
			return fmt.Errorf("--critic and --judge %s: one of them judges; leave the other out", name)
		}
		j.Judge.Name = "critic"
		if given("judge.focus") == "" {
			j.Judge.Focus = nil
		}
	}
	if (critic != "" || name != "" && name != j.Judge.Name) && given("judge.threshold") == "" {
		j.Judge.Threshold = nil
	}
	return nil
}
