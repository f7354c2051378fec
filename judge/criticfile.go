package judge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zeebo/xxh3"

	nb "github.com/waggle-crawler/waggle/learn/bayes"
	"github.com/waggle-crawler/waggle/topic/taxonomy"
)

// criticMagic is the first line of the file; the number is its version.
const (
	criticName  = "waggle critic "
	criticMagic = criticName + "1\n"
)

// Append writes the critic as a file.
//
// The file, its numbers unsigned varints but where a size is said:
//
//	waggle critic 1 LF
//	JSON LF                    Record: classes, W, how it did on held-out pages
//	stems                      their number; for each, sorted: length, bytes
//	model                      length, then as package bayes writes it; words
//	                           are ranks of stems, classes those of Record
//	checksum                   8 bytes, XXH3 of all before, little endian
func (c *Critic) Append(b []byte) ([]byte, error) {
	start := len(b)
	b = append(b, criticMagic...)
	head, err := json.Marshal(c.Record)
	if err != nil {
		return nil, err
	}
	b = append(append(b, head...), '\n')
	stems := make([]string, len(c.stems))
	for s, id := range c.stems {
		stems[id] = s
	}
	b = binary.AppendUvarint(b, uint64(len(stems)))
	for _, s := range stems {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	model := c.model.Append(nil)
	b = append(binary.AppendUvarint(b, uint64(len(model))), model...)
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b[start:])), nil
}

// ReadCritic reads what Append wrote; name is that of the file, for errors.
func ReadCritic(b []byte, name string) (*Critic, error) {
	bad := func(format string, args ...any) (*Critic, error) {
		return nil, fmt.Errorf("%s: %w; make it with waggle topic train", name, fmt.Errorf(format, args...))
	}
	if !bytes.HasPrefix(b, []byte(criticMagic)) {
		if rest, ok := bytes.CutPrefix(b, []byte(criticName)); ok {
			version, _, _ := bytes.Cut(rest, []byte("\n"))
			return bad("it is a critic of version %.8q, and this waggle reads version 1", version)
		}
		return bad("it is no critic")
	}
	if len(b) < len(criticMagic)+8 {
		return bad("the critic is cut short")
	}
	body, sum := b[:len(b)-8], binary.LittleEndian.Uint64(b[len(b)-8:])
	if xxh3.Hash(body) != sum {
		return bad("the critic is damaged: its checksum does not fit")
	}
	// What follows was written by Append; the checks are for a faulty writer.
	damaged := errors.New("the critic is damaged inside")
	r := bytes.NewReader(body[len(criticMagic):])
	at := func() []byte { return body[len(body)-r.Len():] }
	head, _, ok := bytes.Cut(at(), []byte("\n"))
	if !ok {
		return bad("%w", damaged)
	}
	c := &Critic{}
	if err := json.Unmarshal(head, &c.Record); err != nil {
		return bad("%w: %w", damaged, err)
	}
	r.Seek(int64(len(head)+1), io.SeekCurrent)
	chunk := func() []byte {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > uint64(r.Len()) {
			return nil
		}
		out := at()[:n]
		r.Seek(int64(n), io.SeekCurrent)
		return out
	}
	n, err := binary.ReadUvarint(r)
	if err != nil || n > uint64(r.Len()) {
		return bad("%w", damaged)
	}
	c.stems = make(map[string]uint32, n)
	for id := range n {
		s := chunk()
		if s == nil {
			return bad("%w", damaged)
		}
		c.stems[string(s)] = uint32(id)
	}
	if c.model, err = nb.Decode(chunk()); err != nil {
		return bad("%w: %w", damaged, err)
	}
	rec := &c.Record
	for i, class := range rec.Classes {
		if path, err := taxonomy.Clean(class); err != nil || path != class {
			return bad("%w: its class %q is no path of a topic, such as /Arts/Music", damaged, class)
		}
		if i > 0 && rec.Classes[i-1] == class {
			return bad("%w: it has the class %s twice", damaged, class)
		}
	}
	fits := len(c.stems) == int(n) && r.Len() == 0 && c.model.Classes() == len(rec.Classes) &&
		len(rec.Pages) == len(rec.Classes) && slices.IsSorted(rec.Classes) && rec.Words >= 0
	for _, e := range rec.Examples {
		fits = fits && e.Class >= 0 && e.Class < len(rec.Classes)
	}
	for _, t := range rec.Confusion {
		fits = fits && min(t.Class, t.For) >= 0 && max(t.Class, t.For) < len(rec.Classes)
	}
	if !fits {
		return bad("%w", damaged)
	}
	return c, nil
}
