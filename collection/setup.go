package collection

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// setupFiles are the files of a set-up that never change.
func (c Collection) setupFiles() []string {
	return []string{c.ExampleFile(), c.ModelFile(), c.CriticFile()}
}

// saveSums writes SHA256SUMS of the files that are there.
func (w *Writer) saveSums() error {
	var out bytes.Buffer
	for _, name := range w.setupFiles() {
		sum, err := sumOf(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, filepath.Base(name))
	}
	return folder.Write(w.SumFile(), out.Bytes())
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
	b, err := os.ReadFile(c.SumFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	sums, n := map[string]string{}, 0
	for line := range strings.Lines(string(b)) {
		n++
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, err := hex.DecodeString(sum); !ok || err != nil || len(sum) != 2*sha256.Size || !c.ofSums(name) {
			damages = append(damages, Damage{c.inFolder(c.SumFile()), fmt.Sprintf("line %d", n), "it is no checksum of a file of the set-up", "put it back; if examples, model and critic are as they were, remove it: it is made anew"})
			continue
		}
		sums[name] = sum
	}
	if len(damages) > 0 {
		return damages, true, nil
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

// ofSums tells names that SHA256SUMS may hold.
func (c Collection) ofSums(name string) bool {
	for _, path := range c.setupFiles() {
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
