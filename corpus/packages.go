package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// Packages is a table of Debian documentation packages and the public address
// of each manual, one a line, parted by tabs; # begins a comment:
//
//	abs-guide	https://tldp.org/LDP/abs/html/
//	some-doc	https://example.org/manual/	/usr/share/doc/some/html
//
// The third field is the folder the address stands for. Where it is left out
// it is found: of the HTML files under /usr/share/doc/PACKAGE (or, without
// any there, of all the package's), the uppermost folder with an index.html;
// where several lie equally high, that named html or en, else the folder
// around them; where none has one, the folder around all the files.
//
// Every HTML file becomes a page; the address of a folder redirects to its
// index.html. The packages come from apt-get download, and are unpacked by
// dpkg-deb.
type Packages struct {
	Table string
	// Debs is a folder of .deb files to take instead of downloading; "" = none.
	Debs string
}

// pkg is a line of the table.
type pkg struct {
	line int
	name string
	base web.URL // ends in a slash
	root string  // "" = to be found
}

// errorAt says which line of the table an error is about.
func (x Packages) errorAt(p pkg, err error) error {
	return fmt.Errorf("%s, line %d: %s: %w", x.Table, p.line, p.name, err)
}

func (x Packages) table() ([]pkg, error) {
	if _, err := os.Stat(x.Table); err != nil {
		return nil, err
	}
	var list []pkg
	lines := map[string]int{}
	err := eachLine(x.Table, func(n int, line string) error {
		if strings.HasPrefix(line, "#") {
			return nil
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s, line %d: %s", x.Table, n, fmt.Sprintf(format, args...))
		}
		f := strings.Split(line, "\t")
		if len(f) < 2 || len(f) > 3 {
			return bad("want package, address and at will a folder, parted by tabs")
		}
		for _, r := range f[0] {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("+-.", r) {
				return bad("%q is not the name of a package", f[0])
			}
		}
		if f[0] == "" || strings.HasPrefix(f[0], "-") {
			return bad("%q is not the name of a package", f[0])
		}
		if first := lines[f[0]]; first > 0 {
			return bad("%s is in line %d already", f[0], first)
		}
		lines[f[0]] = n
		if !strings.HasSuffix(f[1], "/") {
			f[1] += "/"
		}
		base, err := web.Parse(f[1])
		if err != nil {
			return bad("%v", err)
		}
		p := pkg{line: n, name: f[0], base: base}
		if len(f) == 3 {
			p.root = strings.TrimPrefix(path.Clean(f[2]), "/")
		}
		list = append(list, p)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: no package in it", x.Table)
	}
	return list, err
}

func (x Packages) describe(b *builder) error {
	b.built.Manifest.Source = "Debian documentation packages"
	b.built.Manifest.Licence = "free documentation licences, see each package"
	return nil
}

func (x Packages) feed(ctx context.Context, b *builder) error {
	list, err := x.table()
	if err != nil {
		return err
	}
	tmp, err := b.scratch()
	if err != nil {
		return err
	}
	debs := x.Debs
	if debs == "" {
		debs = filepath.Join(tmp, "debs")
		if err := os.Mkdir(debs, 0o755); err != nil {
			return err
		}
		if err := x.download(ctx, b, list, debs); err != nil {
			return err
		}
	}
	t := tree{dir: filepath.Join(tmp, "files"), nodes: map[string]node{}, sub: map[string][]string{}}
	owned := make([][]string, len(list))
	for i, p := range list {
		b.opt.Progress(i, len(list), "unpacking "+p.name)
		files, err := filepath.Glob(filepath.Join(debs, p.name+"_*.deb"))
		if err != nil || len(files) == 0 {
			return x.errorAt(p, fmt.Errorf("no %s_….deb in %s", p.name, debs))
		}
		slices.Sort(files)
		if owned[i], err = t.unpack(ctx, files[len(files)-1]); err != nil {
			return x.errorAt(p, err)
		}
	}
	for i, p := range list {
		b.opt.Progress(i, len(list), "recording "+p.name)
		if err := x.record(ctx, b, &t, p, owned[i]); err != nil {
			return err
		}
	}
	return nil
}

// download fetches all packages at once; if that fails, one by one those that
// did not come, to tell which lines are at fault.
func (x Packages) download(ctx context.Context, b *builder, list []pkg, dir string) error {
	b.opt.Progress(0, len(list), "downloading packages")
	var names []string
	for _, p := range list {
		names = append(names, p.name)
	}
	if _, err := aptDownload(ctx, dir, names...); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	var errs []error
	for i, p := range list {
		if have, _ := filepath.Glob(filepath.Join(dir, p.name+"_*.deb")); len(have) > 0 {
			continue
		}
		b.opt.Progress(i, len(list), "downloading "+p.name)
		if out, err := aptDownload(ctx, dir, p.name); err != nil {
			errs = append(errs, x.errorAt(p, fmt.Errorf("apt-get download (its lists may be old: apt-get update): %w: %s", err, lastLine(out))))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

func aptDownload(ctx context.Context, dir string, names ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"download", "--quiet", "--"}, names...)...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	return cmd.CombinedOutput()
}

func lastLine(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, l := range slices.Backward(lines) {
		if bytes.HasPrefix(l, []byte("E:")) {
			return string(l)
		}
	}
	return string(lines[len(lines)-1])
}

// tree holds the folders, links and HTML files of all packages under their
// paths, without a leading slash.
type tree struct {
	dir   string // where the files lie, as DIR/NUMBER
	nodes map[string]node
	sub   map[string][]string // names in a folder
}

// node is an HTML file (file set) or a symbolic link (link set).
type node struct {
	file string
	link string
}

// Bounds on a package.
const (
	maxHTML  = maxBody
	maxNodes = 2_000_000
)

// unpack adds a package, and returns the paths of its HTML files.
func (t *tree) unpack(ctx context.Context, deb string) (files []string, err error) {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("unpacking needs dpkg-deb: %w", err)
	}
	files, err = t.read(tar.NewReader(out))
	if err != nil {
		cancel() // dpkg-deb may wait for us to read on
	} else {
		_, err = io.Copy(io.Discard, out)
	}
	if wait := cmd.Wait(); err == nil && wait != nil {
		err = fmt.Errorf("dpkg-deb: %w: %s", wait, lastLine(complaint.Bytes()))
	}
	return files, err
}

func (t *tree) read(r *tar.Reader) (files []string, err error) {
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		var n node
		switch h.Typeflag {
		case tar.TypeReg:
			if !isHTML(name) {
				continue
			}
			if h.Size > maxHTML {
				return nil, fmt.Errorf("%s has %d bytes: more than %d", name, h.Size, maxHTML)
			}
			n.file = filepath.Join(t.dir, fmt.Sprint(len(t.nodes)))
			if err := copyTo(n.file, r); err != nil {
				return nil, err
			}
			files = append(files, name)
		case tar.TypeLink:
			other := t.nodes[strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")]
			if other.file == "" || !isHTML(name) {
				continue
			}
			n = other
			files = append(files, name)
		case tar.TypeSymlink:
			n.link = h.Linkname
		default:
			continue
		}
		if len(t.nodes) == maxNodes {
			return nil, fmt.Errorf("more than %d files and links", maxNodes)
		}
		t.add(name, n)
	}
}

func copyTo(file string, r io.Reader) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

func (t *tree) add(name string, n node) {
	if _, ok := t.nodes[name]; ok {
		return
	}
	t.nodes[name] = n
	for name != "." {
		dir := path.Dir(name)
		known := t.sub[dir] != nil
		if !slices.Contains(t.sub[dir], path.Base(name)) {
			t.sub[dir] = append(t.sub[dir], path.Base(name))
		}
		if known {
			return
		}
		name = dir
	}
}

func isHTML(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, ".gz"))
	return strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm") || strings.HasSuffix(name, ".xhtml")
}

// resolve follows the symbolic links in a path, within the tree; false where
// that leads nowhere.
func (t *tree) resolve(name string) (string, bool) {
	const maxLinks = 40
	done, rest := "", name
	for links := 0; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		next := path.Join(done, part)
		n := t.nodes[next]
		if n.link == "" {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		to := n.link
		if !path.IsAbs(to) {
			to = path.Join("/", done, to)
		}
		rest = path.Join(strings.TrimPrefix(path.Clean(to), "/"), rest)
		done = ""
	}
	_, isNode := t.nodes[done]
	return done, isNode || t.sub[done] != nil
}

// walk lists the HTML files under a folder, links followed: path relative to
// the folder → where the content lies.
func (t *tree) walk(root string) map[string]string {
	found := map[string]string{}
	var visit func(rel string, above []string)
	visit = func(rel string, above []string) {
		at, ok := t.resolve(path.Join(root, rel))
		if !ok {
			return
		}
		if n := t.nodes[at]; n.file != "" {
			if isHTML(rel) {
				found[rel] = n.file
			}
			return
		}
		contains := func(dir string) bool { return at == "" || dir == at || strings.HasPrefix(dir, at+"/") }
		if slices.ContainsFunc(above, contains) { // a link to a folder above
			return
		}
		above = append(slices.Clone(above), at)
		for _, name := range t.sub[at] {
			visit(path.Join(rel, name), above)
		}
	}
	visit("", nil)
	return found
}

// root finds the folder that a package's address stands for.
func (t *tree) root(p pkg, owned []string) string {
	if p.root != "" {
		return p.root
	}
	doc := "usr/share/doc/" + p.name
	var files []string
	for rel := range t.walk(doc) {
		files = append(files, path.Join(doc, rel))
	}
	if len(files) == 0 {
		files = owned
	}
	if len(files) == 0 {
		return doc
	}
	slices.Sort(files)
	const deepest = 1 << 30
	depth := deepest
	var tops []string // the uppermost folders with an index.html
	for _, f := range files {
		if path.Base(strings.TrimSuffix(f, ".gz")) != "index.html" {
			continue
		}
		dir := path.Dir(f)
		d := strings.Count(dir, "/")
		if d < depth {
			depth, tops = d, nil
		}
		if d == depth {
			tops = append(tops, dir)
		}
	}
	for _, name := range []string{"html", "en"} { // beside other formats and languages
		if i := slices.IndexFunc(tops, func(dir string) bool { return path.Base(dir) == name }); i >= 0 {
			return tops[i]
		}
	}
	if tops == nil {
		for _, f := range files {
			tops = append(tops, path.Dir(f))
		}
	}
	common := tops[0]
	for _, dir := range tops {
		for dir != common && !strings.HasPrefix(dir, common+"/") {
			common = path.Dir(common)
		}
	}
	return common
}

// record hands over the pages of a package.
func (x Packages) record(ctx context.Context, b *builder, t *tree, p pkg, owned []string) error {
	root := t.root(p, owned)
	files := t.walk(root)
	if len(files) == 0 {
		return x.errorAt(p, fmt.Errorf("no HTML file under /%s", root))
	}
	var rels []string
	for rel := range files {
		rels = append(rels, rel)
	}
	slices.Sort(rels)
	from := fmt.Sprintf("%s, line %d", x.Table, p.line)
	for _, rel := range rels {
		if err := b.put(ctx, func() result { return x.page(b, p, from, rel, files[rel]) }); err != nil {
			return err
		}
	}
	for _, rel := range rels { // behind all pages, which go first where both are
		plain := strings.TrimSuffix(rel, ".gz")
		if path.Base(plain) != "index.html" {
			continue
		}
		to, err := p.address(plain)
		if err != nil {
			return x.errorAt(p, err)
		}
		dir := strings.TrimSuffix(plain, "index.html")
		names := []string{dir}
		if dir != "" {
			names = append(names, strings.TrimSuffix(dir, "/"))
		}
		for _, name := range names {
			u, err := p.address(name)
			if err != nil {
				return x.errorAt(p, err)
			}
			if err := b.put(ctx, func() result { return b.redirect(from, u, to) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// address is the public address of a path below the package's folder.
func (p pkg) address(rel string) (web.URL, error) {
	return web.Parse(p.base.String() + (&url.URL{Path: rel}).EscapedPath())
}

func (x Packages) page(b *builder, p pkg, from, rel, file string) result {
	body, err := os.ReadFile(file)
	if err == nil && bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		body, err = gunzip(body)
	}
	if err != nil {
		return result{err: x.errorAt(p, fmt.Errorf("%s: %w", rel, err))}
	}
	u, err := p.address(strings.TrimSuffix(rel, ".gz"))
	if err != nil {
		return result{err: x.errorAt(p, err)}
	}
	mime := "text/html"
	if strings.HasSuffix(strings.TrimSuffix(rel, ".gz"), ".xhtml") {
		mime = "application/xhtml+xml"
	}
	return b.page(from, u, 200, mime, time.Time{}, b.now, body)
}

func gunzip(data []byte) ([]byte, error) {
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(gz, maxHTML+1))
	if err == nil && len(body) > maxHTML {
		err = fmt.Errorf("more than %d bytes unzipped", maxHTML)
	}
	return body, err
}
