package train

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// ErrNoSequence says that no walk of two pages could be drawn.
var ErrNoSequence = errors.New("no sequence of two pages or more can be drawn: no page of the graph links to one as near to the targets; collect again with other targets or more hosts")

// SequenceOptions say which sequences are drawn. The zero value of a field is
// its default.
type SequenceOptions struct {
	Count     int // sequences wanted, 1…10,000,000; default 10,000
	MinLength int // pages; default 2
	MaxLength int // pages; default 10
	Seed      uint64
	// Progress is told how many are drawn; it may be nil.
	Progress func(done, total int)
}

// Sequences draws random walks over the graph (section 3.1). Each starts at a
// page, has a length in MinLength…MaxLength and goes on to a child of the current
// page, all drawn uniformly. A child is a page that the current one links to and
// that is
//
//   - in the same layer or a lower one, by the layer in which it was found. Labels
//     are states and not layers, so they may rise along a walk; and
//   - not on the walk yet.
//
// A walk ends at a page without a child, and counts if it has two pages. No walk is
// taken twice, so a small graph may give fewer than Count: drawing ends after
// 10·Count walks in a row, and at least a thousand, that were drawn before.
// The same seed gives the same sequences. The error is ErrNoSequence, or names
// the option that is wrong, or is that of ctx.
func (g *Graph) Sequences(ctx context.Context, o SequenceOptions) ([]Sequence, error) {
	if o.Count == 0 {
		o.Count = 10_000
	}
	if o.MinLength == 0 {
		o.MinLength = 2
	}
	if o.MaxLength == 0 {
		o.MaxLength = max(10, o.MinLength)
	}
	switch {
	case o.Count < 1 || o.Count > 10_000_000:
		return nil, fmt.Errorf("%d sequences: give 1 to 10,000,000", o.Count)
	case o.MinLength < 2 || o.MaxLength < o.MinLength || o.MaxLength > 1000:
		return nil, fmt.Errorf("lengths of %d to %d pages: give two numbers from 2 to 1,000; the paper has 2 to 10", o.MinLength, o.MaxLength)
	}
	children := make([][]int32, len(g.Nodes)) // edges
	for i, e := range g.Edges {
		if g.Nodes[e.To].Layer <= g.Nodes[e.From].Layer {
			children[e.From] = append(children[e.From], int32(i))
		}
	}
	chance := rand.New(rand.NewPCG(o.Seed, 0x5e9c3d1))
	var out []Sequence
	seen := map[string]bool{}
	onWalk := make([]int, len(g.Nodes)) // the last walk that came by, from 1
	open := make([]int32, 0, 16)        // edges to children not on the walk
	barren := 0
	for walk := 1; len(out) < o.Count && barren < max(1000, 10*o.Count); walk++ {
		if len(g.Nodes) == 0 {
			break
		}
		if walk%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		barren++
		at := int32(chance.IntN(len(g.Nodes)))
		length := o.MinLength + chance.IntN(o.MaxLength-o.MinLength+1)
		s := Sequence{Nodes: []int32{at}}
		onWalk[at] = walk
		for len(s.Nodes) < length {
			open = open[:0]
			for _, e := range children[at] {
				if onWalk[g.Edges[e].To] != walk {
					open = append(open, e)
				}
			}
			if len(open) == 0 {
				break
			}
			e := open[chance.IntN(len(open))]
			at = g.Edges[e].To
			onWalk[at] = walk
			s.Nodes = append(s.Nodes, at)
			s.Edges = append(s.Edges, e)
		}
		if len(s.Nodes) < 2 {
			continue
		}
		key := make([]byte, 0, 4*len(s.Nodes))
		for _, n := range s.Nodes {
			key = binary.LittleEndian.AppendUint32(key, uint32(n))
		}
		if seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		out = append(out, s)
		barren = 0
		if o.Progress != nil && len(out)%1000 == 0 {
			o.Progress(len(out), o.Count)
		}
	}
	if len(out) == 0 {
		return nil, ErrNoSequence
	}
	return out, nil
}
