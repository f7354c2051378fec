package job

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/parse/document/pdf"
)

// Names of types of documents beside those of package document.
const (
	typeHTML = "html" // pages
	typeAll  = "all"  // pages, and documents of every kind
)

// What of the documents fetched counts, of Topic.Want.
const (
	wantBoth      = "both"
	wantPages     = "pages"
	wantDocuments = "documents"
)

// typeNames are the names that fetch.types understands, beside media types.
func typeNames() []string {
	out := []string{typeHTML}
	for _, d := range document.Kinds() {
		out = append(out, string(d.Kind))
	}
	return append(out, typeAll)
}

// kinds are the kinds of document that the job asks for, beside pages.
func (j *Job) kinds() (out []document.Description) {
	asked := j.Fetch.Types
	if len(asked) == 0 && j.Topic.Want == wantDocuments {
		asked = []string{typeAll}
	}
	for _, d := range document.Kinds() {
		if slices.ContainsFunc(asked, func(t string) bool {
			t = strings.ToLower(t)
			return t == typeAll || t == string(d.Kind) || slices.Contains(d.Types, t)
		}) {
			out = append(out, d)
		}
	}
	return out
}

// pages tells whether pages in HTML are asked for.
func (j *Job) pages() bool {
	return len(j.Fetch.Types) == 0 || slices.ContainsFunc(j.Fetch.Types, func(t string) bool {
		t = strings.ToLower(t)
		return t == typeAll || t == typeHTML || slices.Contains(fetch.DefaultTypes(), t)
	})
}

// Types are what the fetcher asks for.
func (j *Job) Types() (out fetch.Types) {
	if len(j.Fetch.Types) == 0 {
		out = fetch.DefaultTypes()
	}
	for _, t := range j.Fetch.Types {
		switch t = strings.ToLower(t); {
		case t == typeHTML || t == typeAll:
			out = append(out, fetch.DefaultTypes()...)
		case strings.Contains(t, "/"):
			out = append(out, t)
		}
	}
	if j.from(parse.SourceSitemaps) {
		d, _ := document.Named(string(document.Sitemap))
		out = append(out, append(d.Types, ".xml", ".gz", fetch.TextOfAddresses)...)
	}
	if j.from(parse.SourceFeeds) {
		d, _ := document.Named(string(document.Feed))
		out = append(out, append(d.Types, ".xml")...)
	}
	for _, d := range j.kinds() {
		if slices.ContainsFunc(j.Fetch.Types, func(t string) bool { return strings.Contains(t, "/") && slices.Contains(d.Types, strings.ToLower(t)) }) {
			continue // by its media type alone
		}
		out = append(out, d.Types...)
		for _, x := range d.Extensions {
			out = append(out, "."+x)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if defaults := fetch.DefaultTypes(); j.pages() && slices.Contains(out, defaults[0]) { // first, as browsers have them
		out = slices.DeleteFunc(out, func(t string) bool { return slices.Contains(defaults, t) })
		out = append(defaults, out...)
	}
	return out
}

// files are the extensions of the documents asked for.
func (j *Job) files() (out []string) {
	for _, d := range j.kinds() {
		out = append(out, d.Extensions...)
	}
	return out
}

// LinksOnly are the media types of what is fetched for its links alone.
func (j *Job) LinksOnly() (out []string) {
	out = append(out, document.SitemapType)
	if j.Topic.Want == wantDocuments {
		out = append(out, fetch.DefaultTypes()...)
	}
	asked := j.kinds()
	for _, d := range document.Kinds() {
		wanted := slices.ContainsFunc(asked, func(x document.Description) bool { return x.Kind == d.Kind })
		if j.Topic.Want == wantPages && wanted || d.Kind == document.Feed && !wanted {
			out = append(out, d.Types...)
		}
	}
	return out
}

func checkTypes(j *Job, bad complaint) {
	for i, t := range j.Fetch.Types {
		t := strings.ToLower(t)
		known := slices.Contains(typeNames(), t) || slices.Contains(parse.Types(), t)
		for _, d := range document.Kinds() {
			known = known || slices.Contains(d.Types, t)
		}
		if !known {
			bad(fmt.Sprintf(".%d", i), "documents of type %q are not understood, so they are not fetched%s; there are: %s, and their media types", j.Fetch.Types[i], spelling.Hint(t, typeNames()), strings.Join(typeNames(), ", "))
		}
	}
}

func checkLanguage(j *Job, bad complaint) {
	for i, l := range j.Topic.Language {
		if languageOf(l) == "" {
			bad(fmt.Sprintf(".%d", i), fmt.Sprintf("%q is no language: give a code of two letters by ISO 639-1, such as en, de or zh, or a tag that begins with one, such as de-AT", l))
		}
	}
}

// languageOf is the code by ISO 639-1 of a language that is named by a BCP 47 tag, such as
// "de", "DE" or "de-AT"; "" where it has none.
func languageOf(tag string) string {
	t, err := language.Parse(tag)
	base, sure := t.Base()
	if err != nil || sure != language.Exact || len(base.String()) != 2 {
		return ""
	}
	return base.String()
}

// languages are those of the topic as codes, each once.
func (j *Job) languages() (codes []string) {
	for _, l := range j.Topic.Language {
		if code := languageOf(l); code != "" && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

func checkWant(j *Job, bad complaint) {
	switch j.Topic.Want {
	case wantDocuments:
		if len(j.kinds()) == 0 {
			bad("", "documents are wanted, and fetch.types names none: add some to it (%s), or leave it out for all", strings.Join(typeNames()[1:], ", "))
		}
	case wantPages:
		if !j.pages() {
			bad("", "pages are wanted, and fetch.types does not name html")
		}
	}
}

// NamesSitemaps tells whether links to the sitemaps that robots.txt names are followed.
func (j *Job) NamesSitemaps() bool { return j.from(parse.SourceSitemaps) }

// CheckKinds finds what is wrong with the kinds of documents that are taken and wanted, and with
// the sources of links, as Check does.
func (j *Job) CheckKinds() (wrong []*Error) {
	for _, s := range Settings() {
		if !slices.Contains([]string{"fetch.types", "links.sources", "topic.want"}, s.Path) {
			continue
		}
		bad := func(at, format string, args ...any) {
			wrong = append(wrong, &Error{s.Path + at, fmt.Errorf(format, args...)})
		}
		s.checkRange(j, bad)
		if s.check != nil {
			s.check(j, bad)
		}
	}
	return wrong
}

// LocalDocuments read documents in this process: their content is bounded, the time that
// they take is not. close gives back what was needed for PDF.
func LocalDocuments() (d parse.Documents, close func() error) {
	engine := pdf.New(pdf.Options{})
	return document.Documents{Reader: document.Local{PDF: engine.Write}}, engine.Close
}

// withDocuments adds to a policy what the job says of documents, of hollow pages and of
// near-copies.
func (j *Job) withDocuments(p *crawl.Policy) {
	p.Hollow, p.NearCopies = !j.Judge.CountHollow, !j.Judge.CountCopies
	p.Files, p.LinksOnly, p.Sitemaps = j.files(), j.LinksOnly(), j.from(parse.SourceSitemaps)
}

// noSources stands for no source of links beside those of pages.
const noSources = "none"

// sourceNames are the names that links.sources understands, but for noSources.
func sourceNames() (out []string) {
	for _, s := range parse.Sources() {
		out = append(out, string(s))
	}
	return out
}

// Sources are where links come from; nil = as a parser has it.
func (j *Job) Sources() []parse.Source {
	if len(j.Links.Sources) == 0 {
		return nil
	}
	out := []parse.Source{}
	for _, s := range j.Links.Sources {
		if s != noSources {
			out = append(out, parse.Source(s))
		}
	}
	return out
}

// from tells whether links of a source are asked for that is none by default.
func (j *Job) from(s parse.Source) bool { return slices.Contains(j.Sources(), s) }

func checkSources(j *Job, bad complaint) {
	names := append(sourceNames(), noSources)
	for i, s := range j.Links.Sources {
		switch {
		case s == noSources && len(j.Links.Sources) > 1:
			bad(fmt.Sprintf(".%d", i), "links.sources names none, and others beside it")
		case s != noSources && !slices.Contains(sourceNames(), s):
			bad(fmt.Sprintf(".%d", i), "links come from nowhere called %q%s; there are: %s", s, spelling.Hint(s, names), strings.Join(names, ", "))
		}
	}
}
