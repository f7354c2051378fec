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
	return []string{c.ExampleFile(), c.ModelFile(), c.CriticFile(), c.KnownFile()}
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

// remedySums helps where SHA256SUMS is damaged.
const remedySums = "put it back; if examples, model, critic, known.jsonl and lost.txt are as they were, remove it: it is made anew"

// remedyOf says what helps where a file of the set-up is damaged.
func (c Collection) remedyOf(path string) string {
	switch {
	case path == c.ExampleFile():
		return fmt.Sprintf("put the file back; or have the examples of job.yaml gathered and the pages judged anew: waggle judge %[1]s, or by others: waggle judge %[1]s --keywords WORDS --example PAGE", c.dir)
	case path == c.CriticFile():
		return fmt.Sprintf("put the file back; or have the pages judged anew by another: waggle judge %s --critic FILE --focus TOPIC", c.dir)
	case path == c.KnownFile() && !c.OfSeveral(): // who joins others may accept no loss
		return fmt.Sprintf("put the file back, or have it made anew of the rounds before: waggle crawl -o %s --resume --accept-loss", c.dir)
	}
	return remedyPutBack
}

// noBytes is the checksum of an empty file.
const noBytes = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// checkSetup compares the files of the set-up with SHA256SUMS. known is false
// where there is none, as in crawls of earlier versions. A file that held nothing may
// be missing.
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
		case errors.Is(err, fs.ErrNotExist) && listed && want != noBytes:
			damages = append(damages, Damage{name, "", "it is missing", c.remedyOf(path)})
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, true, err
		case !listed:
			damages = append(damages, Damage{c.inFolder(c.SumFile()), "", fmt.Sprintf("it has no line for %s", name), remedySums})
		case sum != want:
			damages = append(damages, Damage{name, "", fmt.Sprintf("it is not what %s says", filepath.Base(c.SumFile())), c.remedyOf(path)})
		}
	}
	return damages, true, nil
}

// What JobText puts around a job. A file that begins so and lacks the last line was
// cut off; one that a person wrote anew has neither.
const (
	jobHead = "# The job of this crawl with every value in force. Keep the last line: without it, the file counts as cut off."
	jobEnd  = "# End of the job."
)

// JobText is the text of a job file that waggle writes, with which CheckJob knows
// whether it is there to its end.
func JobText(yaml []byte) []byte {
	return fmt.Appendf(nil, "%s\n%s%s\n", jobHead, yaml, jobEnd)
}

// CheckJob tells whether job.yaml, as far as it is one that waggle wrote, is there
// to its end. The error names a remedy.
func (c Collection) CheckJob() error {
	if d, err := c.checkJob(); d == nil || err != nil {
		return err
	} else {
		return c.refusal(*d)
	}
}

func (c Collection) checkJob() (*Damage, error) {
	b, err := c.Job()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // others say so
	}
	if err != nil {
		return nil, err
	}
	head, _, more := strings.Cut(string(b), "\n")
	if more && strings.TrimSpace(head) != jobHead || !strings.HasPrefix(jobHead, strings.TrimSpace(head)) {
		return nil, nil // of a person, or an earlier version
	}
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == jobEnd {
			return nil, nil
		}
	}
	return &Damage{c.inFolder(c.JobFile()), "", fmt.Sprintf("it is cut off: the last line that waggle wrote, %q, is not there", jobEnd),
		"put the file back; or give it all that it should say, of which events.jsonl tells (started, changed), and that line at its end"}, nil
}

// setupDamage is the damage of all that the crawl was set up with; known as of
// checkSetup.
func (c Collection) setupDamage() (damages []Damage, known bool, err error) {
	damages, known, err = c.checkSetup()
	if err != nil {
		return nil, known, err
	}
	d, err := c.checkJob()
	if d != nil {
		damages = append(damages, *d)
	}
	return damages, known, err
}

// CheckExamples tells whether the example pages are those that were kept, as far as
// that is known. The error names a remedy.
func (c Collection) CheckExamples() error {
	damages, _, err := c.checkSetup()
	for _, d := range damages {
		if d.File == filepath.Base(c.ExampleFile()) {
			return c.refusal(d)
		}
	}
	return err
}

// refusal is a damage as the error of a command that does not go on.
func (c Collection) refusal(d Damage) error {
	return fmt.Errorf("%s is damaged: %s; %s", filepath.Join(c.dir, d.File), d.What, d.Remedy)
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
			damages = append(damages, Damage{c.inFolder(c.SumFile()), fmt.Sprintf("line %d", n), "it is no checksum of a file of the crawl", remedySums})
			continue
		}
		sums[name] = sum
	}
	return sums, damages, nil
}

// checkLosses compares lost.txt with SHA256SUMS; nil where it is as a repair left
// it, or where its checksum is not known. One that is the copy in the frontier is as a
// repair left it: SHA256SUMS was damaged then, and put back later.
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
	case sum != want && !c.lossesAsCopied():
		return &Damage{name, "", fmt.Sprintf("it is not what %s says", filepath.Base(c.SumFile())), remedyRepair}, nil
	}
	return nil, nil
}

// lossesAsCopied tells whether lost.txt is what the frontier has of it, if that can be
// read.
func (c Collection) lossesAsCopied() bool {
	same := false
	err := c.examine(func(stored func(name string) ([]byte, error)) error {
		list, err := os.ReadFile(c.LostFile())
		if err != nil {
			return err
		}
		held, err := stored(stateLosses)
		same = held != nil && bytes.Equal(list, held)
		return err
	})
	return err == nil && same
}

// KnownWhole tells whether what earlier rounds know is all that SaveKnown kept: each line can be read, and SHA256SUMS
// says nothing else.
func (c Collection) KnownWhole() (bool, error) {
	for _, err := range c.Known() {
		if errors.As(err, new(*KnownLineError)) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return c.knownKept()
}

// knownKept tells whether known.jsonl is there, and SHA256SUMS says nothing else of it, whatever its other lines are.
func (c Collection) knownKept() (bool, error) {
	sum, err := sumOf(c.KnownFile())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sums, _, err := c.readSums()
	want, listed := sums[filepath.Base(c.KnownFile())]
	return !listed || sum == want, err
}

// KnownError says that what earlier rounds know is damaged, and what helps.
func (c Collection) KnownError() error {
	return fmt.Errorf("%s is damaged or missing: %s", c.KnownFile(), c.remedyOf(c.KnownFile()))
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

// openSetup refuses a crawl whose examples, model, critic or known pages are not those with
// which it began: it would judge by others. Those that are to be replaced do not
// matter. acceptLoss takes the others as they are, but for examples and critic: what
// the judge knows fits no others. What earlier rounds know was made anew by then.
func (w *Writer) openSetup(o StoreOptions) error {
	damages, known, err := w.checkSetup()
	if err != nil {
		return err
	}
	for _, d := range damages {
		path := filepath.Join(w.dir, d.File)
		switch {
		case slices.Contains(o.Replaced, path):
			known = true // its checksum is written with it
		case path == w.ExampleFile() || path == w.CriticFile() || path == w.KnownFile() && !folder.Exists(path):
			return w.refusal(d)
		case !o.AcceptLoss && (w.OfSeveral() || path == w.KnownFile()): // who joins others may accept no loss
			return w.refusal(d)
		case !o.AcceptLoss:
			return fmt.Errorf("%w (waggle crawl -o %s --resume --accept-loss goes on with what there is)", w.refusal(d), w.dir)
		case path == w.KnownFile():
			known = false // it was made anew
		default:
			known = false
			o.Note(fmt.Sprintf("%s; the crawl goes on with what there is", d))
		}
	}
	if known {
		return nil
	}
	if len(damages) == 0 {
		o.Note(fmt.Sprintf("%s is missing, as in crawls of earlier versions: it is made of the files as they are", w.SumFile()))
	}
	return w.saveSums()
}
