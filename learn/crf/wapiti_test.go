//go:build unix

package crf_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/learn/crf"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/lattice/latticetest"
)

// Wapiti (Lavergne, Cappé & Yvon 2010) trains the same field: its observations
// "*x" are features of a state and of an arc, and it minimises −Σ log p +
// rho2/2·Σ λ², so rho2 = 1/σ². It forbids no arcs and knows no values but 1.
// WAGGLE_WAPITI names the program.
func wapiti(t testing.TB) string {
	program := os.Getenv("WAGGLE_WAPITI")
	if program == "" {
		t.Skip("needs the program Wapiti to compare with: set WAGGLE_WAPITI to it, see CONTRIBUTING.md")
	}
	return program
}

// Both find the same optimum of the same function. The function less ‖λ‖²/2σ²
// is convex, so its value at a gradient g is within σ²·‖g‖²/2 of the optimum,
// which proves ours to be close to it.
func TestSameOptimumAsWapiti(t *testing.T) {
	program := wapiti(t)
	for _, c := range []struct {
		name string
		o    latticetest.Options
	}{
		{"apart", latticetest.Options{Sequences: 500, Pages: -1, Words: 100, PerPage: 12, All: true, Binary: true}},
		{"walks", latticetest.Options{Sequences: 500, Pages: 200, Words: 100, PerPage: 12, All: true, Binary: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sequences, shape, cuts := latticetest.Walks(1, c.o)
			_, trace, err := crf.Train(t.Context(), sequences, shape, crf.Options{Iterations: 3000, Tolerance: 1e-13, Cuts: cuts})
			if err != nil {
				t.Fatal(err)
			}
			ours := trace.Iterations[len(trace.Iterations)-1]
			if short := 10 * ours.Gradient * ours.Gradient / 2; short > 1e-7*ours.Value {
				t.Errorf("%v nats may be %v above the optimum", ours.Value, short)
			}
			theirs := runWapiti(t, program, sequences, 3000, "1e-9")
			value := 0.
			w := theirs.weights(t, shape)
			for _, x := range w.W {
				value += x * x / (2 * 10)
			}
			for _, q := range sequences {
				value -= crf.LogLikelihood(w, q)
			}
			t.Logf("waggle %.6f nats after %d iterations; Wapiti's weights %.6f after %d, it says %.2f", ours.Value, ours.Iteration, value, theirs.iterations, theirs.value)
			if math.Abs(value-theirs.value) > 0.0051 {
				t.Errorf("Wapiti says that its weights have %.2f nats, we say %.6f: not the same function", theirs.value, value)
			}
			if d := math.Abs(ours.Value-value) / value; d > 1e-6 {
				t.Errorf("the optima differ by %.3g, relatively", d)
			}
		})
	}
}

// BenchmarkBesideWapiti runs both for 20 iterations on data of the size of
// BenchmarkTrain, with every arc allowed and all values 1, as Wapiti needs.
// Wapiti's time excludes reading and includes labelling the training set after
// each iteration, which it always does.
func BenchmarkBesideWapiti(b *testing.B) {
	program := wapiti(b)
	for _, c := range []struct {
		name string
		o    latticetest.Options
	}{
		{"apart", latticetest.Options{Pages: -1, All: true, Binary: true}},
		{"walks", latticetest.Options{All: true, Binary: true}},
	} {
		sequences, shape, cuts := latticetest.Walks(1, c.o)
		b.Run(c.name+"/wapiti", func(b *testing.B) {
			for b.Loop() {
				r := runWapiti(b, program, sequences, 20, "0")
				b.ReportMetric(r.seconds, "train-s")
				b.ReportMetric(r.processor, "cpu-s/op")
				b.ReportMetric(r.value, "nats")
				b.ReportMetric(float64(r.iterations), "iterations")
			}
		})
		b.Run(c.name+"/waggle", func(b *testing.B) {
			before := processorSeconds()
			for b.Loop() {
				_, trace, err := crf.Train(b.Context(), sequences, shape, crf.Options{Iterations: 20, Tolerance: -1, Workers: 2, Cuts: cuts})
				if err != nil {
					b.Fatal(err)
				}
				last := trace.Iterations[len(trace.Iterations)-1]
				b.ReportMetric(last.Value, "nats")
				b.ReportMetric(float64(last.Iteration), "iterations")
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "train-s")
			b.ReportMetric((processorSeconds()-before)/float64(b.N), "cpu-s/op")
		})
	}
}

// inWapitisFormat has a line for each position, features and then the label,
// and an empty line after each sequence.
func inWapitisFormat(sequences []lattice.Sequence) []byte {
	var b bytes.Buffer
	for _, q := range sequences {
		for t, obs := range q.Obs {
			for _, e := range obs {
				fmt.Fprintf(&b, "*%d ", e.ID)
			}
			fmt.Fprintf(&b, "T%d\n", q.Labels[t])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

type wapitiRun struct {
	iterations int
	value      float64 // nats, to two decimals
	seconds    float64 // that training took, without reading
	processor  float64 // seconds of all processors, with reading
	dump       []byte  // of the weights, as lines
}

// weights reads lines "*12 <tab> T0 <tab> T1 <tab> 0.25": an observation, the
// state before (# if it does not matter), the state, the weight. shape allows
// every arc.
func (r wapitiRun) weights(t testing.TB, shape lattice.Shape) *lattice.Weights {
	w := lattice.NewWeights(shape)
	for line := range strings.Lines(string(r.dump)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) < 4 {
			continue // between blocks
		}
		number := func(s string) int {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatalf("%q in Wapiti's line %q is no number", s, line)
			}
			return n
		}
		o, state := number(f[0][1:]), number(f[2][1:])
		x, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			t.Fatalf("Wapiti's line %q: %v", line, err)
		}
		arcs, S := shape.Arcs(), shape.States
		if f[1] == "#" {
			w.W[o*(arcs+S)+arcs+state] = x
		} else {
			w.W[o*(arcs+S)+number(f[1][1:])*S+state] = x
		}
	}
	return w
}

// A line of progress: "  [  12] obj=30123.45   act=62490    err=12.34%/45.67% time=0.12s/1.44s".
var progress = regexp.MustCompile(`\[\s*(\d+)\] obj=(\S+).*time=\S+/([0-9.]+)s`)

// runWapiti ends when five iterations change the value relatively by less than
// epsilon, or by Wapiti's own rule of a gradient of 1e-5·‖λ‖.
func runWapiti(t testing.TB, program string, sequences []lattice.Sequence, iterations int, epsilon string) (r wapitiRun) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, inWapitisFormat(sequences), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "train", "-T", "crf", "-a", "l-bfgs", "-1", "0", "-2", "0.1", "-t", "2",
		"--histsz", "10", "-e", epsilon, "-w", "0", "-i", strconv.Itoa(iterations), data, data+".model")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	for _, m := range progress.FindAllStringSubmatch(string(out), -1) {
		r.iterations, _ = strconv.Atoi(m[1])
		r.value, _ = strconv.ParseFloat(m[2], 64)
		r.seconds, _ = strconv.ParseFloat(m[3], 64)
	}
	if r.iterations == 0 {
		t.Fatalf("Wapiti reports no iteration:\n%s", out)
	}
	if out, err := exec.CommandContext(t.Context(), program, "dump", "-p", "17", data+".model", data+".dump").CombinedOutput(); err != nil {
		t.Fatalf("dumping the weights: %v\n%s", err, out)
	}
	if r.dump, err = os.ReadFile(data + ".dump"); err != nil {
		t.Fatal(err)
	}
	r.processor = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r
}
