// Package sparse implements vectors most of whose components are zero, such as
// the word counts of a page. Only the other components are stored, as entries of
// an ID and a value. Make a Vector with New; Dot, Norm, Cosine, Add and At
// compute with it.
package sparse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Entry is one component.
type Entry struct {
	ID    uint32
	Value float64
}

// Vector is a sparse vector: entries in ascending order of ID, each ID once. An
// entry may have the value 0. The nil Vector is zero.
type Vector []Entry

// New returns the vector of entries that are in any order. Values of the same ID
// are added in the order of the entries. New sorts and shortens entries in
// place.
func New(entries []Entry) Vector {
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	out := entries[:0]
	for _, e := range entries {
		if n := len(out); n > 0 && out[n-1].ID == e.ID {
			out[n-1].Value += e.Value
		} else {
			out = append(out, e)
		}
	}
	return Vector(out)
}

// Check returns an error if the IDs of v do not ascend, or if a value is NaN or
// infinite.
func (v Vector) Check() error {
	for i, e := range v {
		if i > 0 && e.ID <= v[i-1].ID {
			return fmt.Errorf("entry %d has ID %d after ID %d: IDs must ascend", i, e.ID, v[i-1].ID)
		}
		if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
			return fmt.Errorf("component %d is %v: it must be a finite number", e.ID, e.Value)
		}
	}
	return nil
}

// At returns the component of an ID, 0 if it has no entry.
func (v Vector) At(id uint32) float64 {
	if i, ok := slices.BinarySearchFunc(v, id, func(e Entry, id uint32) int { return cmp.Compare(e.ID, id) }); ok {
		return v[i].Value
	}
	return 0
}

// Dot returns Σ v_i·u_i.
func (v Vector) Dot(u Vector) float64 {
	sum := 0.
	for i, j := 0, 0; i < len(v) && j < len(u); {
		switch a, b := v[i].ID, u[j].ID; {
		case a < b:
			i++
		case a > b:
			j++
		default:
			sum += v[i].Value * u[j].Value
			i, j = i+1, j+1
		}
	}
	return sum
}

// Norm returns the Euclidean length √Σ v_i².
func (v Vector) Norm() float64 {
	sum := 0.
	for _, e := range v {
		sum += e.Value * e.Value
	}
	return math.Sqrt(sum)
}

// Cosine returns v·u / (‖v‖·‖u‖), in [−1,1]; 0 if one of the vectors is zero.
func (v Vector) Cosine(u Vector) float64 {
	n := v.Norm() * u.Norm()
	if n == 0 {
		return 0
	}
	return max(-1, min(1, v.Dot(u)/n))
}

// Add returns v + u as a new vector.
func (v Vector) Add(u Vector) Vector {
	out := make(Vector, 0, len(v)+len(u))
	i, j := 0, 0
	for i < len(v) && j < len(u) {
		switch a, b := v[i], u[j]; {
		case a.ID < b.ID:
			out = append(out, a)
			i++
		case a.ID > b.ID:
			out = append(out, b)
			j++
		default:
			out = append(out, Entry{a.ID, a.Value + b.Value})
			i, j = i+1, j+1
		}
	}
	return append(append(out, v[i:]...), u[j:]...)
}
