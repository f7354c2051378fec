// Command release makes the archives of a release: waggle for several systems, with
// completion scripts, man pages, licences and README.
//
//	go run ./internal/release -o dist
//
// The same revision and the same version of Go give the same bytes: times are those
// of the revision, names are sorted, and paths of the machine are left out. Beside the
// archives stands SHA256SUMS.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/internal/licence"
)

// targets are the systems that a release is for.
const targets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// documents go into each archive, from the root of the repository.
var documents = []string{"CHANGELOG.md", "LICENSE", "NOTICE", "README.md"} // fixed

// shells are those with a completion script.
var shells = []string{"bash", "fish", "zsh"} // fixed

func main() {
	out := flag.String("o", "dist", "folder of the archives")
	list := flag.String("targets", targets, "systems, as GOOS/GOARCH")
	modified := flag.Bool("modified", false, "release a source that differs from its revision, for trying")
	flag.Parse()
	if err := release(*out, strings.Split(*list, ","), *modified); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// entry is a file of an archive.
type entry struct {
	name string
	data []byte
	run  bool // it is a program
}

// build is what waggle version --json tells.
type build struct {
	Version  string
	Revision string
	Time     time.Time
	Modified bool
}

func release(out string, targets []string, modified bool) error {
	tmp, err := os.MkdirTemp("", "waggle-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	here := filepath.Join(tmp, "waggle")
	if err := compile(here, "", ""); err != nil {
		return err
	}
	told, err := output(here, "version", "--json")
	if err != nil {
		return err
	}
	var b build
	if err := json.Unmarshal(told, &b); err != nil {
		return err
	}
	switch {
	case b.Revision == "":
		return errors.New("the revision is not known: release from a clone with its .git folder, which go build reads")
	case b.Modified && !modified:
		return errors.New("the source differs from its revision: commit it first")
	}
	var systems []string
	for _, target := range targets {
		system, _, _ := strings.Cut(target, "/")
		systems = append(systems, system)
	}
	slices.Sort(systems)
	common, err := commonEntries(here, tmp, slices.Compact(systems))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, target := range targets {
		system, arch, ok := strings.Cut(target, "/")
		if !ok {
			return fmt.Errorf("%q is no GOOS/GOARCH", target)
		}
		name := fmt.Sprintf("waggle_%s_%s_%s", b.Version, system, arch)
		data, file, err := archive(name, system, arch, tmp, common, b.Time)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, file), data, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), file)
		fmt.Printf("%s  %.1f MB\n", file, float64(len(data))/1e6)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// archive makes the archive of one system, and returns the name of its file too.
func archive(name, system, arch, tmp string, common []entry, at time.Time) (data []byte, file string, err error) {
	program := "waggle"
	if system == "windows" {
		program = "waggle.exe"
	}
	path := filepath.Join(tmp, name)
	if err := compile(path, system, arch); err != nil {
		return nil, "", err
	}
	bin, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	if err := os.Remove(path); err != nil {
		return nil, "", err
	}
	entries := []entry{{name + "/" + program, bin, true}}
	for _, e := range common {
		entries = append(entries, entry{name + "/" + e.name, e.data, false})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	if system == "windows" {
		data, err = zipped(entries, at)
		return data, name + ".zip", err
	}
	data, err = tarred(entries, at)
	return data, name + ".tar.gz", err
}

// compile builds waggle for a system; "" is this one.
func compile(out, system, arch string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", out, "./cmd/waggle")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch, "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s/%s: %w\n%s", system, arch, err, text)
	}
	return nil
}

// commonEntries are the files that are the same for all systems, among them the
// licences of what the program is linked with.
func commonEntries(waggle, tmp string, systems []string) (entries []entry, err error) {
	for _, name := range documents {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: name, data: data})
	}
	texts, err := licence.Texts(".", "./cmd/waggle", systems...)
	if err != nil {
		return nil, err
	}
	var licences bytes.Buffer
	if err := licence.Write(&licences, texts); err != nil {
		return nil, err
	}
	entries = append(entries, entry{name: "DEPENDENCIES.txt", data: licences.Bytes()})
	for _, shell := range shells {
		data, err := output(waggle, "completion", shell)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: "completion/waggle." + shell, data: data})
	}
	man := filepath.Join(tmp, "man1")
	if _, err := output(waggle, "man", "-o", man); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(man, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		entries = append(entries, entry{name: "man/man1/" + d.Name(), data: data})
		return err
	})
	return entries, err
}

func output(program string, args ...string) ([]byte, error) {
	out, err := exec.Command(program, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return out, err
}

// tarred is a gzipped tar of files, all of one time and owner.
func tarred(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := tar.Header{Name: e.name, Mode: int64(mode(e)), Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped is a zip of files, all of one time.
func zipped(entries []entry, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(mode(e))
		f, err := w.CreateHeader(&h)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(f, bytes.NewReader(e.data)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func mode(e entry) fs.FileMode {
	if e.run {
		return 0o755
	}
	return 0o644
}
