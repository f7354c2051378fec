package corpus

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deb makes a package of files; a value that begins with "->" is a link.
func deb(t *testing.T, dir, name string, files map[string]string) {
	t.Helper()
	root := t.TempDir()
	files["DEBIAN/control"] = fmt.Sprintf("Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n", name)
	for path, text := range files {
		path = filepath.Join(root, path)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			if to, ok := strings.CutPrefix(text, "->"); ok {
				err = os.Symlink(to, path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "--build", root, filepath.Join(dir, name+"_1_all.deb")).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v: %s", err, out)
	}
}

func TestPackages(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs dpkg-deb: install the package dpkg")
	}
	debs := t.TempDir()
	var zipped bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	gz.Write([]byte("<p>zipped"))
	gz.Close()
	deb(t, debs, "one-doc", map[string]string{
		"usr/share/doc/one-doc/copyright":               "free",
		"usr/share/doc/one-doc/html/index.html":         "<a href=sub/>sub</a>",
		"usr/share/doc/one-doc/html/z.html.gz":          zipped.String(),
		"usr/share/doc/one-doc/html/sub/index.html":     "sub",
		"usr/share/doc/one-doc/html/a b#c.html":         "odd name",
		"usr/share/doc/one-doc/html/picture.png":        "no page",
		"usr/share/doc/one-doc/html/loop":               "->..",
		"usr/share/doc/one-doc/html/passwd.html":        "->/etc/passwd",
		"usr/share/doc/one-doc/html/up.html":            "->../../../../../../../../etc/hostname",
		"usr/share/doc/one-doc/examples/deep/page.html": "no part of the manual",
	})
	deb(t, debs, "two", map[string]string{ // its manual lies in another package
		"usr/share/doc/two/manual": "->../two-common/m",
	})
	deb(t, debs, "two-common", map[string]string{
		"usr/share/doc/two-common/m/first.htm":  "first",
		"usr/share/doc/two-common/m/x/next.htm": "next",
	})
	deb(t, debs, "three", map[string]string{ // nothing under /usr/share/doc
		"usr/share/three/help/en/index.html": "help",
	})
	table := filepath.Join(t.TempDir(), "packages.tsv")
	text := "# manuals\none-doc\thttps://one.example/manual\ntwo\thttp://two.example/\ntwo-common\thttp://common.example/\t/usr/share/doc/two-common\nthree\thttps://three.example/en/\n"
	if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w, built := build(t, Packages{Table: table, Debs: debs})
	var got []string
	for u := range w.URLs() {
		r, err := w.Lookup(u)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status == 301 {
			got = append(got, fmt.Sprintf("%s → %s", u, r.Location))
		} else {
			got = append(got, fmt.Sprintf("%s %s", u, r.Body))
		}
	}
	want := []string{
		"http://common.example/m/first.htm first",
		"http://common.example/m/x/next.htm next",
		"http://two.example/first.htm first",
		"http://two.example/x/next.htm next",
		"https://one.example/manual/ → https://one.example/manual/index.html",
		"https://one.example/manual/a%20b%23c.html odd name",
		"https://one.example/manual/index.html <a href=sub/>sub</a>",
		"https://one.example/manual/sub → https://one.example/manual/sub/index.html",
		"https://one.example/manual/sub/ → https://one.example/manual/sub/index.html",
		"https://one.example/manual/sub/index.html sub",
		"https://one.example/manual/z.html <p>zipped",
		"https://three.example/en/ → https://three.example/en/index.html",
		"https://three.example/en/index.html help",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n\t%s\nwant\n\t%s\nnotes %q", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), built.Notes)
	}
}

func TestPackageTable(t *testing.T) {
	for _, c := range []struct{ table, say string }{
		{"", "no package in it"},
		{"# nothing\n", "no package in it"},
		{"a-doc\n", "line 1: want package, address"},
		{"\na-doc\tnothing\n", "line 2: address"},
		{"a-doc\tftp://a.example/\n", "line 1: address"},
		{"--help\thttp://a.example/\n", `line 1: "--help" is not the name`},
		{"A_b\thttp://a.example/\n", `line 1: "A_b" is not the name`},
		{"a\thttp://a.example/\na\thttp://b.example/\n", "line 2: a is in line 1 already"},
		{"a\thttp://a.example/\n", "line 1: a: no a_….deb in"},
	} {
		table := filepath.Join(t.TempDir(), "packages.tsv")
		if err := os.WriteFile(table, []byte(c.table), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Build(t.Context(), filepath.Join(t.TempDir(), "web"), Packages{Table: table, Debs: t.TempDir()}, options)
		if err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("table %q: got %v, want %q", c.table, err, c.say)
		}
	}
}
