package extract_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/extract"
	"github.com/waggle-crawler/waggle/web"
)

// page is a page of that source.
func page(t interface {
	Helper()
	Fatal(...any)
}, address, source string) *extract.Page {
	t.Helper()
	u, err := web.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	return extract.NewPage(u, root)
}

// fields reads a file of fields.
func fields(t *testing.T, text string) *extract.Fields {
	t.Helper()
	f, err := extract.Read("fields.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const shop = `<!DOCTYPE html><html><head><title>Heather honey – Meadow shop</title>
<meta name="author" content="Ada Byron">
<script type="application/ld+json">
{"@context": "https://schema.org", "@graph": [
 {"@type": ["Product", "Thing"], "name": "Heather honey", "sku": 17, "inStock": true,
  "brand": {"@id": "#meadow"}, "offers": [{"@type": "Offer", "price": 4.50}, {"@type": "Offer", "price": "4.00"}]},
 {"@type": "schema:Organization", "@id": "#meadow", "name": "Meadow", "address": {"postalCode": "CB2 1TN"}}]}
</script>
<script type="application/ld+json">{"@type": "Product", broken</script>
</head><body>
<nav><a href="/">Home</a> <a href="/honey">Honey</a></nav>
<h1 class="title big">Heather <em>honey</em></h1>
<div id="facts" class="facts"><p>Price: <b>4.50</b><br>Weight: 250 g, in a jar<p>Mail: <a href="mailto:ada@meadow.example?subject=x">ada</a></div>
<ul class="topics"><li>heather<li>moor<li>heather</ul>
<table><tr><th>Colour<td>amber<tr><th>Taste<td>strong</table>
<section itemscope itemtype="https://schema.org/Person"><span itemprop="name">Ada <b>Byron</b></span>
 <a itemprop="url" href="/ada">page</a> <time itemprop="birthDate" datetime="1815-12-10">December</time>
 <div itemprop="address" itemscope itemtype="https://schema.org/PostalAddress"><span itemprop="postalCode">CB2</span></div></section>
<p class="formula">=1+1 ` + "\u202eevil\x07" + `</p><script>var price = "9"</script>
</body></html>`

// A table of selectors and what they find on the page above.
func TestSelectors(t *testing.T) {
	p := page(t, "https://shop.example/honey/heather", shop)
	for _, c := range []struct{ selector, want string }{
		{`css: h1`, "Heather honey"},
		{`css: h1, take: own`, "Heather"},
		{`css: h1.title.big > em`, "honey"},
		{`css: "nav a"`, "Home|Honey"},
		{`css: "nav a:last-child"`, "Honey"},
		{`css: "nav > a + a"`, "Honey"},
		{`css: "h1 ~ ul li"`, "heather|moor"},
		{`css: "body li, h1 em"`, "honey|heather|moor"},
		{`css: "div#facts p a", take: "@href"`, "mailto:ada@meadow.example?subject=x"},
		{`css: 'a[href^="mailto:"]', take: "@href", pattern: "mailto:([^?]+)"`, "ada@meadow.example"},
		{`css: "nav a", take: "@href"`, "https://shop.example/|https://shop.example/honey"},
		{`css: 'meta[name="author"]', take: "@content"`, "Ada Byron"},
		{`css: "p:not(.formula) > b"`, "4.50"},
		{`css: "p:has(b)", take: own, after: weight, until: ","`, "250 g"},
		{`css: b, after: price`, "4.50"},
		{`css: td, after: taste`, "strong"},
		{`css: td, at: -1`, "strong"},
		{`css: td, at: 2`, "strong"},
		{`css: td, at: 3`, ""},
		{`css: ul`, "heather moor heather"},
		{`css: p.formula`, "=1+1 evil"},
		{`css: script`, ""},
		{`css: h1, on: shop.example`, "Heather honey"},
		{`css: h1, on: example/honey`, "Heather honey"},
		{`css: h1, on: shop.example/wax`, ""},
		{`css: h1, on: hop.example`, ""},
		{`xpath: //h1`, "Heather honey"},
		{`xpath: "//ul/li[2]"`, "moor"},
		{`xpath: "//nav/a/@href"`, "https://shop.example/|https://shop.example/honey"},
		{`xpath: "//th[.='Colour']/following-sibling::td"`, "amber"},
		{`xpath: "//div[@id='facts']/p[1]/text()"`, "Price:|Weight: 250 g, in a jar"},
		{`xpath: "string(//h1)"`, "Heather honey"},
		{`xpath: "count(//li)"`, "3"},
		{`xpath: "//title/ancestor::html/body/h1/em"`, "honey"},
		{`json-ld: Product, property: name`, "Heather honey"},
		{`json-ld: "https://schema.org/Product", property: name`, ""},
		{`json-ld: Product, property: sku`, "17"},
		{`json-ld: Product, property: inStock`, "true"},
		{`json-ld: Product, property: offers.price`, "4.50|4.00"},
		{`json-ld: Product, property: brand`, "Meadow"},
		{`json-ld: Product, property: brand.address.postalCode`, "CB2 1TN"},
		{`json-ld: Organization, property: name`, "Meadow"},
		{`json-ld: Person, property: name`, ""},
		{`microdata: Person, property: name`, "Ada Byron"},
		{`microdata: "https://schema.org/Person", property: url`, "https://shop.example/ada"},
		{`microdata: Person, property: birthDate`, "1815-12-10"},
		{`microdata: Person, property: address.postalCode`, "CB2"},
		{`microdata: Person, property: postalCode`, ""},
	} {
		f := fields(t, "fields:\n  - {name: x, many: true, "+c.selector+"}\n")
		if got := strings.Join(f.Values(p)[0], "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.selector, got, c.want)
		}
	}
}

// A field of one value has the first, and of several selectors the first with a value.
func TestOneAndMany(t *testing.T) {
	p := page(t, "https://shop.example/", shop)
	f := fields(t, `
fields:
  - {name: topic, css: li}
  - name: kind
    from: [{css: h6}, {css: td}, {css: h1}]
  - name: kinds
    many: true
    from: [{css: h6}, {css: td}, {css: h1}]
`)
	got := f.Values(p)
	if want := [][]string{{"heather"}, {"amber"}, {"amber", "strong"}}; len(got) != 3 || strings.Join(got[0], "|") != strings.Join(want[0], "|") ||
		strings.Join(got[1], "|") != strings.Join(want[1], "|") || strings.Join(got[2], "|") != strings.Join(want[2], "|") {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is wrong with a file of fields is told with its line and the remedy.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it names no field"},
		{"fields:\n  - {css: h1}", "fields.yaml:2: a field needs a name"},
		{"fields:\n  - {name: url, css: h1}", `fields.yaml:2: "url" is the column of the address`},
		{"fields:\n  - {name: 'a b', css: h1}", `fields.yaml:2: name: "a b": a name has letters`},
		{"fields:\n  - {name: a, css: h1}\n  - {name: a, css: h2}", `fields.yaml:3: there is a field "a" already`},
		{"fields:\n  - {name: a}", "fields.yaml:2: it does not say where the values stand"},
		{"fields:\n  - {name: a, css: h1, xpath: //h1}", "fields.yaml:2: css and xpath are given"},
		{"fields:\n  - name: a\n    css: 'h1['", `fields.yaml:3: css: "h1[": '[' has no end at character 3`},
		{"fields:\n  - name: a\n    css: 'h1 >'", `fields.yaml:3: css: "h1 >": a selector is missing`},
		{"fields:\n  - name: a\n    css: '> h1'", `fields.yaml:3: css: "> h1": a selector is missing before '>'`},
		{"fields:\n  - name: a\n    css: 'h1, '", `fields.yaml:3: css: "h1, ": a selector is missing`},
		{"fields:\n  - name: a\n    css: 'a:has(b > c)'", "fields.yaml:3: css: \"a:has(b > c)\": in brackets stands one selector"},
		{"fields:\n  - name: a\n    css: 'a:hoovr'", "fields.yaml:3: css: \"a:hoovr\""},
		{"fields:\n  - name: a\n    xpath: '//h1['", "fields.yaml:3: xpath:"},
		{"fields:\n  - name: a\n    xpath: 'nothing(1)'", "fields.yaml:3: xpath:"},
		{"fields:\n  - name: a\n    json-ld: Person", "fields.yaml:3: json-ld: a property of Person is wanted"},
		{"fields:\n  - name: a\n    css: h1\n    property: name", "fields.yaml:4: property: it goes with json-ld and microdata"},
		{"fields:\n  - name: a\n    css: h1\n    take: href", `fields.yaml:4: take: "href": text, own, or an attribute`},
		{"fields:\n  - name: a\n    css: h1\n    pattern: '('", "fields.yaml:4: pattern: error parsing regexp"},
		{"fields:\n  - name: a\n    css: h1\n    after: ':'", `fields.yaml:4: after: ":": it holds no word`},
		{"fields:\n  - name: a\n    css: h1\n    on: https://example.org/", "fields.yaml:4: on: "},
		{"fields:\n  - name: a\n    css: h1\n    from: [{css: h2}]", "fields.yaml:4: a field has either from, or one selector"},
		{"fields:\n  - name: a\n    from:\n      - {css: h1}\n      - {css: '['}", "fields.yaml:5: css:"},
		{"fields:\n  - {name: a, css: h1, tke: own}", `fields.yaml:2: unknown key "tke"; near names: take; a file of fields has name, many`},
	} {
		_, err := extract.Read("fields.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// Pages that would take hours, or much memory, take neither: this test ends.
func TestGreedyPages(t *testing.T) {
	deep := strings.Repeat("<div>", 480) + strings.Repeat("<p><i>x</i>", 8_000)
	wide := "<ul>" + strings.Repeat("<li>x", 20_000)
	scopes := strings.Repeat("<div itemscope itemtype=T itemprop=a>", 480) + strings.Repeat("word ", 10_000)
	nested := `<script type="application/ld+json">` + strings.Repeat(`{"@type":"T","a":`, 5000) + "1" + strings.Repeat("}", 5000) + "</script>"
	refs := strings.Repeat("<p id=a itemprop=b>", 400) + strings.Repeat("<p itemscope itemref='a a a a'>", 5000)
	f := fields(t, `
fields:
  - {name: a, css: "section div div div div i"}
  - {name: b, css: "li:first-of-type ~ li + li ~ b"}
  - {name: c, xpath: "//div//div//div//div//b"}
  - {name: d, microdata: T, property: a, many: true}
  - {name: e, json-ld: T, property: a.a.a, many: true}
  - {name: f, css: "*", many: true}
  - {name: g, xpath: "//li[count(preceding::li) > 5]/following::b"}
`)
	for name, source := range map[string]string{"deep": deep, "wide": wide, "scopes": scopes, "nested": nested, "refs": refs} {
		for i, vals := range f.Values(page(t, "https://example.org/", source)) {
			size := 0
			for _, v := range vals {
				size += len(v)
			}
			if len(vals) > 1000 || size > 1000*4096 {
				t.Errorf("%s: field %d has %d values of %d bytes", name, i, len(vals), size)
			}
		}
	}
}

// Things that refer to one another lead along a path to more values than anybody can
// follow: 3,000 to the power of 6, of which none has the last property. This test ends,
// and what comes before them is found.
func TestCircularReferences(t *testing.T) {
	refs := strings.Repeat(`{"@id":"x"},`, 3_000)
	p := page(t, "https://example.org/", `<script type="application/ld+json">[{"@type":"T","c":"found"},
{"@id":"x","@type":"T","a":[`+strings.TrimSuffix(refs, ",")+`]}]</script>`)
	f := fields(t, `
fields:
  - {name: none, json-ld: T, property: a.a.a.a.a.a.none}
  - {name: same, json-ld: T, property: a.a.a.a.a.a, many: true}
  - {name: found, json-ld: T, property: c}
`)
	got := f.Values(p)
	if len(got[0]) != 0 || len(got[1]) > 1 || len(got[2]) != 1 || got[2][0] != "found" {
		t.Errorf("values are %.200q", got)
	}
	if !p.Short() {
		t.Error("the page is not told to be short of steps")
	}
}

// An XPath looks at the first 64 KiB of a text, and its bytes are counted as steps: on a
// page of one large text and many elements it ends.
func TestXPathLongTexts(t *testing.T) {
	p := page(t, "https://example.org/", "<h1>"+strings.Repeat("é", 100_001)+"</h1><h2>"+strings.Repeat("<b>é</b>", 40_000)+"</h2><h3>"+strings.Repeat("x", 4<<20)+"</h3><p title="+strings.Repeat("y", 100_000)+">"+strings.Repeat("<i>a</i>", 20_000))
	f := fields(t, `
fields:
  - {name: text, xpath: "string-length(//h1)"}
  - {name: pieces, xpath: "string-length(//h2)"}
  - {name: node, xpath: "string-length(//h3/text())"}
  - {name: attribute, xpath: "string-length(//p/@title)"}
  - {name: short, xpath: "count(//h2[contains(., 'é')])"}
  - {name: endless, xpath: "count(//i[contains(/html/body/h3, 'z')])"}
`)
	got := f.Values(p)
	for i, want := range []string{"32768", "32768", "65536", "65536", "1", ""} {
		if strings.Join(got[i], "|") != want {
			t.Errorf("%s is %q, want %q", f.Names()[i], got[i], want)
		}
	}
}
