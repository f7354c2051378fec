// Package collection owns the folder of a crawl: what lies where in it, who may
// write to it, how its three stores are opened, and how what a crawl fetched is
// read.
//
// The folder holds
//
//	job.yaml        what the crawl was told, with every value in force; its
//	                presence means that the crawl was set up whole
//	examples.jsonl  the example pages as they were when the crawl began
//	model           the trained model that the scorer uses, if it has one
//	critic          the critic that judges, if one does
//	SHA256SUMS      checksums of the three files before, of known.jsonl and of
//	                lost.txt, as sha256sum writes them
//	frontier/       what waits, what is done, the marks of the next two, and a
//	                copy of lost.txt
//	archive/        WARC files
//	events.jsonl    all that happened
//	harvest.tsv     the relevant pages, made from the events when a run ends
//	harvest.yaml    what judge and topic they are relevant by
//	known.jsonl     of a round: what earlier ones know of its pages (round.go)
//	again/          rounds that came after the crawl, each a folder like this
//	lost.txt        addresses of which page or outcome were lost, if any were
//	index/          what package index keeps, if it does; it may go at any time
//	acts.jsonl      what people told the crawl; of one of several workers, it is
//	                acts-for-all.jsonl
//	workers.json    of one of several workers: all of them, as it heard of them
//	                last (workers.go); it may go at any time
//	activity.json   what the crawl does at the moment, while it runs; it may go at
//	                any time
//	member.json     of one of several workers: which one
//	shipped.json    what of the folder was copied to a store, if one was named; it
//	                may go at any time
//	robots          what was learnt of robots.txt files; it may go at any time
//	tdmrep          what was learnt of the tdmrep.json of sites; it may go at any time
//	before-repair/  what a repair replaced
//	replaced/       a crawl that ended without a page, until the one in its place begins
//	repair.json     while a repair puts its files in place (journal.go)
//	fields.yaml     what a person wants of the pages as a table, if they put it there
//	known-pages-*.new  what a process knows of many pages, where the system keeps the
//	                names of open files; the next crawl of the folder removes it
//	lock            held by the process that crawls
//	merge-begun     while waggle cluster merge makes the folder, under another name
//
// # Reading and writing
//
// A Collection reads: the crawl may be finished, stopped or running, and
// nothing is locked. A Writer holds the lock and may change the folder.
//
// # The life of a folder
//
//	          Lock, SaveJob           OpenStores, a first turn
//	empty ───────────────────► set up ────────────────────────► begun
//	  ▲                          │                                │ OpenStores:
//	  └──────────────────────────┴────────────────────────────────┘ back to the
//	                      Discard                                   last turn
package collection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// ErrNone says that a folder holds no crawl.
var ErrNone = errors.New("it holds no crawl")

// Collection is the folder of a crawl, for reading. It may be copied, and used
// by several goroutines.
type Collection struct{ dir string }

// At names the folder dir, whatever is in it.
func At(dir string) Collection { return Collection{dir} }

// Open names the folder dir, of which there must be a crawl to read. If there is
// none, the error wraps ErrNone.
func Open(dir string) (Collection, error) {
	c := At(dir)
	if _, err := os.Stat(c.EventLog()); err != nil {
		if folder.Exists(filepath.Join(dir, "web.yaml")) {
			return c, noneError{fmt.Errorf("%s is a recorded web and holds no crawl: crawl it first, by waggle web serve %[1]s, and waggle crawl -f with the job that waggle web job %[1]s TOPIC prints", dir)}
		}
		if err := c.jobAlone(); err != nil {
			return c, noneError{err}
		}
		return c, noneError{fmt.Errorf("%s holds no crawl: there is no %s", dir, c.EventLog())}
	}
	return c, c.checkKinds()
}

// noneError is ErrNone in the words of a place.
type noneError struct{ error }

func (noneError) Is(target error) bool { return target == ErrNone }

// Dir is the folder.
func (c Collection) Dir() string { return c.dir }

// JobFile is the path of job.yaml; as the others, it may be absent.
func (c Collection) JobFile() string { return filepath.Join(c.dir, "job.yaml") }

// ExampleFile is the path of examples.jsonl.
func (c Collection) ExampleFile() string { return filepath.Join(c.dir, "examples.jsonl") }

// ModelFile is the path of the copy of the scorer's trained model.
func (c Collection) ModelFile() string { return filepath.Join(c.dir, "model") }

// CriticFile is the path of the copy of the critic that judges.
func (c Collection) CriticFile() string { return filepath.Join(c.dir, "critic") }

// SumFile is the path of the checksums of examples, model, critic, known.jsonl and lost.txt.
func (c Collection) SumFile() string { return filepath.Join(c.dir, "SHA256SUMS") }

// FrontierDir is the folder of the frontier.
func (c Collection) FrontierDir() string { return filepath.Join(c.dir, "frontier") }

// ArchiveDir is the folder of the WARC files.
func (c Collection) ArchiveDir() string { return filepath.Join(c.dir, "archive") }

// EventLog is the path of events.jsonl.
func (c Collection) EventLog() string { return filepath.Join(c.dir, "events.jsonl") }

// HarvestFile is the path of harvest.tsv.
func (c Collection) HarvestFile() string { return filepath.Join(c.dir, "harvest.tsv") }

// ProvenanceFile is the path of harvest.yaml.
func (c Collection) ProvenanceFile() string { return filepath.Join(c.dir, "harvest.yaml") }

// LostFile is the path of lost.txt.
func (c Collection) LostFile() string { return filepath.Join(c.dir, "lost.txt") }

// RobotsFile is the path of what was learnt of robots.txt files; package fetch
// keeps it.
func (c Collection) RobotsFile() string { return filepath.Join(c.dir, "robots") }

// ReservationsFile is the path of what was learnt of the tdmrep.json of sites; package fetch
// keeps it.
func (c Collection) ReservationsFile() string { return filepath.Join(c.dir, "tdmrep") }

// ShippedFile is the path of shipped.json: which files a store has a copy of; package store/ship
// keeps it. It may go at any time: all of them are shipped again then, under another name.
func (c Collection) ShippedFile() string { return filepath.Join(c.dir, "shipped.json") }

// MemberFile is the path of member.json: which of several workers the folder is of, as the
// frontier has it too. It is shipped, which that is not.
func (c Collection) MemberFile() string { return filepath.Join(c.dir, "member.json") }

// SaveMember keeps member.json.
func (w *Writer) SaveMember(m crawl.Member) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return folder.Write(w.MemberFile(), append(b, '\n'))
}

// ShippedSetup are the files that are shipped beside the archive: what the crawl was told.
func (c Collection) ShippedSetup() []string {
	return append([]string{c.JobFile(), c.SumFile(), c.LostFile(), c.MemberFile()}, c.setupFiles()...)
}

// FieldsFile is the path of fields.yaml: what a person wants of the pages, as package extract
// reads it. No crawl writes it.
func (c Collection) FieldsFile() string { return filepath.Join(c.dir, "fields.yaml") }

// Begun tells whether a crawl was set up here: it has a job, and not that alone.
func (c Collection) Begun() bool { return folder.Exists(c.JobFile()) && c.jobAlone() == nil }

// jobAlone is an error where there is a job file without anything that a set-up keeps before it or a crawl
// after it: a person put it there. It says what to do.
func (c Collection) jobAlone() error {
	if slices.ContainsFunc([]string{c.SumFile(), c.EventLog(), c.FrontierDir(), c.ArchiveDir(), c.ExampleFile(), c.replaced()}, folder.Exists) || !folder.Exists(c.JobFile()) {
		return nil
	}
	return fmt.Errorf("%s holds a job file and no crawl: put the crawl into another folder, such as %s", c.dir, filepath.Join(c.dir, "crawl"))
}

// Joined tells whether the folder is that of one of several workers, which has joined.
func (c Collection) Joined() bool { return folder.Exists(c.MemberFile()) }

// Usable tells whether a folder may hold a crawl: it holds one, or nothing, or
// is not there yet. The error says what to do otherwise.
func (c Collection) Usable() error {
	if err := c.checkKinds(); err != nil {
		return err
	}
	if c.Begun() || c.isAside() { // Lock brings back what is aside
		return nil
	}
	if err := c.jobAlone(); err != nil {
		return err
	}
	if folder.Exists(c.EventLog()) || folder.Exists(c.FrontierDir()) {
		return fmt.Errorf("%s is missing, and without it the crawl in %s cannot go on: put it back, or keep the pages with waggle web build %s -o WEB", c.JobFile(), c.dir, c.ArchiveDir())
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder of the crawl: %w", err)
	}
	for _, e := range entries {
		if !ofSetup(e.Name()) {
			return fmt.Errorf("%s holds other files (%s) and no crawl: choose a new folder", c.dir, e.Name())
		}
	}
	return nil
}

// ofSetup tells whether a file is one that a set-up leaves which was cut short.
func ofSetup(name string) bool {
	return slices.Contains([]string{"lock", "SHA256SUMS", "SHA256SUMS.new", "examples.jsonl", "examples.jsonl.new", "known.jsonl", "known.jsonl.new", "model", "critic", "critic.new", "job.yaml.new", "robots", "robots.new", "tdmrep", "tdmrep.new", "activity.json", "activity.json.new", "acts-for-all.jsonl", "acts-for-all.jsonl.new", "workers.json", "workers.json.new", "shipped.json", "shipped.json.new", "member.json", "member.json.new", replacedDir}, name) ||
		strings.HasPrefix(name, ".model-") || isScratch(name)
}
