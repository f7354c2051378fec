// Package extract takes what a person wants of pages as the cells of a table: fields
// named by CSS or XPath, by the type and property of JSON-LD and microdata, or learnt
// from a few pages whose values were filled in by hand.
//
// A file of fields says where the values of a page stand. What is learnt is such a file
// too: wrappers are selectors along the tag path of a value, with the words before it and
// the form of it, that a person can read and edit.
//
// Values are untrusted. They are one line of text without control, bidirectional or
// invisible characters (event.Line), at most 4 KiB each and 1,000 of a field on a page.
package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/antchfx/xpath"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/yamlfile"
	"github.com/waggle-crawler/waggle/web"
)

// A file of fields is YAML:
//
//	fields:
//	  - name: name
//	    css: h1                          all text in the first h1
//	  - name: mail
//	    css: a[href^="mailto:"]
//	    take: "@href"                    an attribute, and not the text
//	    pattern: "mailto:([^?]+)"        the group, or without one all that matches
//	  - name: phone
//	    xpath: //address
//	    take: own                        each piece of text directly in the element, apart
//	    after: phone                     begins behind these words, which may stand before the element
//	    until: ","                       and ends before this
//	  - name: price
//	    many: true
//	    from:                            the first of several that has a value
//	      - {json-ld: Product, property: offers.price}
//	      - {microdata: Product, property: price, on: shop.example.org}

// Bounds on a file of fields.
const (
	maxFile      = 1 << 20 // bytes
	maxFields    = 100
	maxSelectors = 50    // of a field
	maxSelector  = 2_000 // bytes of css, xpath, pattern
)

// Bounds on what is taken of a page.
const (
	maxTags       = 50_000 // tags of a page that are read
	maxValues     = 1_000  // of a field
	maxValue      = 4 << 10
	maxText       = 64 << 10 // bytes of the text of an element that are looked at
	maxCandidates = 10_000   // places of a selector that are looked at
)

// Fields are the columns of a table and where their values stand. They are safe for
// concurrent use.
type Fields struct {
	Fields []Field `yaml:"fields"`
}

// Field is a column.
type Field struct {
	Name     string `yaml:"name"`           // letters, digits, _ and -, a letter first
	Many     bool   `yaml:"many,omitempty"` // all values, and not the first one
	Selector `yaml:",inline"`
	From     []Selector `yaml:"from,omitempty"` // several, instead of one: the first that has a value gives all
}

// Selector says where values stand: exactly one of CSS, XPath, JSONLD and Microdata is
// given.
type Selector struct {
	CSS       string `yaml:"css,omitempty"`
	XPath     string `yaml:"xpath,omitempty"`
	JSONLD    string `yaml:"json-ld,omitempty"`   // a type, "Person" or its address
	Microdata string `yaml:"microdata,omitempty"` // the same
	Property  string `yaml:"property,omitempty"`  // of the type: "name", "address.postalCode"

	Take    string `yaml:"take,omitempty"`    // of an element: "text" (default), "own", "@attribute"
	After   string `yaml:"after,omitempty"`   // words that stand before the value
	Until   string `yaml:"until,omitempty"`   // text before which it ends
	Pattern string `yaml:"pattern,omitempty"` // a regular expression (RE2)
	At      Place  `yaml:"at,omitempty"`      // 1 = the first of the page (default; of a field of many: all), -1 = the last
	On      string `yaml:"on,omitempty"`      // only on pages of this host and those below it, or HOST/PATH…

	css     css
	xpath   *xpath.Expr
	after   []string
	pattern *regexp.Regexp
	whole   bool // of a selector that is learnt: the value was all text of its element
}

// ReadFile reads a file of fields. Errors name the line.
func ReadFile(name string) (*Fields, error) {
	b, err := ReadText(name)
	if err != nil {
		return nil, err
	}
	return Read(name, b)
}

// ReadText is what a file of fields holds, as far as Read takes it.
func ReadText(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Read reads the file of fields b of that name.
func Read(name string, b []byte) (*Fields, error) {
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s: it is larger than 1 MiB: is this the file of fields?", name)
	}
	var f Fields
	file, err := yamlfile.Decode(name, b, &f, "a file of fields has name, many, css, xpath, json-ld, microdata, property, take, after, until, pattern, at, on and from")
	if err != nil {
		return nil, err
	}
	if len(f.Fields) == 0 {
		return nil, fmt.Errorf("%s: it names no field: write\nfields:\n  - {name: title, css: h1}", name)
	}
	if len(f.Fields) > maxFields {
		return nil, fmt.Errorf("%s: it names %d fields; at most %d are read", name, len(f.Fields), maxFields)
	}
	var errs []error
	wrong := func(err error, path ...string) {
		errs = append(errs, fmt.Errorf("%s: %w", file.At(append([]string{"fields"}, path...)...), err))
	}
	seen := map[string]bool{}
	for i := range f.Fields {
		x, n := &f.Fields[i], strconv.Itoa(i)
		switch err := checkName(x.Name); {
		case err != nil:
			wrong(err, n, "name")
		case seen[x.Name]:
			wrong(fmt.Errorf("there is a field %q already", x.Name), n, "name")
		}
		seen[x.Name] = true
		if len(x.From) == 0 {
			if key, err := x.Selector.compile(); err != nil {
				wrong(err, n, key)
			}
			continue
		}
		if !x.Selector.empty() {
			wrong(errors.New("a field has either from, or one selector of its own"), n, "from")
		}
		if len(x.From) > maxSelectors {
			wrong(fmt.Errorf("it has %d entries; at most %d are read", len(x.From), maxSelectors), n, "from")
			continue
		}
		for k := range x.From {
			if key, err := x.From[k].compile(); err != nil {
				wrong(err, n, "from", strconv.Itoa(k), key)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &f, nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("a field needs a name")
	case s == "url":
		return errors.New(`"url" is the column of the address: name the field otherwise`)
	case !nameForm.MatchString(s):
		return fmt.Errorf("name: %q: a name has letters of ASCII, digits, _ and -, a letter first, at most 64", s)
	}
	return nil
}

// Place is which of several values is meant: from 1, or from -1 backwards; 0 where none is named.
type Place int

// UnmarshalYAML reads a place that is named.
func (p *Place) UnmarshalYAML(n *yaml.Node) error {
	var v int
	if err := n.Decode(&v); err != nil {
		return err
	}
	if v == 0 {
		return fmt.Errorf("line %d: at: 0: a place from 1, or from -1 backwards, is wanted", n.Line)
	}
	*p = Place(v)
	return nil
}

// empty tells that nothing of a selector is given.
func (s *Selector) empty() bool {
	return s.CSS == "" && s.XPath == "" && s.JSONLD == "" && s.Microdata == "" && s.Property == "" &&
		s.Take == "" && s.After == "" && s.Until == "" && s.Pattern == "" && s.At == 0 && s.On == ""
}

// compile checks a selector and makes it ready. Of an error it names the key.
func (s *Selector) compile() (key string, err error) {
	var given []string
	for _, x := range []struct{ key, value string }{{"css", s.CSS}, {"xpath", s.XPath}, {"json-ld", s.JSONLD}, {"microdata", s.Microdata}} {
		if x.value != "" {
			given = append(given, x.key)
		}
		if len(x.value) > maxSelector {
			return x.key, fmt.Errorf("%s: it is longer than %d bytes", x.key, maxSelector)
		}
	}
	switch {
	case len(given) == 0:
		return "name", errors.New("it does not say where the values stand: give one of css, xpath, json-ld, microdata")
	case len(given) > 1:
		return given[1], fmt.Errorf("%s are given; one of them is wanted (several go into from, each an entry)", strings.Join(given, " and "))
	}
	items := s.JSONLD != "" || s.Microdata != ""
	switch {
	case items && s.Property == "":
		return given[0], fmt.Errorf("%s: a property of %s is wanted as well, such as property: name", given[0], s.JSONLD+s.Microdata)
	case !items && s.Property != "":
		return "property", errors.New("property: it goes with json-ld and microdata")
	case items && s.Take != "":
		return "take", errors.New("take: it goes with css and xpath")
	case items && s.After != "":
		return "after", errors.New("after: it goes with css and xpath")
	case s.Take != "" && s.Take != "text" && s.Take != "own" && !attributeForm.MatchString(s.Take):
		return "take", fmt.Errorf("take: %q: text, own, or an attribute as \"@href\" is wanted", s.Take)
	case s.At < -maxValues || s.At > maxValues:
		return "at", fmt.Errorf("at: %d: a place from 1, or from -1 backwards, is wanted", s.At)
	case strings.Contains(s.On, "://"):
		return "on", fmt.Errorf("on: %q: write it without http://", s.On)
	}
	if s.CSS != "" {
		if s.css, err = compileCSS(s.CSS); err != nil {
			return "css", fmt.Errorf("css: %w", err)
		}
	}
	if s.XPath != "" {
		if s.xpath, err = compileXPath(s.XPath); err != nil {
			return "xpath", fmt.Errorf("xpath: %w", err)
		}
	}
	if s.After != "" {
		if s.after = words(s.After); len(s.after) == 0 {
			return "after", fmt.Errorf("after: %q: it holds no word", s.After)
		}
	}
	if s.Pattern != "" {
		if len(s.Pattern) > maxSelector {
			return "pattern", fmt.Errorf("pattern: it is longer than %d bytes", maxSelector)
		}
		if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return "pattern", fmt.Errorf("pattern: %w", err)
		}
	}
	return "", nil
}

var attributeForm = regexp.MustCompile(`^@[A-Za-z_][A-Za-z0-9_:.-]*$`)

// selectors are those of a field, in their order.
func (f *Field) selectors() []Selector {
	if len(f.From) > 0 {
		return f.From
	}
	return []Selector{f.Selector}
}

// Names are those of the fields.
func (f *Fields) Names() (names []string) {
	for _, x := range f.Fields {
		names = append(names, x.Name)
	}
	return names
}

// Values are those of a page: of each field all of a field of many, or at most one.
func (f *Fields) Values(p *Page) [][]string {
	out := make([][]string, len(f.Fields))
	for i := range f.Fields {
		out[i] = f.Fields[i].values(p)
	}
	return out
}

func (f *Field) values(p *Page) []string {
	selectors := f.selectors()
	for k := range selectors {
		if vals := selectors[k].values(p, f.Many); len(vals) > 0 {
			return vals
		}
	}
	return nil
}

// values are those that a selector finds on a page, each once: all, or the one that is
// meant.
func (s *Selector) values(p *Page, many bool) []string {
	vals := s.all(p)
	switch at := int(s.At); {
	case len(vals) == 0, at > len(vals), -at > len(vals):
		return nil
	case at < 0:
		return vals[len(vals)+at : len(vals)+at+1]
	case at > 0:
		return vals[at-1 : at]
	case !many:
		return vals[:1]
	}
	return vals
}

// all are the values of a selector on a page, whatever its place says.
func (s *Selector) all(p *Page) (vals []string) {
	if s.On != "" && !onPlace(p.url, s.On) {
		return nil
	}
	seen := map[string]bool{}
	looked := 0
	s.each(p, func(c candidate) bool {
		if v := s.cut(p, c); v != "" && !seen[v] {
			seen[v] = true
			vals = append(vals, v)
		}
		looked++
		return len(vals) < maxValues && looked < maxCandidates
	})
	return vals
}

// onPlace tells whether a page belongs to a host, or to those below it, and to a path.
func onPlace(u web.URL, place string) bool {
	host, path, _ := strings.Cut(place, "/")
	name := u.Host().Name()
	if name != host && !strings.HasSuffix(name, "."+host) {
		return false
	}
	return strings.HasPrefix(strings.TrimPrefix(u.Path(), "/"), path)
}

// candidate is a text that may hold a value.
type candidate struct {
	text  string
	words int // of the page before it
}

// cut is the value in a text, "" if there is none.
func (s *Selector) cut(p *Page, c candidate) string {
	t := c.text
	if len(s.after) > 0 {
		rest, inside := behind(t, s.after)
		switch {
		case inside:
			t = rest
		case !slices.Equal(p.wordsBefore(c.words, len(s.after)), s.after):
			return ""
		default:
			t = strings.TrimLeftFunc(t, isJoint)
		}
	}
	if s.Until != "" {
		t, _, _ = strings.Cut(t, s.Until)
	}
	if s.pattern != nil {
		m := s.pattern.FindStringSubmatch(t)
		switch {
		case m == nil:
			return ""
		case len(m) > 1:
			t = m[1]
		default:
			t = m[0]
		}
	}
	return value(t)
}

// value is t as values are: one line, at most maxValue bytes.
func value(t string) string {
	if len(t) > 4*maxValue {
		t = t[:4*maxValue] // what event.Line leaves of it is enough
	}
	t = event.Line(t)
	if len(t) > maxValue {
		t = strings.TrimSpace(strings.ToValidUTF8(t[:maxValue], ""))
	}
	return t
}

// WriteTo writes the fields as a file that Read reads.
func (f *Fields) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(f), e.Close()); err != nil {
		return 0, err
	}
	n, err := w.Write(b.Bytes())
	return int64(n), err
}
