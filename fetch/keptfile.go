package fetch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/web"
)

// KeptFile keeps what was learnt of the robots.txt of sites, or of their tdmrep.json, from one
// run of a crawl to the next, so that a crawl that goes on asks no site again within the lifetime
// of its rules. It is a text file:
//
//	waggle robots 1
//	1f0c7d2a94b3e865 {"origin":"https://a.example","until":"2026-03-02T12:00:00Z","life":86400,"status":200,"body":"VXNlci1h…"}
//	93ab5d0e7c1f2468 {"origin":"https://b.example","until":"2026-03-01T13:00:00Z","life":3600,"missing":"…: status 429"}
//	…
//
// A line is the XXH3 hash (64 bits, in hexadecimal) of what follows behind one
// space, and an entry: the status and the body (base64) that the rules are made
// of, or why they are unknown; until when that holds, and how long it did, in
// seconds. So an entry of a clock that was ahead holds no longer than it would
// have. The last entry of an origin counts.
//
// Lines are appended, each with one write, as the files of sites are read. A torn
// or damaged line is left out, and its site is asked again. When the file is
// opened, and when it has grown to twice what is remembered of sites
// at a time, it is written anew with what still holds.
//
// Its methods are safe for concurrent use.
type KeptFile struct {
	keptKind
	path string
	note func(string)

	mu   sync.Mutex
	f    *os.File // nil after an error
	size int64
	now  func() time.Time
	kept []keptRules // of earlier runs, until they are taken
}

// keptKind says of which file of sites a KeptFile keeps what was learnt.
type keptKind struct {
	header string
	of     string               // the name of the file
	life   time.Duration        // the longest for which an entry holds
	room   int                  // bytes that rules take in memory; the file may have twice as many
	weight func(*keptRules) int // bytes that those of an entry take there
}

func keptRobots() keptKind {
	return keptKind{"waggle robots 1\n", "robots.txt", robotsLife, robotsBytes, func(k *keptRules) int { return k.verdict().weight }}
}

func keptReservations() keptKind {
	return keptKind{"waggle tdmrep 1\n", "tdmrep.json", reservationsLife, reservationsBytes, func(k *keptRules) int { return weightOfReservations(len(k.Body)) }}
}

// maxKeptLine bounds a line, in bytes: the body is two thirds at most.
const maxKeptLine = 1 << 20

// keptRules is an entry of the file.
type keptRules struct {
	Origin  string    `json:"origin"`
	Until   time.Time `json:"until"`
	Life    int64     `json:"life"` // s
	Status  int       `json:"status,omitempty"`
	Body    []byte    `json:"body,omitempty"`
	Missing string    `json:"missing,omitempty"`
}

func (k *keptRules) life(most time.Duration) time.Duration {
	return time.Duration(min(max(k.Life, 0), int64(most/time.Second))) * time.Second
}

func (k *keptRules) verdict() verdict {
	if k.Missing != "" {
		v, _ := missing(k.Missing, 0)
		v.until = k.Until
		return v
	}
	v := rulesOf(k.Status, k.Body)
	v.until, v.body = k.Until, nil
	return v
}

// valid tells whether an entry says something that holds at now.
func (k *keptRules) valid(now time.Time) bool {
	u, err := web.Parse(k.Origin + "/robots.txt")
	return err == nil && u.Origin() == k.Origin && k.Until.After(now) &&
		(k.Missing != "" || rulesOf(k.Status, nil).rules != nil)
}

// OpenRobots opens a file for what is learnt of robots.txt, or begins one. note is told of what
// was left out. The caller closes it.
func OpenRobots(path string, now func() time.Time, note func(string)) (*KeptFile, error) {
	return openKept(path, keptRobots(), now, note)
}

// OpenReservations is the same for tdmrep.json.
func OpenReservations(path string, now func() time.Time, note func(string)) (*KeptFile, error) {
	return openKept(path, keptReservations(), now, note)
}

func openKept(path string, of keptKind, now func() time.Time, note func(string)) (*KeptFile, error) {
	r := &KeptFile{path: path, keptKind: of, now: now, note: note}
	kept, lines, damaged, err := of.read(path, now())
	if err != nil {
		return nil, fmt.Errorf("rules of %s: %w", of.of, err)
	}
	if damaged > 0 {
		note(fmt.Sprintf("%s: %d damaged lines are left out; those sites are asked for their %s again", path, damaged, of.of))
	}
	r.kept = kept
	if lines != len(kept) || damaged > 0 || !folder.Exists(path) {
		err = r.rewrite(kept)
	} else {
		err = r.open()
	}
	if err != nil {
		return nil, fmt.Errorf("rules of %s: %w", of.of, err)
	}
	return r, nil
}

// read reads the entries that hold at now, as many of the latest as
// there is room for. lines and damaged are how many lines there are and
// how many of them cannot be read.
func (of keptKind) read(path string, now time.Time) (kept []keptRules, lines, damaged int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, nil
	}
	if err != nil {
		return nil, 0, 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxKeptLine)
	head, err := in.ReadSlice('\n')
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return nil, 0, 0, err
	}
	if string(head) != of.header {
		damaged++
	}
	at := map[string]int{} // in kept, by origin
	for {
		line, err := in.ReadSlice('\n')
		for err == bufio.ErrBufferFull { // no line of ours
			line = nil
			_, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, 0, 0, err
		}
		if err == io.EOF && len(line) == 0 {
			break
		}
		lines++
		k, ok := parseKept(line)
		switch i, again := at[k.Origin]; {
		case !ok:
			damaged++
		case again:
			kept[i].Until = time.Time{}
			fallthrough
		default:
			at[k.Origin] = len(kept)
			k.Until = earlier(k.Until, now.Add(k.life(of.life)))
			kept = append(kept, k)
		}
		if err == io.EOF {
			break
		}
	}
	room := of.room
	for i := len(kept) - 1; i >= 0; i-- { // the latest are kept
		if kept[i].valid(now) {
			if weight := of.weight(&kept[i]); weight <= room {
				room -= weight
				continue
			}
		}
		kept[i].Until = time.Time{}
	}
	return slices.DeleteFunc(kept, func(k keptRules) bool { return k.Until.IsZero() }), lines, damaged, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// parseKept reads a line; ok is false for one that is damaged.
func parseKept(line []byte) (k keptRules, ok bool) {
	line, whole := bytes.CutSuffix(line, []byte("\n"))
	sum, entry, found := bytes.Cut(line, []byte(" "))
	if !whole || !found || len(sum) != 16 {
		return k, false
	}
	if want, err := strconv.ParseUint(string(sum), 16, 64); err != nil || want != xxh3.Hash(entry) {
		return k, false
	}
	err := json.Unmarshal(entry, &k)
	return k, err == nil
}

// appendKept writes an entry as a line.
func appendKept(b []byte, k *keptRules) []byte {
	entry, err := json.Marshal(k)
	if err != nil {
		panic(err) // a plain struct
	}
	b = fmt.Appendf(b, "%016x ", xxh3.Hash(entry))
	return append(append(b, entry...), '\n')
}

// take returns the entries of earlier runs, once.
func (r *KeptFile) take() []keptRules {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept
	r.kept = nil
	return kept
}

// add keeps what was learnt of an origin, which holds for some time from now on. When that fails
// it says so once and keeps no more: then the next run asks again, and that is all.
func (r *KeptFile) add(k keptRules, until time.Time, life time.Duration) {
	k.Until, k.Life = until.UTC().Truncate(time.Second), int64(life/time.Second)
	line := appendKept(nil, &k)
	if len(line) > maxKeptLine {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return
	}
	n, err := r.f.Write(line)
	r.size += int64(n)
	if err == nil && r.size > 2*int64(r.room) {
		err = r.compact()
	}
	if err != nil {
		r.note(fmt.Sprintf("rules of %s are kept no longer, and a later run asks for them again: %v", r.of, err))
		r.f.Close()
		r.f = nil
	}
}

// compact writes the file anew with what holds now.
func (r *KeptFile) compact() error {
	kept, _, _, err := r.read(r.path, r.now())
	if err != nil {
		return err
	}
	if err := r.f.Close(); err != nil {
		return err
	}
	return r.rewrite(kept)
}

// rewrite replaces the file by one of these entries, and opens it.
func (r *KeptFile) rewrite(kept []keptRules) error {
	err := folder.WriteFrom(r.path, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		out.WriteString(r.header)
		for i := range kept {
			out.Write(appendKept(nil, &kept[i]))
		}
		return out.Flush()
	})
	if err != nil {
		return err
	}
	return r.open()
}

// open opens the file at its end.
func (r *KeptFile) open() error {
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.f, r.size = f, info.Size()
	return nil
}

// Close closes the file.
func (r *KeptFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return nil
	}
	err := r.f.Close()
	r.f = nil
	return err
}
