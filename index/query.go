package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// Query is what is looked for. The zero Query is every page.
type Query struct {
	// Text holds words, all of which a page must have; "a phrase"; -without. Words are
	// compared by their stems, and common ones such as "the" do not count.
	Text         string
	MinRelevance float64   // 0 = any
	MaxRelevance *float64  // nil = any
	Hosts        []string  // any of them; "example.org" is it and the names below it
	Since, Until time.Time // when it was fetched; zero = any
	Languages    []string  // any of them, such as "en"
	Types        []string  // any of them; "text/html", or "text/" for all of text
	Verdict      Verdict
	Sort         Sort
	Fold         bool    // of near-copies only the first is given
	CopiesOf     web.URL // zero; or only near-copies of that page, itself among them
	From, Size   int     // Size 0 = 10, at most 1000; From+Size at most 10,000
}

// Verdict is what the judge said.
type Verdict string

// The verdicts that can be asked for. Other pages are those that are not relevant, and
// those that are no harvest whatever their relevance.
const (
	Any      Verdict = ""
	Relevant Verdict = "relevant"
	Other    Verdict = "other"
)

// Sort is an order of hits.
type Sort string

// The orders. ByMatch without a text is ByRelevance.
const (
	ByMatch     Sort = ""
	ByRelevance Sort = "relevance"
	Newest      Sort = "newest"
	Oldest      Sort = "oldest"
	ByHost      Sort = "host"
	ByURL       Sort = "url"
)

// Sorts are all orders but ByMatch.
func Sorts() []Sort { return []Sort{ByRelevance, Newest, Oldest, ByHost, ByURL} }

const (
	defaultSize = 10
	maxSize     = 1000
	maxAsked    = 10_000
	maxQuery    = 1000 // characters
	maxTerms    = 64
)

// QueryError says what is wrong with a query, for the person who wrote it.
type QueryError struct{ What string }

func (e *QueryError) Error() string { return e.What }

// phrases is the text of a query.
type phrases struct {
	want    []spellings
	without []spellings
}

// spellings are a phrase of one or more terms, as languages make them.
type spellings []spelling

type spelling struct {
	terms     []string
	languages []string // of fieldTerms
}

// add adds the terms of a language.
func (s spellings) add(terms []string, language string) spellings {
	if len(terms) == 0 {
		return s
	}
	for i := range s {
		if slices.Equal(s[i].terms, terms) {
			s[i].languages = append(s[i].languages, language)
			return s
		}
	}
	return append(s, spelling{terms, []string{language}})
}

// check looks at a query and splits its text, by the rules of some languages.
func (q *Query) check(a *parse.Analyzer, languages []string) (*phrases, error) {
	bad := func(format string, args ...any) (*phrases, error) {
		return nil, &QueryError{fmt.Sprintf(format, args...)}
	}
	switch {
	case q.Size < 0 || q.Size > maxSize:
		return bad("%d hits: ask for 1…%d", q.Size, maxSize)
	case q.From < 0 || q.From > maxAsked-q.Size:
		return bad("hits from %d on: the first %d can be asked for; narrow the search", q.From, maxAsked)
	case q.Sort != ByMatch && !slices.Contains(Sorts(), q.Sort):
		return bad("there is no order %q; there are: %v", q.Sort, Sorts())
	case q.Verdict != Any && q.Verdict != Relevant && q.Verdict != Other:
		return bad("there is no verdict %q; there are relevant and other", q.Verdict)
	case !isShare(q.MinRelevance) || q.MaxRelevance != nil && !isShare(*q.MaxRelevance):
		return bad("a relevance is a number in 0…1")
	case utf8.RuneCountInString(q.Text) > maxQuery:
		return bad("the query has more than %d characters", maxQuery)
	}
	return parseText(q.Text, a, languages)
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

// parseText splits the text of a query into phrases.
func parseText(text string, a *parse.Analyzer, languages []string) (*phrases, error) {
	p := &phrases{}
	n, all := 0, strings.TrimSpace(text)
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		rest, not := strings.CutPrefix(text, "-")
		var piece string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			piece, text, _ = strings.Cut(quoted, `"`) // a quotation mark may be left out at the end
		} else {
			end := strings.IndexFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '"' })
			if end < 0 {
				end = len(rest)
			}
			if end == 0 { // a minus sign alone
				end = min(1, len(rest))
			}
			piece, text = rest[:end], rest[end:]
		}
		if len(a.Words(piece)) == 0 {
			continue // common in English is common in all
		}
		var all spellings
		longest := 0
		for _, l := range languages {
			terms := a.In(l).Words(piece)
			longest = max(longest, len(terms))
			all = all.add(terms, l)
		}
		if len(all) == 0 {
			continue
		}
		if n += longest; n > maxTerms {
			return nil, &QueryError{fmt.Sprintf("the query has more than %d words", maxTerms)}
		}
		if not {
			p.without = append(p.without, all)
		} else {
			p.want = append(p.want, all)
		}
	}
	if n == 0 && all != "" {
		return nil, &QueryError{"all words of the query are too common, or too short, to look for"}
	}
	return p, nil
}

// titleBoost is how much more a word in the title counts than one in the text.
const titleBoost = 3

// phrase is the query for terms that follow each other in the title or in the text.
func phrase(terms []string) query.Query {
	of := func(field string, boost float64) query.Query {
		if len(terms) == 1 {
			t := bleve.NewTermQuery(terms[0])
			t.SetField(field)
			t.SetBoost(boost)
			return t
		}
		p := bleve.NewPhraseQuery(terms, field)
		p.SetBoost(boost)
		return p
	}
	return bleve.NewDisjunctionQuery(of(fieldTitle, titleBoost), of(fieldBody, 1))
}

// anySpelling is the query for a phrase as any language writes it, on pages of that
// language.
func anySpelling(all spellings) query.Query {
	if len(all) == 1 {
		return phrase(all[0].terms)
	}
	var list []query.Query
	for _, s := range all {
		list = append(list, bleve.NewConjunctionQuery(phrase(s.terms), filter{anyOf(fieldTerms, s.languages)}))
	}
	return bleve.NewDisjunctionQuery(list...)
}

// languagesOf are those by whose rules pages of an index were indexed.
func languagesOf(x bleve.Index) (out []string, err error) {
	d, err := x.FieldDict(fieldTerms)
	if err != nil {
		return nil, err
	}
	for {
		e, err := d.Next()
		if err != nil || e == nil {
			if len(out) == 0 {
				out = []string{unknown}
			}
			return out, errors.Join(err, d.Close())
		}
		out = append(out, e.Term)
	}
}

// anyOf is the query for any of some values of a field; a value that ends in a slash
// stands for all that begin so.
func anyOf(field string, values []string) query.Query {
	var list []query.Query
	for _, v := range values {
		v = strings.ToLower(strings.TrimSpace(v))
		if strings.HasSuffix(v, "/") {
			p := bleve.NewPrefixQuery(v)
			p.SetField(field)
			list = append(list, p)
			continue
		}
		t := bleve.NewTermQuery(v)
		t.SetField(field)
		list = append(list, t)
	}
	return bleve.NewDisjunctionQuery(list...)
}

// build makes what bleve looks for; what a query wants by numbers is looked at for each
// match.
func (q *Query) build(x bleve.Index, p *phrases) (query.Query, error) {
	var must, not []query.Query
	for _, all := range p.want {
		must = append(must, anySpelling(all))
	}
	for _, all := range p.without {
		not = append(not, anySpelling(all))
	}
	for field, values := range map[string][]string{fieldSite: q.Hosts, fieldLanguage: q.Languages, fieldType: q.Types} {
		if len(values) > 0 {
			must = append(must, filter{anyOf(field, values)})
		}
	}
	if !q.CopiesOf.IsZero() {
		of, err := card(x, q.CopiesOf.String())
		if err != nil {
			return nil, err
		}
		group := bleve.NewTermQuery(of.Group)
		group.SetField(fieldGroup)
		must = append(must, filter{group})
	}
	if len(must) == 0 {
		must = append(must, bleve.NewMatchAllQuery())
	}
	if len(not) == 0 {
		return bleve.NewConjunctionQuery(must...), nil
	}
	out := bleve.NewBooleanQuery()
	out.AddMust(must...)
	out.AddMustNot(not...)
	return out, nil
}
