package corpus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"

	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/store"
	"github.com/waggle-crawler/waggle/web"
)

// Names within an exchange folder.
const (
	pagesName   = "pages.jsonl.zst"
	plainName   = "pages.jsonl"
	aliasesName = "aliases.tsv"
	labelsName  = "labels.tsv"
)

// maxLine bounds a line of an exchange folder's pages, in bytes.
const maxLine = 256 << 20

// Exchange is a folder in which recorded pages are handed on:
//
//	web.yaml         as of a recorded web
//	pages.jsonl.zst  {"url":…,"status":…,"content_type":…,"body":…} a line, and
//	                 at will "fetched" and "last_modified" (RFC 3339 or HTTP);
//	                 or pages.jsonl, the same without compression
//	aliases.tsv      another spelling of an address, tab, the recorded address
//	truth/TOPIC.txt  as of a recorded web
//	labels.tsv       address, tab, whatever: copied
//
// Addresses become canonical everywhere, aliases become redirects. Bodies are
// text in UTF-8, so text types are recorded as such, whatever charset the
// document itself names.
type Exchange struct{ Dir string }

func (x Exchange) describe(b *builder) error {
	m, err := readManifest(filepath.Join(x.Dir, manifestName))
	if err != nil {
		return fmt.Errorf("exchange folder %s: %w", x.Dir, err)
	}
	b.total = m.Pages
	b.built.Manifest = m
	return nil
}

func (x Exchange) feed(ctx context.Context, b *builder) error {
	if err := x.pages(ctx, b); err != nil {
		return err
	}
	return x.aliases(ctx, b)
}

// exchangeLine is a line of pages.jsonl.
type exchangeLine struct {
	URL          string  `json:"url"`
	Status       int     `json:"status"`
	ContentType  string  `json:"content_type"`
	Body         *string `json:"body"`
	Fetched      string  `json:"fetched"`
	LastModified string  `json:"last_modified"`
}

func (x Exchange) pages(ctx context.Context, b *builder) error {
	path := filepath.Join(x.Dir, pagesName)
	f, err := os.Open(path)
	plain := errors.Is(err, fs.ErrNotExist)
	if plain {
		path = filepath.Join(x.Dir, plainName)
		f, err = os.Open(path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if !plain {
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		in = z
	}
	br := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := readLine(br)
		if err == io.EOF {
			return nil
		}
		from := fmt.Sprintf("%s, line %d", path, n)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := b.put(ctx, func() result { return x.page(b, from, line) }); err != nil {
			return err
		}
	}
}

// readLine reads a line into memory of its own.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(line) > 0, err == nil:
			return line, nil
		default:
			return nil, err
		}
	}
}

func (x Exchange) page(b *builder, from string, line []byte) result {
	fail := func(err error) result { return result{err: fmt.Errorf("%s: %w", from, err)} }
	var e exchangeLine
	if err := json.Unmarshal(line, &e); err != nil {
		return fail(err)
	}
	u, err := web.Parse(e.URL)
	if err != nil {
		return fail(err)
	}
	if e.Status < 200 || e.Status > 599 {
		return fail(fmt.Errorf("status %d is not in 200…599", e.Status))
	}
	if e.Body == nil {
		return fail(errors.New("body is missing"))
	}
	at := b.now
	if t, ok := parseTime(e.Fetched); ok {
		at = t
	}
	modified, _ := parseTime(e.LastModified)
	return b.page(from, u, e.Status, inUTF8(e.ContentType), modified, at, []byte(*e.Body))
}

// parseTime reads a moment as RFC 3339 or HTTP have it.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.RFC1123, time.RFC850, time.ANSIC, "Monday, 02-Jan-06 15:04:05 MST"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// inUTF8 puts the charset of text in UTF-8 into its content type.
func inUTF8(contentType string) string {
	mime, _, _ := strings.Cut(contentType, ";")
	mime = strings.TrimSpace(mime)
	if strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "xml") {
		return mime + "; charset=utf-8"
	}
	return contentType
}

func (x Exchange) aliases(ctx context.Context, b *builder) error {
	path := filepath.Join(x.Dir, aliasesName)
	return eachLine(path, func(n int, line string) error {
		from := fmt.Sprintf("%s, line %d", path, n)
		alias, target, ok := strings.Cut(line, "\t")
		if !ok {
			return fmt.Errorf("%s: want two addresses with a tab between them", from)
		}
		u, e1 := web.Parse(alias)
		to, e2 := web.Parse(target)
		if err := errors.Join(e1, e2); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if u == to {
			return nil // one address, once canonical
		}
		return b.put(ctx, func() result { return b.redirect(from, u, to) })
	})
}

// eachLine reads a text file that may be absent, without its empty lines.
func eachLine(path string, do func(n int, line string) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			continue
		}
		if err := do(n, line); err != nil {
			return err
		}
	}
	return nil
}

// finish writes truth and labels in canonical addresses.
func (x Exchange) finish(b *builder) error {
	for i := range b.built.Manifest.Topics {
		t := &b.built.Manifest.Topics[i]
		if t.Truth == "" {
			continue
		}
		list, err := readAddresses(filepath.Join(x.Dir, filepath.FromSlash(t.Truth)))
		if err != nil {
			return fmt.Errorf("topic %s: %w", t.Name, err)
		}
		said := t.Relevant
		if err := b.truth(t, list); err != nil {
			return err
		}
		if said != 0 && t.Relevant != said {
			b.note("topic %s: %s says %d relevant, its truth has %d addresses", t.Name, manifestName, said, t.Relevant)
		}
	}
	return x.labels(b)
}

// truth writes the relevant addresses of a topic into the file it names, each
// once, and counts them.
func (b *builder) truth(t *Topic, list []web.URL) error {
	var out strings.Builder
	seen := map[web.URL]bool{}
	absent := 0
	for _, u := range list {
		if seen[u] {
			continue
		}
		seen[u] = true
		if !b.seen[u] {
			absent++
		}
		out.WriteString(u.String() + "\n")
	}
	if absent > 0 {
		b.note("topic %s: %d of %d relevant addresses are not recorded", t.Name, absent, len(seen))
	}
	t.Relevant = len(seen)
	file := filepath.Join(b.dir, filepath.FromSlash(t.Truth))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

func (x Exchange) labels(b *builder) error {
	path := filepath.Join(x.Dir, labelsName)
	var out strings.Builder
	err := eachLine(path, func(n int, line string) error {
		address, rest, _ := strings.Cut(line, "\t")
		u, err := web.Parse(address)
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		out.WriteString(u.String() + "\t" + rest + "\n")
		return nil
	})
	if err != nil || out.Len() == 0 {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, labelsName), []byte(out.String()), 0o644)
}

// WARCs are WARC files of any tool, and folders of them. All records are kept
// as they are; damaged ones are left out and noted.
type WARCs struct{ Paths []string }

func (x WARCs) feed(ctx context.Context, b *builder) error {
	var files []string
	for _, path := range x.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		list, err := store.Paths(path)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("%s: no WARC files in it", path)
		}
		files = append(files, list...)
	}
	revisits, err := x.records(ctx, b, files, nil)
	if err != nil {
		return err
	}
	if revisits > 0 {
		b.note("%s hold no body: they are kept, and not served", terminal.Count(revisits, "revisit record"))
	}
	return nil
}

// read is a record with its block.
type read struct {
	*store.Record
	block []byte
}

// records hands over the records of files: a rendering together with the response that follows,
// whose file it has to be in. A revisit becomes a response where bodies has what it refers to, and
// is left as it is otherwise. Those are counted.
func (x WARCs) records(ctx context.Context, b *builder, files []string, bodies *earlierBodies) (revisits int, err error) {
	var unit []read // at most one, a rendering, between two steps
	put := func() error {
		one := unit
		unit = nil
		if len(one) == 0 {
			return nil
		}
		return b.put(ctx, func() result { return x.unit(b, one) })
	}
	for rec, err := range store.Records(files...) {
		var block []byte
		if err == nil && rec.Length > maxBody {
			b.note("%s, offset %d: a record of %d bytes: left out", rec.File, rec.Offset, rec.Length)
			continue
		}
		if err == nil {
			block, err = io.ReadAll(rec.Block)
		}
		if damage := (*store.Damage)(nil); errors.As(err, &damage) {
			b.note("damaged, left out: %v", damage)
			continue
		}
		if err != nil && rec != nil {
			continue // the next step tells the damage
		}
		if err != nil {
			return 0, err
		}
		one := read{rec, block}
		if rec.Type() == "revisit" {
			var found bool
			if one, found = bodies.whole(one); !found {
				revisits++
			}
		}
		if len(unit) > 0 && (rec.Type() != "response" && rec.Type() != "revisit" || unit[0].Get("WARC-Refers-To") != rec.Get("WARC-Record-ID")) {
			if err := put(); err != nil {
				return 0, err
			}
		}
		if unit = append(unit, one); rec.Type() == "conversion" {
			continue
		}
		if err := put(); err != nil {
			return 0, err
		}
	}
	return revisits, put()
}

// unit renders records that follow one another in one file: the last one says what they are of.
func (WARCs) unit(b *builder, records []read) (r result) {
	r.again = true
	for _, rec := range records {
		r.from = fmt.Sprintf("%s, offset %d", rec.File, rec.Offset)
		if t := rec.Type(); t == "response" || t == "resource" {
			r.url, _ = web.Parse(rec.Target()) // zero: dns: and the like
		}
		r.record = append(r.record, b.archive.Copy(rec.Record, rec.block)...)
	}
	return r
}

// Recorded is a recorded web: it is kept with its topics, truth and labels.
type Recorded struct{ Dir string }

func (x Recorded) describe(b *builder) error {
	m, err := readManifest(filepath.Join(x.Dir, manifestName))
	b.built.Manifest = m
	return err
}

func (x Recorded) feed(ctx context.Context, b *builder) error {
	return WARCs{[]string{x.Dir}}.feed(ctx, b)
}

func (x Recorded) finish(b *builder) error { return Exchange(x).finish(b) }

// Names within the folder of a crawl.
const (
	crawlArchive = "archive"
	crawlJob     = "job.yaml"
)

// Crawl is the folder of a crawl: its archive, its rules for addresses and, as
// the one topic, what its job asked for. Of a round the bodies that have not changed since
// are those of earlier rounds. What the crawl's judge held relevant is no truth, so the topic
// has none.
type Crawl struct{ Dir string }

// job is what a topic is made of, of all that job.yaml may hold.
type job struct {
	Name  string   `yaml:"name"`
	Seeds []string `yaml:"seeds"`
	Topic struct {
		Description string   `yaml:"description"`
		Keywords    []string `yaml:"keywords"`
		Language    []string `yaml:"language"`
		Examples    []string `yaml:"examples"`
	} `yaml:"topic"`
	Addresses struct {
		KeepSessions bool `yaml:"keep-session-ids"`
		KeepTracking bool `yaml:"keep-tracking"`
	} `yaml:"addresses"`
}

func (x Crawl) describe(b *builder) error {
	path := filepath.Join(x.Dir, crawlJob)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		b.note("%s is absent: the web has no topic, and by which rules addresses were read is not known", path)
		return nil
	}
	if err != nil {
		return err
	}
	var j job
	if err := yaml.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if j.Name == "" {
		j.Name = "crawl"
	}
	m := &b.built.Manifest
	m.Addresses = Addresses{StripSessions: !j.Addresses.KeepSessions, StripTracking: !j.Addresses.KeepTracking}
	var seeds, examples []web.URL
	for _, s := range j.Seeds {
		full := web.WithScheme(s)
		if u, err := m.Canon().Parse(full); err == nil {
			if seeds = append(seeds, u); full != s && u.Scheme() == "https" {
				b.bare = append(b.bare, u)
			}
		}
	}
	for _, s := range j.Topic.Examples {
		if u, err := m.Canon().Parse(s); err == nil { // they may be files
			examples = append(examples, u)
		}
	}
	m.Description = "Recorded by a crawl: " + j.Name
	codes, without := languageCodes(j.Topic.Language)
	if len(without) > 0 {
		b.note("%s: languages of the topic without a code by ISO 639-1 are left out of its manifest: %s", path, strings.Join(without, ", "))
	}
	m.Topics = []Topic{{
		Name: j.Name, Description: j.Topic.Description, Keywords: j.Topic.Keywords, Language: codes,
		Seeds: seeds, Examples: examples,
	}}
	return nil
}

// finish gives seeds that were given without a scheme that of the record: a crawl asks for
// them by http where https fails.
func (x Crawl) finish(b *builder) error {
	for i := range b.built.Manifest.Topics {
		seeds := b.built.Manifest.Topics[i].Seeds
		for k, u := range seeds {
			plain, err := b.built.Manifest.Canon().Parse("http" + strings.TrimPrefix(u.String(), "https"))
			if err == nil && slices.Contains(b.bare, u) && !b.seen[u] && b.seen[plain] {
				seeds[k] = plain
			}
		}
	}
	return nil
}

// languageCodes are the codes by ISO 639-1 of languages that a job names by BCP 47 tags, such as
// "de-AT", each once, and the tags that have none.
func languageCodes(tags []string) (codes, without []string) {
	for _, tag := range tags {
		t, err := language.Parse(tag)
		base, sure := t.Base()
		switch code := base.String(); {
		case err != nil || sure != language.Exact || len(code) != 2:
			without = append(without, tag)
		case !slices.Contains(codes, code):
			codes = append(codes, code)
		}
	}
	return codes, without
}

// Made is a web whose pages come from code.
type Made struct {
	// Manifest describes it. Counts are counted, and the files of truth named,
	// when it is built; Synthetic is for the code to say.
	Manifest Manifest
	// Truth holds the relevant addresses of topics, by the topic's name. A
	// topic without any keeps no truth.
	Truth map[string][]web.URL
	// Pages yields the responses in the order they are recorded in; they must
	// not change afterwards. An error ends the build.
	Pages iter.Seq2[*web.Response, error]
	// Date is the moment the files name, so that equal pages give equal files;
	// zero = Options.Now.
	Date time.Time
}

func (x Made) describe(b *builder) error {
	m := x.Manifest
	m.Topics = slices.Clone(m.Topics)
	topics := map[string]string{} // by the file of truth
	for i := range m.Topics {
		t := &m.Topics[i]
		t.Truth, t.Relevant = "", 0
		if len(x.Truth[t.Name]) == 0 {
			continue
		}
		t.Truth = "truth/" + fileName(t.Name) + ".txt"
		if other, taken := topics[t.Truth]; taken {
			return fmt.Errorf("the topics %q and %q would share the file %s: rename one", other, t.Name, t.Truth)
		}
		topics[t.Truth] = t.Name
	}
	for name := range x.Truth {
		if !slices.ContainsFunc(m.Topics, func(t Topic) bool { return t.Name == name }) {
			return fmt.Errorf("there is truth for %q, which is no topic of the manifest", name)
		}
	}
	if m.Name == "" {
		m.Name = b.built.Manifest.Name
	}
	if !x.Date.IsZero() {
		b.now = x.Date.UTC().Truncate(time.Second)
	}
	b.built.Manifest = m
	return nil
}

func (x Made) feed(ctx context.Context, b *builder) error {
	n := 0
	for r, err := range x.Pages {
		n++
		from := fmt.Sprintf("made response %d", n)
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if err := b.put(ctx, func() result { return b.response(from, r) }); err != nil {
			return err
		}
	}
	return nil
}

func (x Made) finish(b *builder) error {
	for i := range b.built.Manifest.Topics {
		if t := &b.built.Manifest.Topics[i]; t.Truth != "" {
			if err := b.truth(t, x.Truth[t.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}
