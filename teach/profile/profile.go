// Package profile reads click trails out of the histories that browsers keep:
// Firefox's places.sqlite and Chromium's History, in which each visit knows the
// visit it came from.
//
// The browser may be running, and then holds its database locked, with the
// latest visits in a write-ahead log beside it. So nothing is read in place:
// the database is copied with its log into a folder of its own, read there, and
// the copy is removed: where the program was killed, when the next one is made.
// Only visits to the sites asked for are kept, from the first line on; nothing
// is written elsewhere and nothing leaves the machine.
package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/web"
)

// Options say what to read.
type Options struct {
	// Sites are hosts or addresses, at least one: a site is its host and those
	// below it ("example.org" is also www.example.org).
	Sites []string
	Canon web.Canon
	// Temp is where the copy is made; "" = the system's folder for such.
	Temp string
}

// Found is what a history held of the sites.
type Found struct {
	Browser string // "firefox" or "chromium"
	Version int    // of its schema
	Copied  []string
	Visits  int // to the sites
	// Behind says that the database writes ahead to a log that was not beside
	// it: so it is when its browser was ended, and in a copy that lacks the
	// latest visits.
	Behind bool
	// Paths are the ways gone through each site, without labels: each once,
	// none that another goes on from, none of a single page.
	Paths []paths.Path
}

// copies begins the names of the folders that copies are made in.
const copies = "waggle-profile-"

// Read reads the history in file, which may also be the folder of a profile.
func Read(ctx context.Context, file string, o Options) (f Found, err error) {
	sites, err := Sites(o.Sites)
	if err != nil {
		return f, err
	}
	if file, err = find(file); err != nil {
		return f, err
	}
	dir, remove, err := folder.Temp(o.Temp, copies)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	copied, err := copyQuiet(file, filepath.Join(dir, "copy"))
	if err != nil {
		return f, err
	}
	f.Copied = copied
	if f.Behind, err = behind(dir, copied, file); err != nil {
		return f, err
	}
	conn, err := sqlite.OpenConn(filepath.Join(dir, "copy"), sqlite.OpenReadWrite)
	if err != nil {
		return f, fmt.Errorf("%s: a copy of it cannot be opened as a database: %w", file, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	h, err := recognise(conn, file)
	if err != nil {
		return f, err
	}
	f.Browser, f.Version = h.browser, h.version
	rows, moved, err := h.rows(conn, sites, o.Canon)
	if err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	f.Visits = len(rows)
	f.Paths, err = ways(rows, moved, h.browser)
	return f, err
}

// behind tells whether a database of which a copy is in dir was left without
// its log. Bytes 18 and 19 of a database are 2 where it has one.
func behind(dir string, copied []string, file string) (bool, error) {
	if slices.Contains(copied, file+"-wal") {
		return false, nil
	}
	in, err := os.Open(filepath.Join(dir, "copy"))
	if err != nil {
		return false, err
	}
	defer in.Close()
	var head [20]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return false, nil // no database: what is read next says so
	}
	return head[18] == 2, nil
}

// Names are the host names of sites. A site is its host and those below it.
type Names []string

// Sites makes names of what a person gives as sites: hosts or addresses. It is
// an error to give none, or a name under which there are many sites.
func Sites(given []string) (out Names, err error) {
	if len(given) == 0 {
		return nil, errors.New("no site is named: a history is read only for sites that are")
	}
	for _, s := range given {
		addr := s
		if !strings.Contains(s, "://") {
			addr = "http://" + s
		}
		u, err := web.Parse(addr)
		if err != nil {
			return nil, fmt.Errorf("site %q: %w", s, err)
		}
		name := u.Host().Name()
		if !strings.Contains(name, ".") && name != "localhost" && !strings.HasPrefix(name, "[") {
			return nil, fmt.Errorf("site %q: that is no single site; name one such as example.org", s)
		}
		out = append(out, name)
	}
	return out, nil
}

// Of is the named site to which an address belongs, "" = none: the longest name
// where several fit.
func (n Names) Of(u web.URL) (site string) {
	name := u.Host().Name()
	for _, s := range n {
		if (name == s || strings.HasSuffix(name, "."+s)) && len(s) > len(site) {
			site = s
		}
	}
	return site
}

// find is the database of a profile.
func find(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return file, nil
	}
	for _, name := range []string{"places.sqlite", "History", filepath.Join("Default", "History")} {
		if _, err := os.Stat(filepath.Join(file, name)); err == nil {
			return filepath.Join(file, name), nil
		}
	}
	return "", fmt.Errorf("%s holds neither places.sqlite (Firefox) nor History (Chromium): name the folder of one profile, or the file itself", file)
}

// companions of a database hold what was committed last, or what is to be
// rolled back.
var companions = [...]string{"", "-wal", "-journal"}

// maxTries bounds how often a copy is made anew because the browser wrote to
// the files meanwhile.
const maxTries = 5

// copyQuiet copies a database and its companions so that they belong together:
// the files were the same before and after. It returns what was copied.
func copyQuiet(file, to string) ([]string, error) {
	type mark struct {
		there bool
		size  int64
		time  time.Time
	}
	look := func() (m [len(companions)]mark, err error) {
		for i, c := range companions {
			info, err := os.Stat(file + c)
			switch {
			case errors.Is(err, fs.ErrNotExist) && c != "":
			case err != nil:
				return m, err
			default:
				m[i] = mark{true, info.Size(), info.ModTime()}
			}
		}
		return m, nil
	}
	for range maxTries {
		before, err := look()
		if err != nil {
			return nil, err
		}
		var copied []string
		for i, c := range companions {
			if err := os.Remove(to + c); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if !before[i].there {
				continue
			}
			if err := copyFile(file+c, to+c); errors.Is(err, fs.ErrNotExist) {
				continue // gone meanwhile: the comparison shows
			} else if err != nil {
				return nil, err
			}
			copied = append(copied, file+c)
		}
		after, err := look()
		if err != nil {
			return nil, err
		}
		if before == after {
			return copied, nil
		}
	}
	return nil, fmt.Errorf("%s changed while it was copied, %d times: close the browser and try again", file, maxTries)
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// row is one visit.
type row struct {
	id, from int64
	url      web.URL
	site     string
	redirect bool // it was come to because the visit it came from moved
	again    bool // by the browser's back or forward, from nowhere
}

// history is a database of which we know how to read it.
type history struct {
	browser string
	version int
	query   string
	// is tells from the type of a visit what it was.
	is func(kind int64) kind
}

// kind is what a visit was.
type kind struct {
	seen     bool // as a page that a person went to
	redirect bool // a redirect led there
	again    bool // back or forward did
}

// Types of visits in Firefox (nsINavHistoryService): embedded things, downloads
// and frames are no pages a person went to; redirects come from the visit that
// moved.
const (
	firefoxEmbed     = 4
	firefoxMoved     = 5
	firefoxMovedTemp = 6
	firefoxDownload  = 7
	firefoxFrame     = 8
)

// Transitions in Chromium (ui/base/page_transition_types.h): the low byte is
// how a page was come to, the high ones what happened on the way.
const (
	chromiumCore           = 0xff
	chromiumAutoSubframe   = 3
	chromiumManualSubframe = 4
	chromiumForwardBack    = 0x01000000
	chromiumClientRedirect = 0x40000000
	chromiumServerRedirect = 0x80000000
)

// recognise finds out whose history a database is.
func recognise(conn *sqlite.Conn, file string) (h history, err error) {
	columns := func(table string) (names []string, err error) {
		err = sqlitex.Execute(conn, "SELECT name FROM pragma_table_info(?)", &sqlitex.ExecOptions{
			Args:       []any{table},
			ResultFunc: func(s *sqlite.Stmt) error { names = append(names, s.ColumnText(0)); return nil },
		})
		return names, err
	}
	number := func(query string) (n int, err error) {
		err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			ResultFunc: func(s *sqlite.Stmt) error { n = s.ColumnInt(0); return nil },
		})
		return n, err
	}
	lacks := func(table string, have []string, want ...string) error {
		for _, c := range want {
			if !slices.Contains(have, c) {
				return fmt.Errorf("%s: the history of %s with schema version %d is not known here: its table %s lacks the column %s. Export what you need as a file of paths instead", file, h.browser, h.version, table, c)
			}
		}
		return nil
	}
	moz, err := columns("moz_historyvisits")
	if err != nil {
		return h, fmt.Errorf("%s: this is no database a browser keeps, or it is damaged: %w", file, err)
	}
	visits, err := columns("visits")
	if err != nil {
		return h, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case len(moz) > 0:
		places, err := columns("moz_places")
		if err != nil {
			return h, fmt.Errorf("%s: %w", file, err)
		}
		h.browser = "firefox"
		if h.version, err = number("PRAGMA user_version"); err != nil {
			return h, fmt.Errorf("%s: %w", file, err)
		}
		h.query = `SELECT v.id, v.from_visit, p.url, v.visit_type FROM moz_historyvisits v JOIN moz_places p ON p.id = v.place_id ORDER BY v.visit_date, v.id`
		// Going back is no visit there: the next link comes from the page gone
		// back to.
		h.is = func(k int64) kind {
			return kind{seen: k != firefoxEmbed && k != firefoxDownload && k != firefoxFrame, redirect: k == firefoxMoved || k == firefoxMovedTemp}
		}
		return h, errors.Join(lacks("moz_historyvisits", moz, "id", "from_visit", "place_id", "visit_type", "visit_date"), lacks("moz_places", places, "id", "url"))
	case len(visits) > 0:
		urls, err := columns("urls")
		if err != nil {
			return h, fmt.Errorf("%s: %w", file, err)
		}
		h.browser = "chromium"
		if meta, err := columns("meta"); err == nil && slices.Contains(meta, "value") {
			if h.version, err = number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'version'"); err != nil {
				return h, fmt.Errorf("%s: %w", file, err)
			}
		}
		from := "v.from_visit"
		if slices.Contains(visits, "opener_visit") { // a link opened in a new tab
			from = "CASE WHEN v.from_visit > 0 THEN v.from_visit ELSE COALESCE(v.opener_visit, 0) END"
		}
		h.query = `SELECT v.id, ` + from + `, u.url, v.transition FROM visits v JOIN urls u ON u.id = v.url ORDER BY v.visit_time, v.id`
		h.is = func(k int64) kind {
			core := k & chromiumCore
			return kind{
				seen:     core != chromiumAutoSubframe && core != chromiumManualSubframe,
				redirect: k&(chromiumClientRedirect|chromiumServerRedirect) != 0, again: k&chromiumForwardBack != 0,
			}
		}
		return h, errors.Join(lacks("visits", visits, "id", "from_visit", "url", "transition", "visit_time"), lacks("urls", urls, "id", "url"))
	default:
		return h, fmt.Errorf("%s: the database holds no history: neither moz_historyvisits (Firefox) nor visits (Chromium)", file)
	}
}

// rows reads the visits to sites, in order of time. moved are the visits of
// any site that a redirect led away from: of the others only these numbers are
// kept.
func (h *history) rows(conn *sqlite.Conn, sites Names, canon web.Canon) (out []row, moved map[int64]bool, err error) {
	moved = map[int64]bool{}
	err = sqlitex.ExecuteTransient(conn, h.query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		is := h.is(s.ColumnInt64(3))
		if !is.seen {
			return nil
		}
		if is.redirect {
			moved[s.ColumnInt64(1)] = true
		}
		u, err := canon.Parse(s.ColumnText(2))
		if err != nil {
			return nil // a page of the browser's own, a file, a mail address
		}
		site := sites.Of(u)
		if site == "" {
			return nil
		}
		out = append(out, row{id: s.ColumnInt64(0), from: s.ColumnInt64(1), url: u, site: site, redirect: is.redirect, again: is.again})
		return nil
	}})
	return out, moved, err
}

// ways makes paths of visits. A visit that moved to another is not a page of
// its own: the link went, by way of its address, to where it moved. Nor is one
// that went back or forward: it stands for the last visit to that page.
func ways(rows []row, moved map[int64]bool, browser string) ([]paths.Path, error) {
	at := make(map[int64]int, len(rows)) // visit → row
	for i, r := range rows {
		at[r.id] = i
	}
	latest := map[web.URL]int{} // page → its last visit in the trail
	trail := make([]paths.Visit, 0, len(rows))
	place := make(map[int64]int, len(rows)) // visit → its index in the trail
	for i, r := range rows {
		if moved[r.id] {
			continue
		}
		if k, ok := latest[r.url]; ok && r.again && r.from == 0 {
			place[r.id] = k
			continue
		}
		v := paths.Visit{URL: r.url, From: -1}
		// Back along redirects to the visit where a link was clicked.
		from, redirect, j := r.from, r.redirect, i
		for redirect {
			k, ok := at[from]
			if !ok || k >= j {
				from = 0
				break
			}
			v.Via = rows[k].url
			from, redirect, j = rows[k].from, rows[k].redirect, k
		}
		if k, ok := place[from]; ok && rows[at[from]].site == r.site {
			v.From = k
		}
		place[r.id], latest[r.url] = len(trail), len(trail)
		trail = append(trail, v)
	}
	sites := make(map[string]string, len(rows))
	for _, r := range rows {
		sites[r.url.String()] = r.site
	}
	all, err := paths.Unfold(trail)
	if err != nil {
		return nil, err
	}
	// Longest first, so that what another goes on from is known when it comes.
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(all[b]) - len(all[a]) })
	begun := map[string]bool{}
	keep := make([]bool, len(all))
	for _, i := range order {
		var key strings.Builder
		keys := make([]string, len(all[i]))
		for j, s := range all[i] {
			key.WriteString(s.URL.String() + "\n")
			keys[j] = key.String()
		}
		if len(keys) < 2 || begun[keys[len(keys)-1]] {
			continue
		}
		keep[i] = true
		for _, k := range keys {
			begun[k] = true
		}
	}
	var out []paths.Path
	for i, steps := range all {
		if keep[i] {
			out = append(out, paths.Path{Site: sites[steps[0].URL.String()], Source: browser, Steps: steps})
		}
	}
	return out, nil
}
