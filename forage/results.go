package forage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/web"
)

// Sites are the start pages of a file, "" for none, as ReadSites reads it, and those of
// addresses that it does not have. notes are the lines that were left out.
func Sites(file string, addresses []string) (sites []web.URL, notes []string, err error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, nil, err
		}
		sites, notes, err = ReadSites(f, file)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, nil, err
		}
	}
	for _, s := range addresses {
		u, err := web.Given(s)
		if err != nil {
			return nil, notes, err
		}
		if !slices.Contains(sites, u) {
			sites = append(sites, u)
		}
	}
	if len(sites) == 0 {
		return nil, notes, errors.New("no site: give start pages, or a file of them with -f")
	}
	return sites, notes, nil
}

// ReadSites reads start pages, one a line; what follows white space is a remark,
// and # begins a comment. An address may lack its scheme; see web.WithScheme, and a
// name with a dot in it is taken whatever its top-level domain. Lines that are
// no address are told, with their number, and left out; so is an address that
// stands there twice.
func ReadSites(r io.Reader, name string) (sites []web.URL, problems []string, err error) {
	seen := map[web.URL]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		address := web.WithScheme(strings.Fields(line)[0])
		var u web.URL
		var err error
		if web.HasCredentials(address) {
			err = web.ErrCredentials
		} else if strings.Contains(address, "://") {
			u, err = web.Parse(address)
		} else if host := address[:strings.IndexAny(address+"/", "/?#")]; strings.Contains(host, "@") || !strings.ContainsAny(host, ".[") && !strings.HasPrefix(host, "localhost") {
			err = fmt.Errorf("%q is no address: write https:// before it, if it is the name of a host", address)
		} else {
			u, err = web.Parse("https://" + address)
		}
		switch first, twice := seen[u]; {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s:%d: %v; the line is left out", name, n, err))
		case twice:
			problems = append(problems, fmt.Sprintf("%s:%d: %s stands in line %d already", name, n, u, first))
		default:
			seen[u] = n
			sites = append(sites, u)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return sites, problems, nil
}

// Run forages sites, so many at a time, and tells of each result as it comes,
// one at a time. What goes wrong at a site does not touch the others; the error
// is ctx's or done's.
func (f *Forager) Run(ctx context.Context, sites []web.URL, workers int, done func(Result) error) error {
	var mu sync.Mutex
	pool, ctx := errgroup.WithContext(ctx)
	pool.SetLimit(max(1, workers))
	for _, u := range sites {
		pool.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r, err := f.Site(ctx, u)
			if err != nil {
				r.Ending, r.Note = Stopped, "stopped before its end"
				if ctx.Err() == nil {
					r.Note = event.Line(err.Error())
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err := done(r); err != nil {
				return err
			}
			return ctx.Err()
		})
	}
	return pool.Wait()
}

// Results are those of a run, kept in a folder:
//
//	forage.txt      what they are of
//	results.jsonl   a Result a line, as sites ended: what a later run goes on from
//	goals.tsv       site, goal, pages spent, worth, the path that led there
//	sites.tsv       site, ending, goals, pages of the first, pages, failed, note
//
// The tables are written from all results: first those of the sites of this run,
// in their order, then those of earlier runs.
type Results struct {
	dir  string
	file *os.File
	by   map[web.URL]Result
	came []web.URL // keys of by, as they first came
}

// OpenResults opens a folder, which is made if it is not there. A last line that
// was cut short, as by a power failure, is cut off; its site is foraged again. task
// says what the results are of, in lines: a folder with those of another task is
// refused, with a job.Mistake.
func OpenResults(dir, task string) (*Results, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "forage.txt")
	switch was, err := os.ReadFile(name); {
	case errors.Is(err, fs.ErrNotExist):
		if err := folder.Write(name, []byte(task)); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case string(was) != task:
		return nil, job.Mistake{Err: fmt.Errorf("%s holds results of another model or other settings (see %s): choose another folder, or give the same", dir, name)}
	}
	r := &Results{dir: dir, by: map[web.URL]Result{}}
	path := filepath.Join(dir, "results.jsonl")
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	n := 0
	for line := range bytes.Lines(whole) {
		n++
		var x Result
		if err := json.Unmarshal(line, &x); err != nil || x.Start.IsZero() || slices.ContainsFunc(x.Goals, func(g Goal) bool { return len(g.Path) == 0 }) {
			return nil, fmt.Errorf("%s:%d is no result: remove the line to forage its site again", path, n)
		}
		r.keep(x)
	}
	if r.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, err
	}
	if err := r.file.Truncate(int64(len(whole))); err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	if _, err := r.file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	return r, nil
}

func (r *Results) keep(x Result) {
	if _, ok := r.by[x.Start]; !ok {
		r.came = append(r.came, x.Start)
	}
	r.by[x.Start] = x
}

// Has tells whether a site needs no foraging: there is a result, and the site was
// not stopped, nor down: it may be up again.
func (r *Results) Has(u web.URL) bool {
	x, ok := r.by[u]
	return ok && x.Ending != Stopped && x.Ending != Down
}

// Add keeps a result.
func (r *Results) Add(x Result) error {
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if _, err := r.file.Write(append(b, '\n')); err != nil {
		return err
	}
	r.keep(x)
	return nil
}

// Of are the results of sites, in their order, without those that have none.
func (r *Results) Of(sites []web.URL) (out []Result) {
	for _, u := range sites {
		if x, ok := r.by[u]; ok {
			out = append(out, x)
		}
	}
	return out
}

// Close writes the tables, sites first, and closes the file.
func (r *Results) Close(sites []web.URL) error {
	order, listed := slices.Clone(sites), make(map[web.URL]bool, len(sites))
	for _, u := range sites {
		listed[u] = true
	}
	for _, u := range r.came {
		if !listed[u] {
			order = append(order, u)
		}
	}
	all := r.Of(order)
	err := errors.Join(r.file.Sync(), r.file.Close())
	for name, write := range map[string]func(io.Writer, []Result) error{"goals.tsv": WriteGoals, "sites.tsv": WriteSites} {
		err = errors.Join(err, folder.WriteFrom(filepath.Join(r.dir, name), func(w io.Writer) error { return write(w, all) }))
	}
	return err
}

// WriteGoals writes a line for each goal: site, goal, pages fetched until then,
// worth, whether the page alone is taken for a goal too, and the path from the
// start page on, as "milestone address", or "address" where it is none.
func WriteGoals(w io.Writer, results []Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "site\tgoal\tpages\tworth\talone\tpath")
	for _, r := range results {
		for _, g := range r.Goals {
			var steps []string
			for _, s := range g.Path {
				steps = append(steps, strings.TrimSpace(fmt.Sprintf("%s %s", event.Line(s.Milestone()), s.URL)))
			}
			fmt.Fprintf(b, "%s\t%s\t%d\t%.4f\t%t\t%s\n", r.Start, g.URL(), g.Pages, g.Worth, g.Alone, event.Cell(strings.Join(steps, " > ")))
		}
	}
	return b.Flush()
}

// WriteSites writes a line for each site.
func WriteSites(w io.Writer, results []Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "site\tending\tgoals\tpages to the first\tpages\tfailed\tnote")
	for _, r := range results {
		first := ""
		if len(r.Goals) > 0 {
			first = fmt.Sprint(r.Goals[0].Pages)
		}
		fmt.Fprintf(b, "%s\t%s\t%d\t%s\t%d\t%d\t%s\n", r.Start, r.Ending, len(r.Goals), first, r.Pages, r.Failed, event.Cell(r.Note))
	}
	return b.Flush()
}
