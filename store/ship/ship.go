// Package ship copies the files of an archive to an S3-compatible store while a crawl
// writes it, and brings them back.
//
//	PLACE/NAME/job.yaml …                 what the crawl was told
//	PLACE/NAME/archive/NAME-00000.warc.gz
//	PLACE/NAME/archive/NAME-00001.warc.gz  …
//
// NAME is that of the folder and eight letters that were drawn when it was first shipped: so
// no folder writes over what another one has shipped, also not a new one in the place of one
// that was lost, nor a copy.
//
//	complete ──► put, with its SHA-256 ──► asked for ──► noted in shipped.json
//	    ▲           │ refused, or no answer: again, each time later
//	    └───────────┘
//
// A file is complete when a turn of the crawl was committed whose pages are in a later one;
// the last is shipped at the end, up to where the last turn ends. A file that has changed since,
// as the crawl went on with it, is shipped again; so is one of which a power failure took turns
// that had been shipped. The files are only read.
package ship

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
)

// Options say what is shipped. Those without a default named are needed.
type Options struct {
	Dir     string   // of the crawl
	Archive string   // folder of the archive within it
	Setup   []string // files of Dir that are shipped beside it, where they are there
	Kept    string   // shipped.json
	// Tell is told of each file, and once of each trouble. It may wait, until ctx ends.
	Tell func(ctx context.Context, e event.Shipped)
	Now  func() time.Time // nil = time.Now
	// First and Most are how long it waits after the first failure, and at most; 0 = 1 s and
	// 1 min.
	First, Most time.Duration
}

// State is shipped.json: what of a folder is shipped.
type State struct {
	Name     string `json:"name"`     // of the folder at the store
	Place    string `json:"place"`    // as Open reads it, with the name
	Endpoint string `json:"endpoint"` // address of the store
	Dir      string `json:"dir"`      // the folder that was shipped: a copy of it is elsewhere
	Files    []File `json:"files"`    // by name
	// What waits: of the archive, as it was when this was written.
	Left      int   `json:"left,omitempty"` // files
	LeftBytes int64 `json:"left_bytes,omitempty"`
	// Trouble is why it waits, "" where nothing is wrong.
	Trouble string `json:"trouble,omitempty"`
}

// File is a file as the store has it.
type File struct {
	File    string `json:"file"` // path within the folder, with slashes
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"` // when it was written last, in nanoseconds since 1970
	SHA256  string `json:"sha256"`
	// Number is that of a file of the archive, and Whole tells that it was complete, so that the
	// whole of it is shipped and not only what is before a mark.
	Number int  `json:"number,omitempty"`
	Whole  bool `json:"whole,omitempty"`
}

// Read reads shipped.json; fs.ErrNotExist where nothing was ever shipped.
func Read(kept string) (s State, err error) {
	b, err := os.ReadFile(kept)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil || strings.ContainsAny(s.Name, `/\`) || s.Name == "" {
		return State{}, fmt.Errorf("%s cannot be read: remove it, and everything is shipped again", kept)
	}
	return s, nil
}

// Bytes are those of the archive at the store.
func (s *State) Bytes() (n int64) {
	for _, f := range s.Files {
		if strings.HasPrefix(f.File, archiveFolder) {
			n += f.Size
		}
	}
	return n
}

// Shipper ships the archive of one folder. Its life: New, Run on a goroutine that ends before
// Finish is called. Marked and Safe are safe at any time.
//
// A mark of package store is the number of a file of the archive, and bytes of it: it stands for
// these, and for all files with a smaller number.
type Shipper struct {
	o     Options
	store *Store
	wake  chan struct{}

	mu     sync.Mutex
	number int   // of the file in which the acknowledged archive ends
	end    int64 // and where
	state  State // but for its files
	files  map[string]File
	told   map[string]bool // the troubles since all was shipped last
}

// New prepares to ship, and reads what was shipped before.
func New(s *Store, o Options) (*Shipper, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.First == 0 {
		o.First = time.Second
	}
	if o.Most == 0 {
		o.Most = time.Minute
	}
	x := &Shipper{o: o, store: s, wake: make(chan struct{}, 1), files: make(map[string]File), told: make(map[string]bool)}
	before, err := Read(o.Kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	x.state = State{Name: before.Name, Place: s.Place(before.Name), Endpoint: s.endpoint, Dir: dir}
	if before.Place == x.state.Place && before.Endpoint == s.endpoint && before.Dir == dir {
		for _, f := range before.Files {
			x.files[f.File] = f
		}
		return x, nil
	}
	x.state.Name = keyPart(filepath.Base(dir)) + "-" + strings.ToLower(rand.Text()[:8])
	x.state.Place = s.Place(x.state.Name)
	return x, nil
}

// keyPart is a name of which a key can be made.
func keyPart(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, s)
	return strings.Trim(s[:min(len(s), 60)], "-")
}

// Place is where the folder is shipped to.
func (x *Shipper) Place() string { return x.state.Place }

// Marked tells up to which mark the archive is acknowledged. Where that is before what was
// shipped, as after a power failure, what is behind it no longer counts as shipped.
func (x *Shipper) Marked(mark []byte) {
	number, end, err := store.MarkedFile(mark)
	if err != nil {
		return
	}
	x.mu.Lock()
	changed := number > x.number
	x.number, x.end = number, end
	for name, f := range x.files {
		if !strings.HasPrefix(name, archiveFolder) || f.Number < number || f.Number == number && !f.Whole && f.Size <= end {
			continue
		}
		changed = true
		if f.Size, f.Whole, f.Changed = min(f.Size, end), false, 0; f.Number > number {
			f.Size = 0
		}
		x.files[name] = f
	}
	x.mu.Unlock()
	if changed {
		select {
		case x.wake <- struct{}{}:
		default:
		}
	}
}

// Safe is the mark up to which the store has the archive.
func (x *Shipper) Safe() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := make(map[int]File)
	for _, f := range x.files {
		if strings.HasPrefix(f.File, archiveFolder) {
			at[f.Number] = f
		}
	}
	n := 0
	for at[n].Whole {
		n++
	}
	return store.MarkAt(n, at[n].Size)
}

// archiveFolder is where the archive is, at the store.
const archiveFolder = "archive/"

// task is a file that is to be shipped.
type task struct {
	File
	path string
}

// waiting are the files that the store does not have as they are.
func (x *Shipper) waiting(last bool) (out []task, err error) {
	files, err := store.Numbered(x.o.Archive)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	x.mu.Lock()
	number, end := x.number, x.end
	x.mu.Unlock()
	for _, path := range x.o.Setup {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, task{File{File: filepath.Base(path), Size: info.Size(), Changed: info.ModTime().UnixNano()}, path})
	}
	for _, f := range files {
		t := task{File{File: archiveFolder + filepath.Base(f.Path), Size: f.Size, Changed: f.Changed.UnixNano(), Number: f.Number, Whole: true}, f.Path}
		switch {
		case f.Number > number || f.Number == number && (!last || end == 0):
			continue
		case f.Number == number:
			t.Size, t.Whole = min(end, f.Size), false
		}
		out = append(out, t)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	kept := out[:0]
	for _, t := range out {
		if has := x.files[t.File.File]; has.Size != t.Size || has.Changed != t.Changed || has.Whole != t.Whole {
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// Run ships what is complete, until ctx ends.
func (x *Shipper) Run(ctx context.Context) {
	for {
		if x.ship(ctx, false) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
		}
	}
}

// Finish ships all that is acknowledged, once nobody writes to the archive. The error says what
// is left.
func (x *Shipper) Finish(ctx context.Context) error {
	if x.ship(ctx, true) == nil {
		return nil
	}
	left, err := x.waiting(true)
	var size int64
	for _, t := range left {
		size += t.Size
	}
	x.mu.Lock()
	trouble := x.state.Trouble
	x.mu.Unlock()
	if trouble == "" {
		trouble = "there was no time for them"
	}
	return errors.Join(err, fmt.Errorf("%d files, %d bytes, are not at %s: %s; they are here, and are shipped when the crawl goes on with --ship", len(left), size, x.Place(), trouble))
}

// ship ships what waits, until there is nothing more or ctx ends.
func (x *Shipper) ship(ctx context.Context, last bool) error {
	wait := x.o.First
	for {
		list, err := x.waiting(last)
		for i := 0; err == nil && i < len(list); i++ {
			x.note(list[i:], "")
			err = x.put(ctx, list[i])
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x.say(ctx, list, err)
		if err == nil {
			return nil
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
		wait = min(2*wait, x.o.Most)
	}
}

// say tells of a trouble that is new since all was shipped last.
func (x *Shipper) say(ctx context.Context, left []task, err error) {
	trouble := ""
	if err != nil {
		trouble = err.Error()
	} else {
		left = nil
	}
	x.note(left, trouble)
	if trouble == "" {
		clear(x.told)
	} else if !x.told[trouble] {
		x.told[trouble] = true
		x.o.Tell(ctx, event.Shipped{At: event.At{At: x.o.Now()}, Trouble: trouble})
	}
}

// note keeps what is shipped and what waits. Where that cannot be, files are shipped again by
// the next run.
func (x *Shipper) note(left []task, trouble string) {
	x.mu.Lock()
	x.state.Left, x.state.LeftBytes = 0, 0
	for _, t := range left {
		if strings.HasPrefix(t.File.File, archiveFolder) {
			x.state.Left++
			x.state.LeftBytes += t.Size
		}
	}
	if trouble != "" || len(left) == 0 {
		x.state.Trouble = trouble
	}
	state := x.state
	state.Files = slices.SortedFunc(maps.Values(x.files), func(a, b File) int { return strings.Compare(a.File, b.File) })
	x.mu.Unlock() // the crawl does not wait for the disk
	if b, err := json.MarshalIndent(state, "", "  "); err == nil {
		_ = folder.Write(x.o.Kept, append(b, '\n'))
	}
}

// slowest is the speed at which a file is shipped at least, in bytes a second, and patience how
// long an answer may take beside that.
const (
	slowest  = 64_000
	patience = time.Minute
)

// readSeeker is what is shipped: it may be read again.
type readSeeker interface {
	io.Reader
	io.Seeker
}

// put ships a file and notes it.
func (x *Shipper) put(ctx context.Context, t task) error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer f.Close()
	part := io.NewSectionReader(f, 0, t.Size)
	h := sha256.New()
	if n, err := io.Copy(h, part); err != nil || n != t.Size {
		return fmt.Errorf("%s was cut while it was read: %w", t.path, errors.Join(err, io.ErrUnexpectedEOF))
	}
	t.SHA256 = hex.EncodeToString(h.Sum(nil))
	if _, err := part.Seek(0, io.SeekStart); err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, patience+time.Duration(t.Size/slowest)*time.Second)
	defer cancel()
	if err := x.store.put(bound, path.Join(x.state.Name, t.File.File), part, t.Size, t.SHA256); err != nil {
		return err
	}
	x.mu.Lock()
	x.files[t.File.File] = t.File
	x.mu.Unlock()
	if strings.HasPrefix(t.File.File, archiveFolder) {
		x.o.Tell(ctx, event.Shipped{At: event.At{At: x.o.Now()}, File: path.Base(t.File.File), Bytes: t.Size, SHA256: t.SHA256})
	}
	return nil
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
