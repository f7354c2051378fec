package taxonomy

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Other is the name of the topic that takes the examples of an inner one.
const Other = "Other"

// Pruning says how a taxonomy is cut down to classes.
type Pruning struct {
	// K is the least number of examples of a leaf; 0 = 300.
	K int
	// Cap is the largest number of examples of a class; 0 = 300, negative =
	// no limit.
	Cap int
	// Seed of the sample that is left of a class above Cap.
	Seed uint64
	// Prefix leads from the folder of the new taxonomy to that of the old one,
	// with slashes, for examples that are files; "" = they are the same.
	Prefix string
}

// PruneReport says what became of a taxonomy.
type PruneReport struct {
	Topics   int // before
	Folded   int // of these, folded into their parents
	Examples int // before
	Kept     int // after Cap
	Classes  []Class
}

// Class is a leaf of the pruned taxonomy.
type Class struct {
	Path     string
	Examples int  // before Cap
	Kept     int  // after it
	Other    bool // it takes the examples of an inner topic
}

// Small are the classes with fewer than k examples: only those of inner topics
// can be.
func (p PruneReport) Small(k int) []Class {
	return slices.DeleteFunc(slices.Clone(p.Classes), func(c Class) bool { return c.Examples >= k })
}

// ErrOneClass says that folding left the root alone.
var ErrOneClass = errors.New("every example was folded into the root: lower -k, or import more examples")

// Prune writes the classes of a taxonomy after Chakrabarti, Punera & Subramanyam
// 2002, section 3.1:
//
//  1. a leaf with less than K examples gives them to its parent and is removed,
//     as long as there is one; the root stays;
//  2. an inner topic that has examples gives them to a leaf below it, Other.
//     Where a topic is called so already, they are added to its own, and to
//     those of its own Other if it is an inner topic;
//  3. of a class with more than Cap examples, Cap are drawn.
//
// What editors wrote of a topic is kept where the topic is.
//
// The paper counts 144,859 examples in 482 classes afterwards, 259 more than
// 482 times its cap: it cannot have been kept everywhere there. Here it is.
//
// The order of folding does not matter. An Other may have fewer than K
// examples; one that would have none is not made, as it could not be learned.
//
// The examples drawn are those with the least hashes of seed and address, so
// they do not depend on the order of the lines, and a smaller Cap draws a part
// of what a larger one draws.
//
// open is called three times at most; the memory taken is that of the topics
// and of Cap numbers a class. The error wraps ErrOneClass if one class is left.
func Prune(open func() (io.ReadCloser, error), name string, w io.Writer, o Pruning) (p PruneReport, err error) {
	if o.K == 0 {
		o.K = 300
	}
	if o.Cap == 0 {
		o.Cap = 300
	}
	if o.K < 0 {
		return p, fmt.Errorf("k is %d: a class needs at least one example", o.K)
	}
	in, err := open()
	if err != nil {
		return p, err
	}
	tree, err := ReadTree(in, name)
	in.Close()
	if err != nil {
		return p, err
	}
	classOf := tree.fold(o.K)
	classes := p.count(tree, classOf)
	switch {
	case p.Examples == 0:
		return p, fmt.Errorf("%s holds no example: import some with waggle topic import", name)
	case len(classes) == 1:
		return p, fmt.Errorf("%s has %d examples: %w", name, p.Examples, ErrOneClass)
	}

	// The hash up to which an example of a class is drawn.
	limit := map[string]*draw{}
	for path, c := range classes {
		c.Kept = c.Examples
		if o.Cap > 0 && c.Examples > o.Cap {
			c.Kept = o.Cap
			limit[path] = &draw{}
		}
		p.Kept += c.Kept
	}
	if len(limit) > 0 {
		err := each(open, name, func(e Example) error {
			if e.Source == "" {
				return nil
			}
			if d := limit[classOf[e.Topic].Path]; d != nil {
				d.add(lot(o.Seed, e), o.Cap)
			}
			return nil
		})
		if err != nil {
			return p, err
		}
	}
	for _, d := range limit {
		d.seal()
	}
	out := NewWriter(w, fmt.Sprintf("pruned: k=%d cap=%d seed=%d; %d classes of %d topics, %d of %d examples",
		o.K, o.Cap, o.Seed, len(classes), p.Topics, p.Kept, p.Examples))
	err = each(open, name, func(e Example) error {
		class := classOf[e.Topic].Path
		if e.Source == "" {
			if e.Description == "" || !Covers(e.Topic, class) {
				return nil // nothing is said of it, or it was folded
			}
			return out.Write(e)
		}
		e.Topic = class
		if d := limit[e.Topic]; d != nil && !d.take(lot(o.Seed, e)) {
			return nil
		}
		if file, ok := e.File(); ok && o.Prefix != "" {
			e.Source = fileScheme + path.Join(o.Prefix, file)
		}
		return out.Write(e)
	})
	if err = errors.Join(err, out.Close()); err != nil {
		return p, err
	}
	for _, c := range classes {
		p.Classes = append(p.Classes, *c)
	}
	slices.SortFunc(p.Classes, func(a, b Class) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

// each reads a taxonomy and calls do with its lines.
func each(open func() (io.ReadCloser, error), name string, do func(Example) error) error {
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	for e, err := range Read(in, name) {
		if err != nil {
			return err
		}
		if err := do(e); err != nil {
			return err
		}
	}
	return nil
}

// count counts topics and examples, and returns the classes with the number of
// examples that each takes.
func (p *PruneReport) count(tree *Tree, classOf map[string]leaf) map[string]*Class {
	classes := map[string]*Class{}
	p.Topics = tree.Len()
	p.Folded = tree.Len() - tree.left
	for path, n := range tree.topics {
		if n.own == 0 {
			continue
		}
		p.Examples += n.own
		to := classOf[path]
		if classes[to.Path] == nil {
			classes[to.Path] = &Class{Path: to.Path}
		}
		c := classes[to.Path]
		c.Examples += n.own
		c.Other = c.Other || to.Other
	}
	return classes
}

// leaf is the class that takes a topic's examples.
type leaf struct {
	Path  string
	Other bool
}

// fold tells the class of every topic (steps 1 and 2 of Prune), and counts in
// t.left the topics that are left.
func (t *Tree) fold(k int) map[string]leaf {
	// Leaves first: when a topic's turn comes, what is below it has folded.
	type fate struct {
		own   int  // with what was folded into it
		inner bool // something below it stays
		stays bool
	}
	fates := make(map[string]*fate, len(t.topics))
	paths := slices.Collect(t.Topics())
	for _, p := range paths {
		fates[p] = &fate{own: t.topics[p].own}
	}
	t.left = 0
	for _, p := range slices.Backward(paths) { // a topic sorts before all below it
		f := fates[p]
		up := fates[Parent(p)]
		f.stays = f.inner || f.own >= k || up == nil
		switch {
		case f.stays && up != nil:
			up.inner = true
		case !f.stays:
			up.own += f.own
		}
		if f.stays {
			t.left++
		}
	}
	out := make(map[string]leaf, len(paths))
	for _, p := range paths {
		f := fates[p]
		switch {
		case !f.stays:
			out[p] = out[Parent(p)]
		case !f.inner:
			out[p] = leaf{Path: p}
		default:
			other := p
			for f := f; f != nil && f.stays && f.inner; f = fates[other] {
				if other != "/" {
					other += "/"
				}
				other += Other
			}
			out[p] = leaf{other, true}
		}
	}
	return out
}

// lot is what an example draws, the least of a class being kept.
func lot(seed uint64, e Example) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	h := xxh3.New()
	h.Write(b[:])
	h.WriteString(e.Source)
	return h.Sum64()
}

// draw finds the n least lots, and then tells which these are. Equal lots are
// taken in the order they come in.
type draw struct {
	lots  []uint64 // a heap, the greatest on top
	limit uint64   // the greatest that is taken
	equal int      // how many of those that equal limit are still to be taken
}

func (d *draw) Len() int           { return len(d.lots) }
func (d *draw) Less(i, j int) bool { return d.lots[i] > d.lots[j] }
func (d *draw) Swap(i, j int)      { d.lots[i], d.lots[j] = d.lots[j], d.lots[i] }
func (d *draw) Push(x any)         { d.lots = append(d.lots, x.(uint64)) }
func (d *draw) Pop() any {
	x := d.lots[len(d.lots)-1]
	d.lots = d.lots[:len(d.lots)-1]
	return x
}

func (d *draw) add(lot uint64, n int) {
	switch {
	case len(d.lots) < n:
		heap.Push(d, lot)
	case lot < d.lots[0]:
		d.lots[0] = lot
		heap.Fix(d, 0)
	}
}

func (d *draw) seal() {
	d.limit = d.lots[0]
	for _, l := range d.lots {
		if l == d.limit {
			d.equal++
		}
	}
}

func (d *draw) take(lot uint64) bool {
	if lot == d.limit {
		d.equal--
		return d.equal >= 0
	}
	return lot < d.limit
}
