package taxonomy_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// head is the first line of a taxonomy.
const head = "# waggle taxonomy 1\n"

const structure = `<?xml version='1.0' encoding='UTF-8' ?>
<RDF xmlns:r="http://www.w3.org/TR/RDF/" xmlns:d="http://purl.org/dc/elements/1.0/" xmlns="http://dmoz.org/rdf/">
<!-- Generated at 2008-01-28 <00:00:00> -->
<Topic r:id="">
  <catid>1</catid>
</Topic>
<Topic r:id="Top">
  <catid>2</catid>
  <d:Title>Top</d:Title>
  <narrow r:resource="Top/Arts"/>
  <symbolic r:resource="Songs:Top/Arts/Music"/>
</Topic>
<Topic r:id="Top/Arts">
  <catid>3</catid>
  <d:Description>&lt;p&gt;Pictures &amp; sounds</d:Description>
  <narrow1 r:resource="Top/Arts/Music"></narrow1>
  <narrow2 r:resource="Top/Arts/Poetry"/>
  <related r:resource="Top"/>
</Topic>
<Topic r:id="Top/Arts/Music"><catid>4</catid><altlang r:resource="French:Top/World/Français/Arts/Musique"/></Topic>
<Topic r:id="Top/Arts/Poetry"><catid>5</catid></Topic>
<Alias r:id="Songs:Top/Arts/Music"><d:Title>Songs</d:Title><Target r:resource="Top/Arts/Music"/></Alias>
</RDF>
`

const content = `<?xml version="1.0" encoding="UTF-8"?>
<RDF xmlns:r="http://www.w3.org/TR/RDF/" xmlns:d="http://purl.org/dc/elements/1.0/" xmlns="http://dmoz.org/rdf/">
<Topic r:id="Top/Arts"><catid>3</catid><link r:resource="http://a.example/"/></Topic>
<ExternalPage about="http://a.example/">
  <d:Title>A &amp; B</d:Title>
  <d:Description>All of &quot;A&quot;
and B &#8212; more</d:Description>
  <priority>1</priority>
  <topic>Top/Arts</topic>
</ExternalPage>
<Topic r:id="Top/Arts/Music"><catid>4</catid></Topic>
<ExternalPage about='http://m.example/?a=1&amp;b=2'>
  <d:Title><![CDATA[Notes <b>]]></d:Title>
  <d:Description></d:Description>
  <topic>Top/Arts/Music</topic>
</ExternalPage>
<ExternalPage about="http://old.example/"><d:Title>Before topics were named</d:Title></ExternalPage>
</RDF>`

func importRDF(t testing.TB, structure, content string, o taxonomy.Options) (string, taxonomy.ImportReport, error) {
	t.Helper()
	var out bytes.Buffer
	s := taxonomy.Dump{Name: "structure.rdf.u8"}
	if structure != "" {
		s.Reader = strings.NewReader(structure)
	}
	got, err := taxonomy.ImportRDF(&out, s, taxonomy.Dump{Name: "content.rdf.u8", Reader: strings.NewReader(content)}, o)
	return out.String(), got, err
}

// A dump becomes lines: tree links of all three kinds, none of the cross-links,
// entities and CDATA, and pages of the oldest dumps, which name no topic.
func TestDump(t *testing.T) {
	out, got, err := importRDF(t, structure, content, taxonomy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := head + "# imported from an Open Directory dump\n" +
		"/Arts\t\t\tPictures & sounds\n" +
		"/Arts\thttp://a.example/\tA & B\tAll of \"A\" and B — more\n" +
		"/Arts/Music\thttp://m.example/?a=1&b=2\tNotes <b>\n" +
		"/Arts/Music\thttp://old.example/\tBefore topics were named\n" +
		"/Arts/Poetry\n"
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	given := taxonomy.Tally{N: 1, First: []string{"http://old.example/ under /Arts/Music"}}
	if want := (taxonomy.ImportReport{Topics: 4, Examples: 3, Empty: []string{"/Arts/Poetry"}, Given: given}); !cmp.Equal(want, got) {
		t.Errorf("%s", cmp.Diff(want, got))
	}

	out, got, err = importRDF(t, structure, content, taxonomy.Options{Under: "Arts/Music"})
	if err != nil || strings.Contains(out, "a.example") || got.Examples != 2 {
		t.Errorf("under /Arts/Music: %+v, %v\n%s", got, err, out)
	}
	_, _, err = importRDF(t, "", content, taxonomy.Options{Under: "/Arts/Musik"})
	if err == nil || !strings.Contains(err.Error(), "there is not one example of /Arts/Musik (near names: /Arts/Music") {
		t.Errorf("under a topic that is misspelt: %v", err)
	}
	_, got, err = importRDF(t, "", content, taxonomy.Options{})
	if err != nil || got.Examples != 3 || got.Empty != nil {
		t.Errorf("without a structure: %+v, %v", got, err)
	}
}

// pageOf is a content file of one page.
func pageOf(page string) string {
	return "<RDF>\n<Topic r:id=\"Top/A\"></Topic>\n" + page + "\n</RDF>"
}

// What is broken in the letters of real dumps is mended and counted; what
// cannot be an example is counted and left out.
func TestDumpLetters(t *testing.T) {
	const good = `<ExternalPage about="http://a.example/"><d:Title>%s</d:Title><topic>Top/A</topic></ExternalPage>`
	for _, c := range []struct {
		title, want string
		mended      int
	}{
		{"caf\xe9", "caf\uFFFD", 1},
		{"one\x01two\x1fthree", "one two three", 2},
		{"R&D &unknown; &amp;amp;", "R&D &unknown; &amp;", 0},
		{"tab\tand\r\nline", "tab and  line", 0},
		{"C1 \u0085 and \u2028", "C1   and", 0},
		{"x < y and 3<4 <", "x < y and 3<4 <", 3},
		{"<p>An <b>old</b> hall<br>of <a href=hive.html>bees</a>", "An old hallof bees", 6},
		{strings.Repeat("é", 5000), strings.Repeat("é", 2000), 0},
	} {
		out, got, err := importRDF(t, "", pageOf(fmt.Sprintf(good, c.title)), taxonomy.Options{})
		if err != nil {
			t.Errorf("%.20q: %v", c.title, err)
			continue
		}
		line := strings.Split(out, "\n")[2]
		if title := strings.Split(line, "\t")[2]; title != c.want || got.Mended != c.mended {
			t.Errorf("%.20q became %.40q with %d mended, want %.40q with %d", c.title, title, got.Mended, c.want, c.mended)
		}
	}
	two := `<ExternalPage about="mailto:x@example.org"/><ExternalPage about="http://b.example/"/>`
	_, got, err := importRDF(t, "", pageOf(two), taxonomy.Options{})
	if err != nil || got.Examples != 1 || got.Unusable.N != 1 || !strings.Contains(got.Unusable.First[0], "mailto:") {
		t.Errorf("a mail address: %+v, %v", got, err)
	}
	_, got, err = importRDF(t, `<RDF><Topic r:id="Top/B"/></RDF>`, pageOf(`<ExternalPage about="http://b.example/"/>`), taxonomy.Options{})
	if err != nil || got.Unknown.N != 1 || got.Unknown.First[0] != "/A" || !cmp.Equal(got.Empty, []string{"/B"}) {
		t.Errorf("a topic that the structure lacks: %+v, %v", got, err)
	}
}

// What is broken as a tree of elements is an error that names file and line.
func TestDumpBroken(t *testing.T) {
	const page = `<ExternalPage about="http://a.example/"><topic>Top/A</topic></ExternalPage>`
	for name, c := range map[string]struct{ structure, content, want string }{
		"truncated": {"", content[:len(content)-40], "content.rdf.u8:17: the file is truncated: it ends within <Title> of line 17"},
		"cut between records": {"", strings.TrimSuffix(content, "</RDF>"),
			"content.rdf.u8:18: the file is truncated: it ends within <RDF> of line 2. Get it again"},
		"cut in a tag":          {"", "<RDF>\n<Topic r:i", "content.rdf.u8:2: the file is truncated: it ends within <RDF>"},
		"cut in a comment":      {"", "<RDF>\n<!-- ", "content.rdf.u8:2: the file is truncated"},
		"empty":                 {"", "", "content.rdf.u8:1: the file is truncated: it ends before its first record"},
		"structure truncated":   {structure[:strings.Index(structure, "<symbolic")], content, "structure.rdf.u8:11: the file is truncated: it ends within <Topic> of line 7"},
		"another kind of file":  {"", "<html><body>", "content.rdf.u8:1: no dump of the Open Directory: it begins with <html>"},
		"nested wrongly":        {"", "<RDF>\n<Topic r:id='Top/A'>\n<catid>\n</Topic></RDF>", "content.rdf.u8:4: </Topic> stands where <catid> of line 3 should end"},
		"ends twice":            {"", pageOf(page) + "\n<Topic/>", "content.rdf.u8:5: <Topic> follows the end of the dump"},
		"no quotes":             {"", "<RDF><Topic id=Top/A></Topic></RDF>", "the value of the attribute id of <Topic> is not in quotes"},
		"quote left open":       {"", pageOf(`<ExternalPage about="http://a.example/><d:Title>` + strings.Repeat("x", 100_000)), "a tag of more than 65536 bytes that begins <ExternalPage about"},
		"no topic":              {"", "<RDF>" + strings.Replace(page, "<topic>Top/A</topic>", "", 1) + "</RDF>", "there is not one example; the first that was left out: the page http://a.example/ has no topic"},
		"another encoding":      {"", `<?xml version="1.0" encoding="ISO-8859-1"?>` + pageOf(page), `its encoding is "ISO-8859-1": convert it to UTF-8 first`},
		"nothing in it":         {"", "<RDF></RDF>", "there is not one example; the file holds no ExternalPage: those are in content.rdf.u8"},
		"nothing of use":        {"", pageOf(`<ExternalPage about="ftp://x.example/"/>`), "no address was usable, the first: ftp://x.example/ under /A"},
		"empty name":            {"", pageOf(strings.Replace(page, "Top/A", "Top/A//B", 1)), "has an empty name between two slashes"},
		"deep":                  {"", "<RDF>" + strings.Repeat("<a>", 40), "nested deeper than 32"},
		"a parent as narrower":  {`<RDF><Topic r:id="Top/A/B"><narrow r:resource="Top/A"/></Topic></RDF>`, pageOf(page), "/A/B → /A → /A/B. Remove one"},
		"a cycle of two topics": {`<RDF><Topic r:id="Top/A"><narrow r:resource="Top/B"/></Topic><Topic r:id="Top/B/C"><narrow r:resource="Top/A"/></Topic></RDF>`, pageOf(page), "structure.rdf.u8: the topics are no tree"},
	} {
		_, _, err := importRDF(t, c.structure, c.content, taxonomy.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v\nwant %s", name, err, c.want)
		}
	}
	// A record that cannot be taken is left out, and what stands before and behind it is not.
	long := strings.Repeat("x", 70_000)
	_, got, err := importRDF(t, `<RDF><Topic r:id="Top/A"><narrow r:resource="Top/A"/><narrow r:resource="Top/../etc"/></Topic><Topic r:id="Top/`+long+`"/></RDF>`,
		pageOf(page+
			strings.Replace(page, "a.example/", long, 1)+
			strings.Replace(page, "Top/A", "Top/"+strings.Repeat("deep/", 2000), 1)+
			strings.Replace(page, "<topic>Top/A</topic>", "", 1)+
			strings.Replace(page, "a.example", "who:secret@a.example", 1)+
			strings.Replace(page, "a.example", "b.example", 1)), taxonomy.Options{})
	var said strings.Builder
	got.WriteNotes(&said, taxonomy.Options{})
	if err != nil || got.Examples != 2 || got.Repeated != 1 || got.LeftOut.N != 5 || got.Given.N != 1 || got.Unusable.N != 1 || strings.Contains(said.String(), "secret") {
		t.Errorf("records that cannot be taken: %+v, %v\n%s", got, err, said.String())
	}
	for _, want := range []string{"records left out: 5\n  /A lists itself as narrower", `has the name ".."`, "structure.rdf.u8:1: a tag of more than 65536 bytes", "a.example under /A: "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("there is no %q in\n%s", want, said.String())
		}
	}
	// A dump of which the end is lost can be taken as far as it goes, but not
	// what is none at all.
	var out string
	out, got, err = importRDF(t, structure[:strings.Index(structure, "<symbolic")], content[:len(content)-40], taxonomy.Options{Partial: true})
	if err != nil || got.Examples != 2 || strings.Count(out, "http") != 2 ||
		!cmp.Equal(got.Cut, []string{"structure.rdf.u8:11: it ends within <Topic> of line 7", "content.rdf.u8:17: it ends within <Title> of line 17"}) {
		t.Errorf("as far as it goes: %+v, %v\n%s", got, err, out)
	}
	if _, _, err := importRDF(t, "", "", taxonomy.Options{Partial: true}); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("nothing, as far as it goes: %v", err)
	}
	// Names alone make a tree of any dump.
	circle := `<RDF><Topic r:id="Top/A"><narrow r:resource="Top/A"/></Topic></RDF>`
	if _, _, err := importRDF(t, circle, pageOf(page), taxonomy.Options{NamesOnly: true}); err != nil {
		t.Errorf("by names alone: %v", err)
	}
	// A narrow line that leads elsewhere without a circle does no harm.
	aside := `<RDF><Topic r:id="Top/A"><narrow r:resource="Top/B/C"/></Topic></RDF>`
	if _, _, err := importRDF(t, aside, pageOf(page), taxonomy.Options{}); err != nil {
		t.Errorf("narrow aside: %v", err)
	}
}

// long is a reader of n bytes of something, between a beginning and an end.
func long(begin, something, end string, n int) io.Reader {
	var parts []io.Reader
	block := strings.Repeat(something, 1<<16/len(something))
	parts = append(parts, strings.NewReader(begin))
	for range n / len(block) {
		parts = append(parts, strings.NewReader(block))
	}
	return io.MultiReader(append(parts, strings.NewReader(end))...)
}

// Whatever is long in a dump, it is not kept in memory.
func TestDumpIsAStream(t *testing.T) {
	const page = "<ExternalPage about='http://a.example/'>"
	const rest = "<topic>Top/A</topic></ExternalPage></RDF>"
	for name, c := range map[string][3]string{
		"comment":     {"<RDF><!-- ", "x - <y> ", " -->" + page + rest},
		"instruction": {"<?xml ", "x ? <y> ", "?><RDF>" + page + rest},
		"description": {"<RDF>" + page + "<d:Description>", "many words ", "</d:Description>" + rest},
		"cdata":       {"<RDF>" + page + "<d:Title><![CDATA[", "]] <many> ", "]]></d:Title>" + rest},
		"stray text":  {"<RDF>", "text\n", page + rest},
		"one topic":   {"<RDF><Topic r:id='Top/A'>", "<link r:resource='http://x.example/'/>", "</Topic>" + page + rest},
	} {
		in := long(c[0], c[1], c[2], 3<<20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		peak := uint64(0)
		got, err := taxonomy.ImportRDF(io.Discard, taxonomy.Dump{}, taxonomy.Dump{Name: "content", Reader: in}, taxonomy.Options{Progress: func(int) {
			runtime.GC()
			runtime.ReadMemStats(&after)
			peak = after.HeapAlloc
		}})
		if err != nil || got.Examples != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if grown := int64(peak) - int64(before.HeapAlloc); grown > 1<<20 {
			t.Errorf("%s: 3 MiB of it and %d KiB are kept", name, grown>>10)
		}
	}
}

func TestTable(t *testing.T) {
	for name, c := range map[string]struct{ in, want, err string }{
		"tabs": {in: "Arts/Music\thttp://a.example\n\n# a comment\n/Arts/Music/\thttp://b.example/x#y\tTitle\tText\r\n",
			want: "/Arts/Music\thttp://a.example/\n/Arts/Music\thttp://b.example/x\tTitle\tText\n"},
		"commas and a heading": {in: "\uFEFFtopic,url,title\n\"Arts, fine\",http://a.example/,\"He said \"\"A\"\"\"\n",
			want: "/Arts, fine\thttp://a.example/\tHe said \"A\"\n"},
		"broken letters":    {in: "A\thttp://a.example/\tcaf\xe9\n", want: "/A\thttp://a.example/\tcaf\uFFFD\n"},
		"one column":        {in: "/A http://a.example/\n", err: "t.csv:1: \"/A http://a.example/\" is one column"},
		"one column below":  {in: "/A,http://a.example/\nB\n", err: "t.csv:2: \"B\" is one column"},
		"no topic":          {in: "a,http://a.example/\n,http://b.example/\n", err: "t.csv:2: the address http://b.example/ has no topic"},
		"a name is missing": {in: "a,http://a.example/\na//b,http://b.example/\n", err: "t.csv:2: the topic \"a//b\" has an empty name"},
		"the wrong way":     {in: "http://a.example/,A\nhttp://b.example/,B\n", err: "t.csv:1: the address http://a.example/ stands in the first column"},
		"headed wrongly":    {in: "url,topic\nhttp://a.example/,A\n", err: "t.csv:2: the address http://a.example/ stands in the first column"},
		"quotes":            {in: "\"a,http://a.example/\n", err: "t.csv:1: "},
		"long line":         {in: "a," + strings.Repeat("x", 70_000), err: "t.csv:1: the line is longer than 65536 bytes"},
		"deep":              {in: strings.Repeat("a/", 70) + ",http://a.example/\n", err: "70 names in 140 bytes; 64 and 1000 are the most"},
		"empty":             {in: "", err: "t.csv: there is not one example"},
		"no addresses":      {in: "topic,url\na,b\n", err: "no address was usable, the first: b under /a"},
	} {
		var out bytes.Buffer
		_, err := taxonomy.ImportTable(&out, strings.NewReader(c.in), "t.csv", taxonomy.Options{})
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %s", name, err, c.err)
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.err == "":
			if diff := cmp.Diff(head+"# imported from a table\n"+c.want, out.String()); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		}
	}
}

// An address under two topics is reported, and goes where one wishes; twice
// under the same topic it counts once. Spellings of one address are the same.
func TestTwice(t *testing.T) {
	const in = "A\thttp://x.example/\nB\thttp://X.example:80/#top\nB\thttp://y.example/\nB\thttp://y.example\n"
	for _, c := range []struct {
		how      taxonomy.Twice
		examples int
		err      string
	}{
		{"", 2, ""},
		{taxonomy.TwiceFirst, 2, ""},
		{taxonomy.TwiceAll, 3, ""},
		{taxonomy.TwiceError, 0, "t:2: http://x.example/ is an example of two topics, /A and /B: take it out of one"},
		{"both", 0, `what becomes of addresses listed twice is "both"; choose first, all or error`},
	} {
		got, err := taxonomy.ImportTable(io.Discard, strings.NewReader(in), "t", taxonomy.Options{Twice: c.how})
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%q: error %v, want %s", c.how, err, c.err)
			}
			continue
		}
		if err != nil || got.Examples != c.examples || got.Twice.N != 1 || got.Repeated != 1 || got.Twice.First[0] != "http://x.example/ under /A and /B" {
			t.Errorf("%q: %+v, %v", c.how, got, err)
		}
	}
}

func TestFolder(t *testing.T) {
	tree := fstest.MapFS{
		"Arts/Music/a.html":   {Data: []byte("<p>a")},
		"Arts/Music/B.HTM":    {Data: []byte("<p>b")},
		"Arts/links.txt":      {Data: []byte("# good ones\nhttp://a.example/ # why\n\nhttp://b.example/\n")},
		"Arts/photo.jpg":      {Data: []byte{0xff}},
		"Arts/.hidden/x.html": {Data: []byte("<p>x")},
		"Poetry/notes.md":     {Data: []byte("-")},
	}
	var out bytes.Buffer
	got, err := taxonomy.ImportFolder(t.Context(), &out, tree, taxonomy.Options{Prefix: "../pages"})
	if err != nil {
		t.Fatal(err)
	}
	want := head + "# imported from a folder\n" +
		"/Arts/Music\tfile:../pages/Arts/Music/B.HTM\n/Arts/Music\tfile:../pages/Arts/Music/a.html\n" +
		"/Arts\thttp://a.example/\n/Arts\thttp://b.example/\n/Poetry\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.Ignored != 2 || got.Topics != 4 {
		t.Errorf("%+v", got)
	}
	tree["Arts/links.txt"].Data = bytes.Repeat([]byte{'x'}, 70_000)
	if _, err := taxonomy.ImportFolder(t.Context(), io.Discard, tree, taxonomy.Options{}); err == nil || !strings.Contains(err.Error(), "Arts/links.txt:1: the line is longer") {
		t.Errorf("a list of one long line: %v", err)
	}

	// A link to a folder may lead in a circle, and is not followed.
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "A"), 0o755), os.WriteFile(filepath.Join(dir, "A", "a.html"), nil, 0o644), os.Symlink("..", filepath.Join(dir, "A", "up"))); err != nil {
		t.Fatal(err)
	}
	got, err = taxonomy.ImportFolder(t.Context(), io.Discard, os.DirFS(dir), taxonomy.Options{})
	if err != nil || got.Examples != 1 || got.Ignored != 1 {
		t.Errorf("a circle: %+v, %v", got, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "x:1: the file is empty",
		"/A\thttp://a.example/\n":       "x:1: it is no taxonomy of waggle",
		head + "A\thttp://a.example/\n": `x:2: the topic "A" should be written "/A"`,
		head + "/A\tnothing\n":          `x:2: the example "nothing"`,
		head + "/A\thttp://a.example/\ta\tb\tc\n":          "x:2: 5 columns",
		head + "/A\thttp://a.example/\tcaf\xe9\n":          "x:2: broken UTF-8",
		head + "/A\t" + strings.Repeat("x", 70_000) + "\n": "x:2: the line is longer",
	} {
		_, err := taxonomy.ReadTree(strings.NewReader(in), "x")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", in, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, "text")
	w.Close()
	for name, b := range map[string][]byte{"plain": []byte("text"), "zipped": z.Bytes(), "empty": nil, "cut.gz": z.Bytes()[:5], "torn.gz": z.Bytes()[:len(z.Bytes())-6]} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		var got []byte
		in, err := taxonomy.Open(path)
		if err == nil {
			got, err = io.ReadAll(in)
			in.Close()
		}
		switch {
		case strings.HasSuffix(name, ".gz") != (err != nil):
			t.Errorf("%s: %v", name, err)
		case err == nil && name != "empty" && string(got) != "text":
			t.Errorf("%s holds %q", name, got)
		}
	}
}

func TestPaths(t *testing.T) {
	if got, want := taxonomy.Prefixes("/Computers/Software/Linux"), []string{"/", "/Computers", "/Computers/Software", "/Computers/Software/Linux"}; !slices.Equal(got, want) {
		t.Errorf("prefixes %v, want %v", got, want)
	}
	if got := taxonomy.Prefixes("/"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("prefixes of the root: %v", got)
	}
	if !taxonomy.Covers("/A", "/A/B") || taxonomy.Covers("/A", "/AB") || !taxonomy.Covers("/", "/A") || taxonomy.Covers("/A/B", "/A") {
		t.Error("Covers is wrong")
	}
	all := []string{"/", "/Recreation", "/Recreation/Outdoors/Fishing", "/Recreation/Outdoors/Speleology", "/Science/Astronomy", "/Sports/Hockey/Ice_Hockey"}
	for in, want := range map[string]string{
		"/Recreation/Outdoors/Fishing/Fly_Fishing": "/Recreation/Outdoors/Fishing", // folded
		"/Outdoors/Speleology":                     "/Recreation/Outdoors/Speleology",
		"Science/Astronmy":                         "/Science/Astronomy",
		"/sports/hockey/ice_hockey":                "/Sports/Hockey/Ice_Hockey",
	} {
		if got := taxonomy.Near(in, slices.Values(all), 3); len(got) == 0 || got[0] != want {
			t.Errorf("near %s: %v, want %s first", in, got, want)
		}
	}
	if got := taxonomy.Near("/Zzz/Qqq", slices.Values(all), 3); len(got) > 0 {
		t.Errorf("near nothing: %v", got)
	}
}

// lines makes a taxonomy of topics with so many examples each.
func lines(counts map[string]int) string {
	var b strings.Builder
	w := taxonomy.NewWriter(&b)
	var topics []string
	for t := range counts {
		topics = append(topics, t)
	}
	slices.Sort(topics)
	for _, t := range topics {
		for i := range counts[t] {
			w.Write(taxonomy.Example{Topic: t, Source: fmt.Sprintf("http://h%d.example%s", i, strings.ReplaceAll(t, " ", "_"))})
		}
		if counts[t] == 0 {
			w.Write(taxonomy.Example{Topic: t})
		}
	}
	w.Close()
	return b.String()
}

func prune(in string, o taxonomy.Pruning) (map[string][]string, taxonomy.PruneReport, error) {
	var out bytes.Buffer
	p, err := taxonomy.Prune(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(in)), nil }, "in", &out, o)
	if err != nil {
		return nil, p, err
	}
	got := map[string][]string{}
	for e, err := range taxonomy.Read(&out, "out") {
		if err != nil {
			return nil, p, err
		}
		got[e.Topic] = append(got[e.Topic], e.Source)
	}
	return got, p, nil
}
