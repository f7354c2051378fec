package collection

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// archiveFiles are the files of the archive, in their order. WARC files that somebody put beside them are not.
func (c Collection) archiveFiles() (files []archiveFile, err error) {
	list, err := store.Numbered(c.ArchiveDir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	by := map[string][]archiveFile{}
	own := ""
	for _, f := range list {
		prefix, _, _ := store.NumberOf(filepath.Base(f.Path))
		by[prefix] = append(by[prefix], archiveFile{f.Path, f.Number, f.Size})
		if own == "" || len(by[prefix]) > len(by[own]) {
			own = prefix
		}
	}
	if len(by) > 1 {
		if named := store.PrefixOf(c.nameInLog()); by[named] != nil {
			own = named
		}
	}
	return by[own], err
}

// nameInLog is the name of the crawl, by the first line of its log; "" where that cannot be read.
func (c Collection) nameInLog() string {
	for e := range c.wholeLines() {
		s, _ := e.Event.(event.Started)
		return s.Name
	}
	return ""
}

// upTo leaves out files whose numbers are too high to be of an archive whose last turn ended in file mark: somebody
// put them there. A mark below 0 is not known: as many files as there are may be missing.
func upTo(mark int, files []archiveFile) []archiveFile {
	if mark < 0 {
		mark = len(files)
	}
	most := mark + len(files)
	return slices.DeleteFunc(files, func(f archiveFile) bool { return f.number > most })
}

// readArchive reads all of the archive, and makes the events that the log lacks.
func (r *repair) readArchive() (err error) {
	if r.files, err = r.w.archiveFiles(); err != nil {
		return err
	}
	last := -1
	if m := r.archiveMark; m.known {
		last = m.number
	}
	r.files = upTo(last, r.files)
	made, err := event.Open(r.madeLog(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	var done, total int64
	for _, f := range r.files {
		total += f.size
	}
	if err := r.checkFiles(); err != nil {
		return err
	}
	for _, f := range r.files {
		w := &walker{
			piece: func(p store.Piece) error {
				r.progress("archive", done+p.End, total)
				return errors.Join(r.ctx.Err(), r.piece(f, p))
			},
			exchange: func(x exchange, group []store.Piece) error { return r.exchange(f, x, group, made) },
			orphan:   r.orphan,
			headless: func(p store.Piece) error {
				r.headless = append(r.headless, p)
				return nil
			},
		}
		if err := w.walk(f.path, -1); err != nil {
			return err
		}
		done += f.size
	}
	r.settleRetries()
	return nil
}

// checkFiles looks whether the archive has all its files, reaches to the mark of the old
// frontier, and whether each file that another follows has its end.
func (r *repair) checkFiles() error {
	has := map[int]archiveFile{}
	r.lastFile = -1
	for _, f := range r.files {
		has[f.number] = f
		r.lastFile = max(r.lastFile, f.number)
	}
	if m := r.archiveMark; m.known && m.end > 0 {
		r.lastFile = max(r.lastFile, m.number)
		if f, ok := has[m.number]; ok && f.size < m.end {
			r.found("%s has %d of %d bytes", r.w.inFolder(f.path), f.size, m.end)
		}
	}
	for n := range r.lastFile + 1 {
		f, ok := has[n]
		if !ok {
			r.found("the archive's file with the number %05d is missing", n)
			r.absent = append(r.absent, n)
			continue
		}
		if n == r.lastFile {
			break // the crawl goes on in it
		}
		lacks, err := store.CheckEnd(f.path)
		var damage *store.Damage
		switch {
		case errors.As(err, &damage) && (lacks || f.size == 0):
			r.found("%s: %v", r.w.inFolder(f.path), damage.Err)
			r.withoutEnd[n] = lacks
		case err != nil && damage == nil:
			return err
		}
	}
	return nil
}

// behind tells whether a place in the archive is behind the old frontier's mark.
func (r *repair) behind(f archiveFile, at int64) bool {
	m := r.archiveMark
	return m.known && (f.number > m.number || f.number == m.number && at >= m.end)
}

func (r *repair) piece(f archiveFile, p store.Piece) error {
	if r.behind(f, p.Offset) && endsExchange(p) {
		r.exchanges++
	}
	if m := r.archiveMark; m.known && f.number == m.number && p.Offset < m.end && m.end < p.End {
		r.found("%s, offset %d: the last acknowledged record should end at byte %d, within this one", r.w.inFolder(f.path), p.Offset, m.end)
	}
	if p.Damage == nil {
		return nil
	}
	if !r.behind(f, p.Offset) {
		r.found("%s, offset %d: %v", r.w.inFolder(f.path), p.Offset, cause(p.Damage))
	}
	r.setAside(p)
	return nil
}

func (r *repair) setAside(p store.Piece) {
	r.spans[p.File] = append(r.spans[p.File], span{p.Offset, p.End})
}

// cause is an error without the place that a *store.Damage tells.
func cause(err error) error {
	var d *store.Damage
	if errors.As(err, &d) {
		return d.Err
	}
	return err
}

// exchange takes in a whole exchange. One that the log does not tell of gets an
// event, unless its turn was never acknowledged: its address waits in the old
// frontier, or that does not know it and the log has lost nothing. Then it is moved
// away, and the address is fetched again. Where the old frontier is lost, nobody
// knows where the log ended: what it does not tell of may have been cut off.
func (r *repair) exchange(f archiveFile, x exchange, group []store.Piece, made *event.Log) error {
	r.name(x.meta.Via)
	if x.meta.Reason == web.ReasonRobots && !x.meta.Page {
		return nil // a robots.txt by itself
	}
	behind := r.behind(f, x.at)
	h := hashOf(x.url)
	t := r.tallies[h]
	t.keep(x)
	if t.unlogged(x.meta.Page) <= 0 {
		r.tallies[h] = t
		return nil
	}
	u, err := web.Parse(x.url)
	if err != nil {
		return err
	}
	retried := !x.meta.Page && x.meta.Reason == web.ReasonStatus
	standing := r.standing(u)
	if standing == frontier.Waiting && !retried || standing == frontier.Unknown && !r.logLost && !r.endUnknown() {
		for _, p := range group {
			r.setAside(p)
		}
		return nil
	}
	e, err := r.eventOf(x)
	if isBodyGone(err) {
		r.loseExchange(x, group)
		return nil
	}
	if err != nil {
		return err
	}
	r.trouble = r.trouble || !behind
	if f, ok := e.(event.Failed); ok && standing == frontier.Waiting {
		f.Retry = true // so the frontier says: the turn was never acknowledged, or a seed waits again
		e = f
	}
	t.add(e)
	r.tallies[h] = t
	if f, ok := e.(event.Failed); ok && f.Retry {
		r.retried[h] = retry{f.URL, r.made}
	}
	r.made++
	_, err = made.Append(e)
	return err
}

// isBodyGone tells the error of reading a response that refers to an earlier round, where the
// archive of that is there and does not hold the body, or is not there. A folder that cannot
// be read, or a list of what earlier rounds know, is not that: it can be put back.
func isBodyGone(err error) bool {
	return errors.Is(err, ErrNoEarlier) && !errors.As(err, new(*knownError)) && !errors.As(err, new(*fs.PathError))
}

// loseExchange moves an exchange away whose body is gone: its address is lost.
func (r *repair) loseExchange(x exchange, group []store.Piece) {
	for _, p := range group {
		r.setAside(p)
	}
	r.trouble = true
	h := hashOf(x.url)
	t := r.tallies[h]
	t.final = true
	r.tallies[h] = t
	r.lose(x.url)
}

// endUnknown tells whether the old frontier is lost, and with it the mark of the log.
func (r *repair) endUnknown() bool { return r.logMark < 0 && r.turned }

// retry is a failure that was made of the archive, by its number among the events
// that were.
type retry struct {
	url    web.URL
	number int
}

// settleRetries decides which failures were the last of their address: the log
// does not tell of another, and the address is done.
func (r *repair) settleRetries() {
	for h, x := range r.retried {
		if t := r.tallies[h]; !t.final && r.remains.Standing(x.url) == frontier.Done {
			t.final = true
			r.tallies[h] = t
			r.finals[x.number] = true
		}
	}
}

// orphan takes in a response whose metadata cannot be read. The log may tell of
// it all the same. Otherwise it is moved away with the pieces that belong to it:
// an address that waits is fetched again, and so is one whose turn was never acknowledged or of which
// the archive alone tells; any other is lost.
func (r *repair) orphan(url string, group []store.Piece) error {
	h := hashOf(url)
	t := r.tallies[h]
	if t.missing() > 0 {
		t.keptBare++
		r.tallies[h] = t
		return nil
	}
	if t.free > 0 {
		return nil
	}
	for _, p := range group {
		r.setAside(p)
	}
	if u, err := web.Parse(url); err == nil && r.unacknowledged(u) {
		return nil
	}
	r.trouble = true
	t.final = true
	r.tallies[h] = t
	r.lose(url)
	return nil
}

// eventOf makes the event of an exchange that the log does not tell of: without
// the links that it queued.
func (r *repair) eventOf(x exchange) (event.Event, error) {
	p, mime, err := r.w.readExchange(x, &r.earlier)
	if err != nil {
		return nil, err
	}
	m := &x.meta
	at := event.At{At: x.date.Add(m.Took)}
	visit := event.Visit{URL: p.URL, From: m.Via, Link: m.Link, Depth: m.Depth, Priority: m.Priority}
	if m.Page {
		digest := xxh3.Hash128(p.Rendered().Body).Bytes()
		e := event.Fetched{
			At: at, Visit: visit, Status: p.Status, MIME: mime, Bytes: len(p.Raw), Took: m.Took.Seconds(),
			Title: clip(m.Title, 200), Language: m.Language, Digest: hex.EncodeToString(digest[:]),
			Relevance: m.Relevance, Similarity: m.Similarity, Relevant: m.Relevant, Reason: m.Reason,
			Directives: m.Directives, Truncated: p.Truncated != "", Cut: p.Truncated,
		}
		if m.Rendered {
			e.Rendered = &event.Rendered{Took: m.Rendering.Seconds(), Ended: m.Ended, AsSent: p.Rendering == nil}
		}
		body := hashOf(e.Digest)
		if _, twice := r.bodies[body]; twice {
			e.Reason = web.ReasonDuplicate
		}
		e.Relevant = e.Relevant && e.Reason == ""
		r.bodies[body] = struct{}{}
		return e, nil
	}
	e := event.Failed{
		At: at, Visit: visit, Reason: m.Reason, Detail: "made anew from the archive",
		Status: p.Status, Bytes: len(p.Raw), Took: m.Took.Seconds(),
	}
	switch {
	case m.Reason == web.ReasonRedirect:
		if e.To = p.Location; e.To.IsZero() {
			e.Reason = web.ReasonRedirectBad // its target is not known
			break
		}
		standing := r.remains.Standing(e.To)
		e.Queued = r.endUnknown() || standing == frontier.Waiting || standing == frontier.Done
	case m.Reason == web.ReasonStatus:
		e.Retry = passing(p.Status) // until settleRetries says otherwise
	}
	return e, nil
}

// passing tells statuses after which an address is tried again.
func passing(status int) bool {
	switch status {
	case 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// clip cuts a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

// readExchange reads the response of an exchange, its body by earlier where it refers to one.
func (c Collection) readExchange(x exchange, earlier *earlierRounds) (p *web.Response, mime string, err error) {
	f, err := os.Open(x.file)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	p, rec, err := store.NewReader(x.file, f, info.Size()).ResponseAt(x.at, 0, maxResponse)
	if err != nil {
		return nil, "", err
	}
	p, err = c.whole(earlier, p)
	return p, rec.Get("WARC-Identified-Payload-Type"), err
}

// replaceArchive writes the archive's files that lose pieces, or have lost their ends,
// and those pieces, and returns the changes that put them in place. Where the last file
// loses its end, it is cut.
func (r *repair) replaceArchive() (changes journal, err error) {
	for _, f := range r.files {
		spans := merged(r.spans[f.path])
		moved, err := r.moveAside(f, spans)
		if err != nil {
			return nil, err
		}
		changes = append(changes, moved...)
		keep, size := without(spans, f.size)
		rel := r.w.inFolder(f.path)
		switch followed := f.number < r.lastFile; {
		case followed && size == 0:
			r.absent = append(r.absent, f.number)
		case len(spans) == 0 && !r.withoutEnd[f.number]:
		case len(spans) == 1 && spans[0].to == f.size && !r.withoutEnd[f.number]:
			changes = append(changes, change{Kind: "cut", From: rel, Size: size})
			r.shorten(f.path, size)
		default:
			var end []byte
			if r.withoutEnd[f.number] {
				end = store.Closing(filepath.Base(f.path), r.last)
			}
			if err := copySpans(f.path, f.path+".new", keep, end); err != nil {
				return nil, err
			}
			changes = append(changes, change{Kind: "move", From: rel + ".new", To: rel})
			r.shorten(f.path, size+int64(len(end)))
		}
	}
	return changes, r.standIn(&changes)
}

// moveAside writes the pieces that a file loses to files of their own.
func (r *repair) moveAside(f archiveFile, spans []span) (changes journal, err error) {
	if len(spans) == 0 {
		return nil, nil
	}
	aside := filepath.Join(r.w.ArchiveDir(), "damaged")
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return nil, err
	}
	r.report.Aside = r.w.inFolder(aside)
	for _, s := range spans {
		name := vacantName(filepath.Join(aside, fmt.Sprintf("%s.%d-%d", filepath.Base(f.path), s.from, s.to)))
		if err := copySpans(f.path, name+".new", []span{s}, nil); err != nil {
			return nil, err
		}
		changes = append(changes, change{Kind: "move", From: r.w.inFolder(name + ".new"), To: r.w.inFolder(name)})
	}
	return changes, nil
}

// without is what spans leave of a file, and how many bytes that is.
func without(spans []span, size int64) (keep []span, kept int64) {
	at := int64(0)
	for _, s := range append(slices.Clip(spans), span{size, size}) {
		if s.from > at {
			keep = append(keep, span{at, s.from})
			kept += s.from - at
		}
		at = s.to
	}
	return keep, kept
}

// standIn lets a file of one record stand where one of the archive is missing or has
// nothing left, so that the others keep their numbers.
func (r *repair) standIn(changes *journal) error {
	if len(r.files) == 0 {
		return nil // a new archive begins
	}
	prefix, _, _ := store.NumberOf(filepath.Base(r.files[0].path))
	r.files = slices.DeleteFunc(r.files, func(f archiveFile) bool { return slices.Contains(r.absent, f.number) })
	for _, n := range r.absent {
		name := filepath.Join(r.w.ArchiveDir(), fmt.Sprintf("%s-%05d.warc.gz", prefix, n))
		b := store.Placeholder(filepath.Base(name), r.last)
		if err := folder.Write(name+".new", b); err != nil {
			return err
		}
		*changes = append(*changes, change{Kind: "move", From: r.w.inFolder(name + ".new"), To: r.w.inFolder(name)})
		r.files = append(r.files, archiveFile{name, n, int64(len(b))})
	}
	slices.SortFunc(r.files, func(a, b archiveFile) int { return cmp.Compare(a.number, b.number) })
	return nil
}

// vacantName is the name itself, or with a number where that is taken.
func vacantName(name string) string {
	out := name
	for i := 2; folder.Exists(out); i++ {
		out = fmt.Sprintf("%s.%d", name, i)
	}
	return out
}

// shorten notes the length that a file will have.
func (r *repair) shorten(path string, size int64) {
	for i := range r.files {
		if r.files[i].path == path {
			r.files[i].size = size
		}
	}
}

// merged puts spans that touch together.
func merged(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// copySpans writes pieces of a file to another, and end behind them.
func copySpans(from, to string, spans []span, end []byte) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	for _, s := range spans {
		if _, err := io.Copy(dst, io.NewSectionReader(src, s.from, s.to-s.from)); err != nil {
			return err
		}
	}
	if _, err := dst.Write(end); err != nil {
		return err
	}
	return dst.Sync()
}
