package start

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
)

// Begin begins the crawl of a draft. It returns once the crawl runs; ended is called when
// it has ended, with the error that ended it. ctx bounds what is done before it runs.
func (s *Starter) Begin(ctx context.Context, d *Draft, note func(string), ended func(error)) (collection.Collection, error) {
	m, keep, err := s.maker(d, true, note)
	if err != nil {
		return collection.Collection{}, err
	}
	defer keep()
	col, err := s.folder(d.Folder)
	if err != nil {
		return col, Problems{{"folder", event.Line(err.Error())}}
	}
	return col, s.run(ctx, col, m, ended)
}

// GoOn goes on with a crawl that does not run, by its job file.
func (s *Starter) GoOn(ctx context.Context, col collection.Collection, note func(string), ended func(error)) error {
	if !folder.Exists(col.EventLog()) {
		return problems(moved(col))
	}
	if err := col.ByCommand(quoted(col.Dir())); err != nil {
		return problems(err)
	}
	j, err := job.In(col)
	if err == nil {
		err = j.CheckLive()
	}
	if err != nil {
		return problems(err)
	}
	return s.run(ctx, col, &job.Maker{Job: j, Begun: &col, OnPage: true, Documents: s.o.Documents, Note: func(line string) { note(event.Line(line)) }}, ended)
}

// moved says why a crawl cannot go on whose files are not where they were: each of them tells the
// same in words of the system.
func moved(col collection.Collection) error {
	return fmt.Errorf("%s does not hold the crawl any more: the folder was moved or removed. Put it back, or open it where it is", col.Dir())
}

// notes tells lines to whoever is to be told them by now. What is made of a crawl keeps
// the function that it was given, and lives longer than the request that begins the crawl.
type notes struct {
	mu sync.Mutex
	to func(string)
}

func (n *notes) tell(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to(line)
}

// turn has later lines told to another. The one before is told nothing once it returned.
func (n *notes) turn(to func(string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to = to
}

// run makes a crawl and has it run. Until it runs m.Note is told what there is to know, and
// from then on the Starter's.
func (s *Starter) run(ctx context.Context, col collection.Collection, m *job.Maker, ended func(error)) error {
	place := folder.Absent(col.Dir())
	w, err := col.Lock()
	if err != nil {
		return Problems{{"folder", event.Line(err.Error())}}
	}
	told := &notes{to: m.Note}
	m.Writer, m.Note = w, told.tell
	c, err := m.Crawl(ctx)
	if err != nil {
		err = errors.Join(err, m.Close())
		if !w.Begun() { // nothing began: nothing is left behind
			err = errors.Join(err, w.Discard())
			defer place.Remove()
		}
		return problems(errors.Join(err, w.Close()))
	}
	told.turn(func(line string) { s.o.Note(col.Dir() + ": " + event.Line(line)) })
	if s.o.Hear != nil {
		earlier, now := s.o.Hear(col.Dir())
		c.Listen, c.History = now, event.Heard(c.History, earlier)
	}
	s.wait.Go(func() {
		how, err := c.Run(s.ctx)
		if err == nil {
			err = w.SaveHarvest()
		}
		if err = errors.Join(err, m.Close(), w.Close()); err != nil && !folder.Exists(col.EventLog()) {
			err = moved(col)
		}
		switch {
		case err != nil:
			s.o.Note(fmt.Sprintf("%s: %s; mend the cause, then go on with: waggle crawl -o %s --resume", col.Dir(), event.Line(err.Error()), quoted(col.Dir())))
		case how == event.Stopped:
			s.o.Note(fmt.Sprintf("%s: stopped; go on with: waggle crawl -o %s --resume", col.Dir(), quoted(col.Dir())))
		default:
			s.o.Note(fmt.Sprintf("%s: ended, %s", col.Dir(), terminal.Ending(how)))
		}
		ended(err)
	})
	return nil
}
