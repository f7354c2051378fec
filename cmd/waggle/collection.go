package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/event"
)

// collection is the folder of a crawl:
//
//	job.yaml        the job with every value in force; its presence means
//	                that the crawl was set up whole
//	examples.jsonl  the example pages as they were when the crawl began
//	model           the trained model that the scorer goes by, if it has one
//	critic          the critic that judges, where one does
//	frontier/       what waits, what is done, and the marks of the next two
//	archive/        WARC files
//	events.jsonl    all that happened
//	harvest.tsv     the relevant pages, made from the events when a run ends
//	lock            held by the process that crawls
type collection struct {
	dir  string
	lock *os.File
}

func (c collection) job() string      { return filepath.Join(c.dir, "job.yaml") }
func (c collection) examples() string { return filepath.Join(c.dir, "examples.jsonl") }
func (c collection) model() string    { return filepath.Join(c.dir, "model") }
func (c collection) critic() string   { return filepath.Join(c.dir, "critic") }
func (c collection) frontier() string { return filepath.Join(c.dir, "frontier") }
func (c collection) archive() string  { return filepath.Join(c.dir, "archive") }
func (c collection) events() string   { return filepath.Join(c.dir, "events.jsonl") }
func (c collection) harvest() string  { return filepath.Join(c.dir, "harvest.tsv") }

// usable tells whether a folder may hold a crawl: it holds one, or nothing, or
// is not there yet.
func (c collection) usable() error {
	if c.begun() {
		return nil
	}
	if fileExists(c.events()) || fileExists(c.frontier()) {
		return exit{exitUsage, fmt.Errorf("%s is missing, and without it the crawl in %s cannot go on: put it back, or keep the pages with waggle web build %s -o WEB", c.job(), c.dir, c.archive())}
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit{exitUsage, fmt.Errorf("the folder of the crawl: %w", err)}
	}
	for _, e := range entries {
		// What a set-up leaves that was cut short may be used again.
		if !slices.Contains([]string{"lock", "examples.jsonl", "examples.jsonl.new", "model", "critic", "critic.new", "job.yaml.new"}, e.Name()) && !strings.HasPrefix(e.Name(), ".model-") {
			return exit{exitUsage, fmt.Errorf("%s holds other files (%s) and no crawl: choose a new folder", c.dir, e.Name())}
		}
	}
	return nil
}

// openCollection takes a folder for a crawl of its own. The caller closes it.
func openCollection(dir string) (collection, error) {
	c := collection{dir: dir}
	if err := c.usable(); err != nil {
		return c, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return c, fmt.Errorf("the folder of the crawl: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return c, fmt.Errorf("the folder of the crawl: %w", err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return c, fmt.Errorf("%s is in use by another waggle: wait for it to end, or stop it", dir)
	}
	c.lock = f
	return c, nil
}

func (c collection) Close() error { return c.lock.Close() }

// begun tells whether a crawl was set up here.
func (c collection) begun() bool {
	_, err := os.Stat(c.job())
	return err == nil
}

// ended tells how the last run here ended, from the log: "" when it was killed
// or none ran; and how many pages were fetched.
func (c collection) ended() (how event.Ending, pages int, err error) {
	for e, err := range event.ReadFile(c.events()) {
		var torn *event.LineError
		if errors.Is(err, fs.ErrNotExist) || errors.As(err, &torn) {
			break // a resume cuts a torn tail off
		}
		if err != nil {
			return "", 0, err
		}
		switch e := e.(type) {
		case event.Started:
			how = ""
		case event.Ended:
			how = e.How
		case event.Fetched:
			pages++
		}
	}
	return how, pages, nil
}

// clear removes what a run left that never committed a turn: the log tells of
// its start at most. A log that tells of more is not touched: it is the
// frontier that was lost then.
func (c collection) clear() error {
	for e, err := range event.ReadFile(c.events()) {
		if err != nil {
			break // absent, or the torn end of the first line
		}
		switch e.(type) {
		case event.Started, event.Seeded, event.Ended, event.Tick:
		default:
			return fmt.Errorf("%s is missing or empty, but the event log tells of a crawl: put the folder back, or keep the pages with waggle web build %s -o WEB and begin a new crawl", c.frontier(), c.dir)
		}
	}
	return errors.Join(os.RemoveAll(c.archive()), os.RemoveAll(c.events()))
}

// discard removes a crawl that fetched nothing, for a new one.
func (c collection) discard() error {
	return errors.Join(os.RemoveAll(c.frontier()), os.RemoveAll(c.archive()), os.RemoveAll(c.events()),
		os.RemoveAll(c.harvest()), os.RemoveAll(c.examples()), os.RemoveAll(c.model()), os.RemoveAll(c.critic()), os.RemoveAll(c.job()))
}

// save writes the job, whole or not at all.
func (c collection) save(j *Job) error {
	b, err := yaml.Marshal(j)
	if err != nil {
		return err
	}
	head := []byte("# The job of this crawl with every value in force.\n")
	return writeWhole(c.job(), append(head, b...))
}

// writeWhole writes a file so that a crash leaves the old one or the new one.
func writeWhole(name string, b []byte) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// example is an example page as it was when the crawl began.
type example struct {
	Source   string `json:"source"` // as the job gives it
	Negative bool   `json:"negative,omitempty"`
	URL      string `json:"url"`
	MIME     string `json:"mime"`
	Body     []byte `json:"body"` // base64 in JSON: any bytes
}

func (c collection) saveExamples(examples []example) error {
	var b []byte
	for _, e := range examples {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b = append(append(b, line...), '\n')
	}
	return writeWhole(c.examples(), b)
}

func (c collection) loadExamples() (examples []example, err error) {
	f, err := os.Open(c.examples())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	for dec.More() {
		var e example
		if err := dec.Decode(&e); err != nil {
			return nil, fmt.Errorf("%s is damaged (%w): a new crawl with the same job makes it again", c.examples(), err)
		}
		examples = append(examples, e)
	}
	return examples, nil
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
