package frontier_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// Lease keeps to the best of what waits here and elsewhere.
func TestElsewhere(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name      string
		elsewhere []web.Rung
		held      int
		among     int
		want      int // leases, of as many as among, or of 5
	}{
		{"nothing elsewhere", nil, 0, 3, 3},
		{"better ones elsewhere", []web.Rung{{Priority: 0.95, Links: 2}}, 0, 3, 1},
		{"many better ones", []web.Rung{{Priority: 0.95, Links: 200}}, 0, 3, 0},
		{"many better ones, of which many are held", []web.Rung{{Priority: 0.95, Links: 200}}, 199, 3, 2},
		{"worse ones elsewhere", []web.Rung{{Priority: 0.05, Links: 200}}, 0, 3, 3},
		{"some between", []web.Rung{{Priority: 0.75, Links: 1}}, 0, 4, 3},
		{"what is no number of links", []web.Rung{{Priority: 2, Links: -9}, {Priority: math.NaN(), Links: 9}}, 0, 3, 3},
		{"any", []web.Rung{{Priority: 0.95, Links: 200}}, 0, 0, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := frontier.NewMemory(frontier.Options{})
			var turn web.Turn
			for i, p := range []float64{0.9, 0.8, 0.7, 0.6, 0.5} {
				u, err := web.Parse(fmt.Sprintf("http://h%d.example/", i))
				if err != nil {
					t.Fatal(err)
				}
				turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: p})
			}
			if _, err := f.Commit(ctx, turn); err != nil {
				t.Fatal(err)
			}
			f.Elsewhere([]web.Rung{{Priority: 1, Links: 1000}}, 5) // is replaced
			f.Elsewhere(c.elsewhere, c.held)
			n := c.among
			if n == 0 {
				n = 5
			}
			out, err := f.Lease(ctx, now, n, c.among, nil)
			if err != nil || len(out) != c.want {
				t.Errorf("%d leases (%v), want %d", len(out), err, c.want)
			}
		})
	}
}

func TestWaiting(t *testing.T) {
	ctx := context.Background()
	f := frontier.NewMemory(frontier.Options{})
	var turn web.Turn
	for i, p := range []float64{-2, -2, 0.5, 8, 8, 8} {
		u, err := web.Parse(fmt.Sprintf("http://h.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: p})
	}
	if _, err := f.Commit(ctx, turn); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{0: "[]", 1: "[{8 3}]", 4: "[{8 3} {0.5 1}]", 100: "[{8 3} {0.5 1} {-2 2}]"} {
		got := f.Waiting(n)
		for i := range got {
			if p := got[i].Priority; p < 0 { // the lower end of a bin
				got[i].Priority = math.Ceil(p)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("the best %d: %v, want %s", n, got, want)
		}
	}
}
