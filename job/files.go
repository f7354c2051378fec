package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/wordnet"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// readFiles reads the model, the critic and the related words of the job, so that
// what is wrong with them is told before anything is fetched.
func (m *Maker) readFiles() error {
	if m.filesRead {
		return nil
	}
	if (m.Begun == nil || m.rejudging) && m.Topic == nil {
		if err := m.checkExamples(); err != nil {
			return err
		}
	}
	if err := m.readWithin(); err != nil {
		return &Error{"scope.within", err}
	}
	if j := &m.Job.Judge; m.Judge == nil {
		switch {
		case m.Job.byCritic():
			if err := m.readCritic(); err != nil {
				return &Error{"judge.critic", err}
			}
			if _, err := m.critic.Focus(j.Focus); err != nil {
				return &Error{"judge.focus", err}
			}
		case len(j.Command) > 0:
			if _, runs := m.Job.judge().Uses(judge.InputCommand, j.Set); !runs {
				break
			}
			if _, err := exec.LookPath(j.Command[0]); err != nil {
				return &Error{"judge.command", err}
			}
		}
	}
	m.filesRead = true
	if m.Scorer != nil {
		return nil
	}
	j := &m.Job.Scorer
	if m.Model == nil && j.Model != "" {
		var err error
		m.modelBy = m.words()
		if m.Model, err = m.readModel(); err != nil {
			return &Error{"scorer.model", err}
		}
	}
	if n, ok := m.Job.scorer().Uses(score.InputModel, j.Set); ok && m.Model != nil {
		if _, err := model.Of[model.Payload](m.Model, model.Kind(n.Kind)); err != nil {
			return &Error{"scorer.model", fmt.Errorf("scorer %s: %w", j.Name, err)}
		}
	}
	if m.Thesaurus == nil {
		t, err := wordnet.Load(j.WordNet, j.Thesaurus)
		if err != nil {
			path := "scorer.wordnet"
			if j.WordNet == "" {
				path = "scorer.thesaurus"
			}
			return &Error{path, err}
		}
		if t != nil {
			m.Thesaurus = t
		}
	}
	if _, ok := m.Job.scorer().Uses(score.InputThesaurus, j.Set); ok && m.Thesaurus == nil && m.Begun != nil {
		// Earlier versions began such crawls.
		m.Note(fmt.Sprintf("%s goes on without a thesaurus, as the crawl began: only equal words are alike", j.Name))
		m.Thesaurus = noThesaurus{}
	}
	m.tellPreset()
	m.tellTaught()
	o := m.scorerOptions()
	o.Anchor = func(string) float64 { return 0 } // the judge's, which is made later
	if m.Topic == nil {
		// That there are example pages is known, and not yet what is on them.
		for range m.Job.Topic.Examples {
			o.Topic.Examples = append(o.Topic.Examples, &web.Page{})
		}
		for range m.Job.Topic.Negatives {
			o.Topic.Negatives = append(o.Topic.Negatives, &web.Page{})
		}
	}
	return m.checkScorer(o)
}

// noThesaurus knows of no related words.
type noThesaurus struct{}

func (noThesaurus) Related(string) (synonyms, wider []string) { return nil, nil }

// checkExamples looks for the files of examples. An address that cannot be had is
// another matter: that may be nobody's fault.
func (m *Maker) checkExamples() error {
	var errs []error
	look := func(path string, names []string) {
		for i, name := range names {
			if _, known := m.Known[name]; known || IsAddress(name) {
				continue
			}
			if _, err := ReadExample(name); err != nil {
				errs = append(errs, &Error{fmt.Sprintf("%s.%d", path, i), fmt.Errorf("example %s: %w", name, err)})
			}
		}
	}
	look("topic.examples", m.Job.Topic.Examples)
	look("topic.negatives", m.Job.Topic.Negatives)
	return errors.Join(errs...)
}

// readCritic reads the critic of the job. A first run keeps a copy, so that a
// later one judges by the same.
func (m *Maker) readCritic() error {
	if m.critic != nil {
		return nil
	}
	name := m.Job.Judge.Critic
	given := name
	if m.Begun != nil {
		name = m.Begun.CriticFile()
	}
	other := false // than the one that is kept
	if m.rejudging {
		was, known := event.ReadHistory(m.Begun.EventLog()).Settings["judge.critic"]
		if other = !known || was != given || !folder.Exists(name); other {
			name = given
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("the critic: %w", err)
	}
	if other {
		m.criticFile = b
	}
	if m.critic, err = judge.ReadCritic(b, name); err != nil {
		return err
	}
	if m.Begun == nil && m.Writer != nil {
		return m.Writer.SaveCritic(b)
	}
	return nil
}

// readModel reads the trained model of the scorer. A copy of it stays with the
// crawl: the links that wait carry what that very model made of them.
func (m *Maker) readModel() (*model.File, error) {
	j := &m.Job.Scorer
	if m.Begun != nil {
		kept := m.Begun.ModelFile()
		b, err := os.ReadFile(kept)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the crawl's copy of its trained model is gone: put it back, or copy the model it was begun with (%s) to %s", j.Model, kept)
		}
		if err != nil {
			return nil, fmt.Errorf("the crawl's copy of its trained model: %w", err)
		}
		if was, is := j.Digest, digest(b); was != "" && was != is {
			return nil, fmt.Errorf("%s is not the model that the crawl was begun with (%s): the links that wait carry what that one made of them; copy it there, or begin a new crawl", kept, j.Model)
		}
		return model.Read(kept, m.words())
	}
	f, err := model.Read(j.Model, m.words())
	if err != nil {
		return nil, err
	}
	if was := f.Provenance.Texts; (f.Kind == model.Apprentice || f.Kind == model.Waggle) && was["judge"] != "" {
		if differ := AimsDiffer(was, m.Job.Aim()); differ != "" {
			m.Note(fmt.Sprintf("%s learnt from a crawl of another aim, %s (%s): what it promises is what that one wanted; leave the model out, or make a model of a crawl like this one with %s",
				j.Model, event.Line(f.Provenance.Topic), differ, f.Kind.Command()))
		}
	}
	if m.Writer == nil {
		return f, nil
	}
	if err := f.Write(m.Writer.ModelFile()); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(m.Writer.ModelFile())
	j.Digest = digest(b)
	return f, err
}

// readWithin reads what another crawl asked for and got: its pages, copies of them, and
// addresses that moved. A crawl that goes on reads them again: the folder has to be there.
func (m *Maker) readWithin() error {
	dir := m.Job.Scope.Within
	if dir == "" {
		return nil
	}
	col, err := collection.Open(dir)
	if err != nil {
		return err
	}
	m.within = map[web.URL]bool{}
	for e, err := range event.ReadVisits(col.EventLog()) {
		switch e := e.(type) {
		case event.Fetched:
			m.within[e.URL] = true
		case event.Failed:
			if !e.To.IsZero() {
				m.within[e.URL] = true
			}
		}
		if err != nil && !errors.Is(err, event.ErrTorn) {
			return err
		}
	}
	if len(m.within) == 0 {
		return fmt.Errorf("the crawl %s has no page yet: nothing is within it", dir)
	}
	return nil
}

// digest tells models apart.
func digest(file []byte) string { return fmt.Sprintf("%x", sha256.Sum256(file)) }
