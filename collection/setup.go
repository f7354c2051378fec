package collection

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// setupFiles are the files of a set-up that stay, unless the crawl is judged anew.
func (c Collection) setupFiles() []string {
	return []string{c.ExampleFile(), c.ModelFile(), c.CriticFile()}
}

// summedFiles are the files of which SHA256SUMS tells. lost.txt comes first: where
// lines are missing at the end, it is not the one that an earlier version left out.
func (c Collection) summedFiles() []string {
	return append([]string{c.LostFile()}, c.setupFiles()...)
}

// saveSums writes SHA256SUMS of the files that are there.
func (w *Writer) saveSums() error {
	b, err := w.sums(nil)
	if err != nil {
		return err
	}
	return folder.Write(w.SumFile(), b)
}

// sums are the checksums of the files that are there; fresh are those that take
// the place of others, by their names.
func (w *Writer) sums(fresh map[string]string) ([]byte, error) {
	var out bytes.Buffer
	for _, name := range w.summedFiles() {
		sum, err := sumOf(cmp.Or(fresh[filepath.Base(name)], name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, filepath.Base(name))
	}
	return out.Bytes(), nil
}

// ReplaceSetup gives a crawl another job, and the examples of its judge; critic is
// nil where it stays. All of it changes, or nothing.
func (w *Writer) ReplaceSetup(job []byte, examples []Example, critic []byte) error {
	fresh := map[string]string{} // by the name of the file whose place it takes
	add := func(name string, write func(io.Writer) error) error {
		fresh[filepath.Base(name)] = name + ".new"
		return folder.WriteFrom(name+".new", write)
	}
	bytesOf := func(b []byte) func(io.Writer) error {
		return func(out io.Writer) error {
			_, err := out.Write(b)
			return err
		}
	}
	err := errors.Join(
		add(w.JobFile(), bytesOf(job)),
		add(w.ExampleFile(), func(out io.Writer) error { return writeExamples(out, examples) }),
	)
	if critic != nil {
		err = errors.Join(err, add(w.CriticFile(), bytesOf(critic)))
	}
	if err != nil {
		return err
	}
	sums, err := w.sums(fresh)
	if err != nil {
		return err
	}
	if err := add(w.SumFile(), bytesOf(sums)); err != nil {
		return err
	}
	var j journal
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		j = append(j, change{Kind: "move", From: name + ".new", To: name})
	}
	return w.carryOut(j)
}

func sumOf(name string) (sum string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkSetup compares the files of the set-up with SHA256SUMS. known is false
// where there is none, as in crawls of earlier versions.
func (c Collection) checkSetup() (damages []Damage, known bool, err error) {
	sums, damages, err := c.readSums()
	if sums == nil || len(damages) > 0 || err != nil {
		return damages, sums != nil, err
	}
	for _, path := range c.setupFiles() {
		name := filepath.Base(path)
		sum, err := sumOf(path)
		want, listed := sums[name]
		switch {
		case errors.Is(err, fs.ErrNotExist) && listed:
			damages = append(damages, Damage{name, "", "it is missing", remedyPutBack})
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, true, err
		case sum != want:
			damages = append(damages, Damage{name, "", fmt.Sprintf("it is not what %s says", filepath.Base(c.SumFile())), remedyPutBack})
		}
	}
	return damages, true, nil
}

// readSums reads SHA256SUMS: the checksums by the names of files, nil if it is
// missing, and the lines that are none.
func (c Collection) readSums() (sums map[string]string, damages []Damage, err error) {
	b, err := os.ReadFile(c.SumFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	sums = map[string]string{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size || !c.ofSums(name) {
			damages = append(damages, Damage{c.inFolder(c.SumFile()), fmt.Sprintf("line %d", n), "it is no checksum of a file of the crawl", "put it back; if examples, model, critic and lost.txt are as they were, remove it: it is made anew"})
			continue
		}
		sums[name] = sum
	}
	return sums, damages, nil
}

// checkLosses compares lost.txt with SHA256SUMS; nil where it is as a repair left
// it, or where its checksum is not known.
func (c Collection) checkLosses() (*Damage, error) {
	sums, damages, err := c.readSums()
	name := filepath.Base(c.LostFile())
	want, listed := sums[name]
	if err != nil || len(damages) > 0 || !listed {
		return nil, err
	}
	switch sum, err := sumOf(c.LostFile()); {
	case errors.Is(err, fs.ErrNotExist):
		return &Damage{name, "", "it is missing", remedyRepair}, nil
	case err != nil:
		return nil, err
	case sum != want:
		return &Damage{name, "", fmt.Sprintf("it is not what %s says", filepath.Base(c.SumFile())), remedyRepair}, nil
	}
	return nil, nil
}

// sumsWithLosses is SHA256SUMS with another lost.txt, that in the file fresh, and
// with the other lines as they are; nil where there is none, or it is damaged.
func (c Collection) sumsWithLosses(fresh string) ([]byte, error) {
	sums, damages, err := c.readSums()
	if sums == nil || len(damages) > 0 || err != nil {
		return nil, err
	}
	sum, err := sumOf(fresh)
	if err != nil {
		return nil, err
	}
	sums[filepath.Base(c.LostFile())] = sum
	var out bytes.Buffer
	for _, path := range c.summedFiles() {
		if sum, ok := sums[filepath.Base(path)]; ok {
			fmt.Fprintf(&out, "%s  %s\n", sum, filepath.Base(path))
		}
	}
	return out.Bytes(), nil
}

// ofSums tells names that SHA256SUMS may hold.
func (c Collection) ofSums(name string) bool {
	for _, path := range c.summedFiles() {
		if filepath.Base(path) == name {
			return true
		}
	}
	return false
}

// openSetup refuses a crawl whose examples, model or critic are not those with
// which it began: it would judge by others. acceptLoss takes them as they are.
func (w *Writer) openSetup(acceptLoss bool, note func(string)) error {
	damages, known, err := w.checkSetup()
	if err != nil {
		return err
	}
	if len(damages) > 0 && !acceptLoss {
		d := damages[0]
		return fmt.Errorf("%s is damaged: %s; %s (--accept-loss goes on with what there is)", filepath.Join(w.dir, d.File), d.What, d.Remedy)
	}
	for _, d := range damages {
		note(fmt.Sprintf("%s; the crawl goes on with what there is", d))
	}
	if !known {
		note(fmt.Sprintf("%s is missing, as in crawls of earlier versions: it is made of the files as they are", w.SumFile()))
	}
	if !known || len(damages) > 0 {
		return w.saveSums()
	}
	return nil
}
