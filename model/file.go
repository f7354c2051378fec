package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/text"
)

// A model file, numbers little-endian:
//
//	"waggle model\n"     13 bytes
//	version              uint16
//	sections             uint16
//	{ section }…         header, space, payload, in this order
//
//	section   ├ name, padded with 0 │ length │ checksum │ contents ┤
//	           16 bytes              uint64   uint64     length bytes
//
// The checksum is XXH3 of name, length and contents. header is JSON of the
// kind and the provenance; space is left out where there is none.
const (
	magic        = "waggle model\n"
	version      = 1
	nameSize     = 16
	sectionHead  = nameSize + 8 + 8
	maxSize      = 4 << 30 // of a file
	sectionFacts = "header"
	sectionSpace = "space"
	sectionModel = "payload"
)

// The ways in which a file is no model; errors of Read wrap them.
var (
	ErrNoModel = errors.New("this is no model file")
	ErrVersion = errors.New("the model was written by another version of waggle")
	ErrDamaged = errors.New("the model file is damaged")
)

type facts struct {
	Kind Kind `json:"kind"`
	Provenance
}

// Marshal renders a model as the bytes of its file; equal models give equal
// bytes.
func (f *File) Marshal() ([]byte, error) {
	if f.Kind.payload() == nil {
		return nil, fmt.Errorf("model: there is no kind %q", f.Kind)
	}
	if want := f.Kind.payload(); reflect.TypeOf(f.Payload) != reflect.TypeOf(want) {
		return nil, fmt.Errorf("model of kind %s: it holds a %T and not a %T", f.Kind, f.Payload, want)
	}
	if p, ok := f.Payload.(fitting); ok {
		if err := p.fits(f); err != nil {
			return nil, fmt.Errorf("model of kind %s: %w", f.Kind, err)
		}
	}
	head, err := json.Marshal(facts{f.Kind, f.Provenance})
	if err != nil {
		return nil, fmt.Errorf("model: its provenance cannot be written: %w", err)
	}
	type section struct {
		name     string
		contents []byte
	}
	sections := []section{{sectionFacts, head}}
	if f.Space != nil {
		b, err := f.Space.MarshalBinary()
		if err != nil {
			return nil, err
		}
		sections = append(sections, section{sectionSpace, b})
	}
	b, err := f.Payload.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("model of kind %s: %w", f.Kind, err)
	}
	sections = append(sections, section{sectionModel, b})

	out := []byte(magic)
	out = binary.LittleEndian.AppendUint16(out, version)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(sections)))
	for _, s := range sections {
		var name [nameSize]byte
		copy(name[:], s.name)
		at := len(out)
		out = append(out, name[:]...)
		out = binary.LittleEndian.AppendUint64(out, uint64(len(s.contents)))
		out = binary.LittleEndian.AppendUint64(out, checksum(out[at:], s.contents))
		out = append(out, s.contents...)
	}
	return out, nil
}

func checksum(head, contents []byte) uint64 {
	h := xxh3.New()
	h.Write(head)     // never fails
	h.Write(contents) // never fails
	return h.Sum64()
}

// Unmarshal reads the bytes of a file. a makes terms of texts, as the parser's
// does; nil = a new one. Errors wrap ErrNoModel, ErrVersion or ErrDamaged and
// say what to do.
func Unmarshal(b []byte, a *text.Analyzer) (*File, error) {
	whole := b
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] || n == 0 {
		return nil, fmt.Errorf("%w: give one that `waggle train` wrote", ErrNoModel)
	}
	if len(b) < len(magic)+4 {
		return nil, cut(whole)
	}
	b = b[len(magic):]
	if v := binary.LittleEndian.Uint16(b); v != version {
		return nil, fmt.Errorf("%w: its format is %d, this program reads %d; train it anew with this program", ErrVersion, v, version)
	}
	n := int(binary.LittleEndian.Uint16(b[2:]))
	b = b[4:]
	sections := map[string][]byte{}
	for range n {
		if len(b) < sectionHead {
			return nil, cut(whole)
		}
		name := string(bytes.TrimRight(b[:nameSize], "\x00"))
		size := binary.LittleEndian.Uint64(b[nameSize:])
		sum := binary.LittleEndian.Uint64(b[nameSize+8:])
		if size > uint64(len(b)-sectionHead) {
			return nil, cut(whole)
		}
		contents := b[sectionHead : sectionHead+size]
		if checksum(b[:nameSize+8], contents) != sum {
			return nil, damaged("its part %q does not match its checksum", name)
		}
		if _, twice := sections[name]; twice {
			return nil, damaged("it has two parts %q", name)
		}
		sections[name] = contents
		b = b[sectionHead+size:]
	}
	if len(b) > 0 {
		return nil, damaged("%d bytes lie behind its end", len(b))
	}

	head := facts{}
	if err := json.Unmarshal(sections[sectionFacts], &head); err != nil {
		return nil, damaged("its header cannot be read: %v", err)
	}
	f := &File{Kind: head.Kind, Provenance: head.Provenance, Payload: head.Kind.payload()}
	if f.Payload == nil {
		return nil, fmt.Errorf("%w: it is of kind %q, which this program does not know; take the program that trained it", ErrVersion, head.Kind)
	}
	if b, ok := sections[sectionSpace]; ok {
		s, err := feature.Read(b, a)
		if err != nil {
			return nil, damaged("%v", err)
		}
		f.Space = s
	}
	contents, ok := sections[sectionModel]
	if !ok {
		return nil, damaged("it holds nothing that was learnt")
	}
	if err := f.Payload.UnmarshalBinary(contents); err != nil {
		return nil, damaged("%v", err)
	}
	if p, ok := f.Payload.(fitting); ok {
		if err := p.fits(f); err != nil {
			return nil, damaged("%v", err)
		}
	}
	return f, nil
}

func cut(b []byte) error {
	return damaged("it is cut short after %d bytes", len(b))
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s; copy it again, or train it anew", ErrDamaged, fmt.Sprintf(format, args...))
}

// Read reads the file of that name.
func Read(name string, a *text.Analyzer) (*File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("model: %w; give a file that `waggle train` wrote", err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("model: %w", err)
	case len(b) > maxSize:
		return nil, fmt.Errorf("model %s: %w: it has more than 4 GiB", name, ErrNoModel)
	}
	f, err := Unmarshal(b, a)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	f.Name = name
	return f, nil
}

// Write writes the file of that name whole or not at all: one that was there
// stays until the new one is complete on the disk.
func (f *File) Write(name string) error {
	b, err := f.Marshal()
	if err != nil {
		return err
	}
	if err := folder.Write(name, b); err != nil {
		return fmt.Errorf("model %s cannot be written: %w", name, err)
	}
	return nil
}
