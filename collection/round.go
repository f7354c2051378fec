package collection

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// A collection that is kept up to date has rounds: crawls that ask again for the pages of
// earlier ones, and for new ones between. Each is a folder of its own,
//
//	DIR               the first crawl, round 0
//	DIR/again/0001    round 1
//	DIR/again/0002    round 2
//	…
//
// and its known.jsonl holds what the rounds before it know of each page. Where a server
// answers that a page is as it was, or sends the same once more, the archive of the round
// has a revisit record; the body lies in the archive of the round that known.jsonl names.

// Known is what rounds know of a page.
type Known struct {
	URL web.URL `json:"url"`
	// From is where it was found when it was fetched first, and Depth how many links from a
	// seed.
	From  web.URL `json:"from,omitzero"`
	Depth int     `json:"depth,omitempty"`
	Title string  `json:"title,omitempty"`
	// Relevance and Relevant are as it was judged last, and Digest is of its last body.
	Relevance float64 `json:"relevance"`
	Relevant  bool    `json:"relevant,omitempty"`
	Digest    string  `json:"digest"`
	// Words is a hash of the words of its text, "" where it cannot be read; see package revisit.
	Words string `json:"words,omitempty"`
	// Body is the round whose archive holds that body.
	Body int `json:"body,omitempty"`
	// First is when it was fetched first, and Last when it was there last.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Visits counts those after the first at which it was there, and Changes those of them
	// at which its words were others.
	Visits  int `json:"visits,omitempty"`
	Changes int `json:"changes,omitempty"`
	// Gone is since when its address does not lead to it, zero where it does; To is where
	// it has moved, zero where the server says that it is no more (404, 410).
	Gone time.Time `json:"gone,omitzero"`
	To   web.URL   `json:"to,omitzero"`
	// Failed counts the visits in a row that failed in another way.
	Failed int `json:"failed,omitempty"`
	// Due is how much a visit in this round is worth, in (0,1]; 0 = it is not asked for.
	Due float64 `json:"due,omitempty"`
	// Spare is how much a visit would be worth, in (0,1], of a page that is asked for only
	// where the round has pages left at its end; 0 of others.
	Spare float64 `json:"spare,omitempty"`
	// Chance is the probability that it has changed when the round begins, in [0,1], as far as
	// its visits tell.
	Chance float64 `json:"chance,omitempty"`
	// Entries counts its entries that tell when pages of its registrable domain changed, of a
	// sitemap or a feed.
	Entries int `json:"entries,omitempty"`
	// Said is when it has changed since Last, as a sitemap or a feed said; "" = none did.
	Said web.Date `json:"said,omitempty"`
	// Claims are the visits before which it was said to have changed, and Denials those before
	// which it was said not to have.
	Claims  Told `json:"claims,omitzero"`
	Denials Told `json:"denials,omitzero"`
}

// Told counts visits of a page before which a sitemap or a feed said whether it had changed.
type Told struct {
	Visits  int `json:"visits"`
	Changes int `json:"changes,omitempty"` // those that found it changed
	// Expected is how many of them would have as far as its visits before tell: the sum of
	// Known.Chance.
	Expected float64 `json:"expected,omitempty"`
}

// Round is round n of a collection, whose round 0 is c.
func (c Collection) Round(n int) Collection {
	if n == 0 {
		return c
	}
	return At(filepath.Join(c.dir, store.RoundsDir, store.RoundName(n)))
}

// Rounds is the number of the last round of a collection; 0 where there is none but the
// first crawl.
func (c Collection) Rounds() (last int, err error) {
	entries, err := os.ReadDir(filepath.Join(c.dir, store.RoundsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		n, ok := store.RoundNumber(e.Name())
		if !ok {
			continue
		}
		info, err := os.Stat(filepath.Join(c.dir, store.RoundsDir, e.Name())) // it may be a link to another disk
		if err != nil {
			return 0, err
		}
		if info.IsDir() {
			last = max(last, n)
		}
	}
	return last, err
}

// RoundsBefore are the rounds before this one, whose archives hold bodies that its own refers
// to: round 0 first. Of a folder that is no round there are none.
func (c Collection) RoundsBefore() (before []Collection, err error) {
	first, n, err := c.numbered()
	for i := range n {
		before = append(before, first.Round(i))
	}
	return before, err
}

// numbered is the first crawl of the collection that a round is of, and the number of the
// round; 0 where its folder is not in that of the crawl.
func (c Collection) numbered() (first Collection, n int, err error) {
	dir, n, err := store.RoundAt(c.dir)
	return At(dir), n, err
}

// remedyMoved helps where a round is not in the folder of its crawl.
const remedyMoved = "put this folder where it was, in the folder again of its first crawl: again/0001, again/0002 and so on"

// ErrRoundMoved says that a round is not in the folder of its crawl: the rounds before it are not known.
var ErrRoundMoved = errors.New("this is a round of a crawl, and not in the folder of that: " + remedyMoved)

// IsRound tells whether the folder is that of a round, wherever it is, and though known.jsonl is missing.
func (c Collection) IsRound() bool {
	before, errBefore := c.RoundsBefore()
	sums, _, errSums := c.readSums()
	_, listed := sums[filepath.Base(c.KnownFile())]
	return folder.Exists(c.KnownFile()) || errSums == nil && listed || errBefore == nil && len(before) > 0 && before[0].Begun()
}

// InPlace is ErrRoundMoved where a round is not in the folder of its crawl, or the crawl is not there.
func (c Collection) InPlace() error {
	before, err := c.RoundsBefore()
	if err == nil && (len(before) == 0 || !before[0].Begun() && !folder.Exists(before[0].ArchiveDir())) {
		err = ErrRoundMoved
	}
	return err
}

// ByCommand is nil where a program can go on with a crawl that is stopped, and an error that names the command
// where that alone does: the command line knows what earlier rounds know. dir is the folder as the command is to name it.
func (c Collection) ByCommand(dir string) error {
	if !c.IsRound() {
		return nil
	}
	if err := c.InPlace(); err != nil {
		return err
	}
	return fmt.Errorf("this is a round of a crawl, which goes on by a command: waggle crawl -o %s --resume", dir)
}

// KnownFile is the path of known.jsonl.
func (c Collection) KnownFile() string { return filepath.Join(c.dir, "known.jsonl") }

// SaveKnown keeps what earlier rounds know; before SaveJob.
func (w *Writer) SaveKnown(pages []Known) error {
	return folder.WriteFrom(w.KnownFile(), func(out io.Writer) error {
		enc := json.NewEncoder(out) // a page a line
		for i := range pages {
			if err := enc.Encode(&pages[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Known is what earlier rounds know, as SaveKnown kept it; nothing where it never did. After an error of a line that
// is damaged the next line follows.
func (c Collection) Known() iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		f, err := os.Open(c.KnownFile())
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Known{}, err)
			return
		}
		defer f.Close()
		lines := bufio.NewReader(f)
		for n := 1; ; n++ {
			line, err := lines.ReadBytes('\n')
			if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
				if !errors.Is(err, io.EOF) {
					yield(Known{}, err)
				}
				return
			}
			var k Known
			if err = json.Unmarshal(line, &k); err != nil {
				err = &KnownLineError{fmt.Errorf("%s, line %d, is damaged: %w", c.KnownFile(), n, err)}
			}
			if !yield(k, err) {
				return
			}
		}
	}
}

// KnownLineError says that a line of known.jsonl cannot be read.
type KnownLineError struct{ error }

// earlierRounds finds the bodies of earlier rounds that a round refers to. The zero value
// has read nothing yet.
type earlierRounds struct {
	round   map[uint64]int // that holds the body, by the hash of the address
	kept    bool           // known.jsonl is as SaveKnown left it, as far as that is known
	finders map[int]*Finder
}

// ErrNoEarlier says that the body of a revisit record is not where it should be.
var ErrNoEarlier = errors.New("the archive of the earlier round does not hold the body")

// knownError says that the list of what earlier rounds know cannot be read, or is not what was kept.
type knownError struct{ err error }

func (e *knownError) Error() string { return e.err.Error() }
func (e *knownError) Unwrap() error { return e.err }

// Earlier finds the responses of earlier rounds by their addresses; see Finder.
type Earlier struct {
	round  Collection
	rounds earlierRounds
}

// Earlier finds responses of the rounds before this one.
func (c Collection) Earlier() *Earlier { return &Earlier{round: c} }

// Response is the last whole response of an address that earlier rounds have; the error
// wraps ErrAbsent where they have none. One goroutine calls it at a time.
func (e *Earlier) Response(ctx context.Context, u web.URL) (*web.Response, error) {
	return e.round.earlier(ctx, &e.rounds, u)
}

func (c Collection) earlier(ctx context.Context, e *earlierRounds, u web.URL) (*web.Response, error) {
	if e.round == nil {
		kept, err := c.knownKept()
		if err != nil {
			return nil, err
		}
		round := map[uint64]int{}
		for k, err := range c.Known() {
			if errors.As(err, new(*KnownLineError)) {
				err = fmt.Errorf("%w; %s", err, c.remedyOf(c.KnownFile()))
			}
			if err != nil {
				return nil, &knownError{err}
			}
			round[hashOf(k.URL.String())] = k.Body
		}
		e.round, e.kept, e.finders = round, kept, map[int]*Finder{}
	}
	n, ok := e.round[hashOf(u.String())]
	if !ok {
		return nil, ErrAbsent
	}
	f := e.finders[n]
	if f == nil {
		first, _, err := c.numbered()
		if err != nil {
			return nil, err
		}
		f = first.Round(n).Finder()
		e.finders[n] = f
	}
	return f.Response(ctx, u)
}

// whole gives a response that an archive refers to an earlier one for the body of that.
func (c Collection) whole(e *earlierRounds, r *web.Response) (*web.Response, error) {
	v := r.Revisit
	if v == nil {
		return r, nil
	}
	before, err := c.earlier(context.Background(), e, r.URL)
	if err == nil {
		if sent, _ := Original(before); sent.Equal(v.At) {
			return Revisited(r, before, v), nil
		}
		err = fmt.Errorf("none was sent at %s", v.At.UTC().Format(time.RFC3339))
	}
	if e.round != nil && !e.kept { // that names the round
		err = &knownError{c.KnownError()}
	}
	return nil, fmt.Errorf("%w of %s (%w)", ErrNoEarlier, r.URL, err)
}

// Original is when the body of a response was sent, and the record of that.
func Original(r *web.Response) (sent time.Time, record string) {
	if r.Revisit != nil { // it refers to one that is earlier still
		return r.Revisit.At, r.Revisit.Record
	}
	return r.Started, r.Record
}

// Revisited is a response r whose body is that of an earlier one. What a browser made of
// that is not that of r.
func Revisited(r, before *web.Response, v *web.Revisit) *web.Response {
	whole := *before
	whole.Started, whole.Took, whole.Proto, whole.Remote, whole.Address = r.Started, r.Took, r.Proto, r.Remote, r.Address
	whole.RequestHead, whole.RetryAfter, whole.CrawlDelay, whole.Sitemaps, whole.Robots = r.RequestHead, r.RetryAfter, r.CrawlDelay, r.Sitemaps, r.Robots
	whole.Site, whole.SiteFile, whole.Conceal = r.Site, r.SiteFile, r.Conceal
	whole.Record, whole.Revisit, whole.Rendering = r.Record, v, r.Rendering
	whole.OnRelease(r.Release)
	return &whole
}

// holdsResponse tells the types of records that hold a response, or refer to one.
func holdsResponse(kind string) bool { return kind == "response" || kind == "revisit" }
