package crf_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/learn/crf"
	"github.com/waggle-crawler/waggle/learn/lattice"
	"github.com/waggle-crawler/waggle/learn/lattice/latticetest"
)

// Wapiti (Lavergne, Cappé & Yvon 2010) trains the same field: its observations
// "*x" are features of a state and of an arc, and it minimises −Σ log p +
// rho2/2·Σ λ², so rho2 = 1/σ². It forbids no arcs and knows no values but 1.
// Both must find the same optimum of the same function, and at 100 iterations
// each the times say who is faster.
//
// WAGGLE_WAPITI names the program; WAGGLE_WAPITI_SEQUENCES the size, 1000 if
// it is not set.
func TestWapiti(t *testing.T) {
	wapiti := os.Getenv("WAGGLE_WAPITI")
	if wapiti == "" {
		t.Skip("WAGGLE_WAPITI does not name a Wapiti to compare with")
	}
	n := 1000
	if s := os.Getenv("WAGGLE_WAPITI_SEQUENCES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		o    latticetest.Options
	}{
		{"apart", latticetest.Options{Sequences: n, Pages: -1, All: true, Binary: true}},
		{"walks", latticetest.Options{Sequences: n, All: true, Binary: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sequences, shape, cuts := latticetest.Walks(1, c.o)
			path := filepath.Join(t.TempDir(), "data")
			if err := os.WriteFile(path, inWapitisFormat(sequences), 0o644); err != nil {
				t.Fatal(err)
			}
			// The fixed number of iterations first, then as far as it goes.
			for _, iterations := range []int{100, 3000} {
				theirs := runWapiti(t, wapiti, path, iterations)
				began := time.Now()
				_, trace, err := crf.Train(context.Background(), sequences, shape, crf.Options{Iterations: iterations, Tolerance: -1, Workers: 2, Cuts: cuts})
				if err != nil {
					t.Fatal(err)
				}
				ours := trace.Iterations[len(trace.Iterations)-1]
				t.Logf("%d sequences: Wapiti %.2f nats after %d iterations in %.2f s; waggle %.6f nats after %d iterations (%d evaluations, %v, gradient %.2g) in %.2f s",
					n, theirs.value, theirs.iterations, theirs.seconds, ours.Value, ours.Iteration, ours.Evaluations, trace.Status, ours.Gradient, time.Since(began).Seconds())
				if iterations > 100 && math.Abs(ours.Value-theirs.value) > 1e-6*theirs.value {
					t.Errorf("the optima differ by %.3g, relatively", math.Abs(ours.Value-theirs.value)/theirs.value)
				}
			}
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
	seconds    float64 // of training, without reading
}

// A line of progress: "  [  12] obj=30123.45   act=62490    err=12.34%/45.67% time=0.12s/1.44s".
var progress = regexp.MustCompile(`\[\s*(\d+)\] obj=(\S+).*time=\S+/([0-9.]+)s`)

func runWapiti(t *testing.T, program, data string, iterations int) (r wapitiRun) {
	// -o 5 -e 0 -w 0: no stop rule but its own of a gradient of 1e-5.
	cmd := exec.CommandContext(t.Context(), program, "train", "-T", "crf", "-a", "l-bfgs", "-1", "0", "-2", "0.1", "-t", "2",
		"--histsz", "10", "-e", "0", "-w", "0", "-i", strconv.Itoa(iterations), data, data+".model")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if m := progress.FindStringSubmatch(lines.Text()); m != nil {
			r.iterations, _ = strconv.Atoi(m[1])
			r.value, _ = strconv.ParseFloat(m[2], 64)
			r.seconds, _ = strconv.ParseFloat(m[3], 64)
		}
	}
	if r.iterations == 0 {
		t.Fatalf("Wapiti reports no iteration:\n%s", out)
	}
	return r
}
