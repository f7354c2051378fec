package frontier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/waggle-crawler/waggle/frontier"
	"github.com/waggle-crawler/waggle/web"
)

// The hosts with the longest queues are told, with what each waits for.
func TestHosts(t *testing.T) {
	f := frontier.NewMemory(frontier.Options{})
	defer f.Close()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var turn web.Turn
	for host, links := range map[string]int{"a": 3, "b": 7, "c": 7, "d": 1, "e": 5} {
		for i := range links {
			u, err := web.Parse(fmt.Sprintf("http://%s.example/%d", host, i))
			if err != nil {
				t.Fatal(err)
			}
			turn.Add = append(turn.Add, web.Candidate{URL: u, Priority: map[bool]float64{true: 9}[host == "d"]})
		}
	}
	turn.Hosts = []web.HostState{{Host: "b.example", Due: now.Add(time.Minute), Failures: 3}, {Host: "z.example", Fetched: 4}}
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	leases, err := f.Lease(t.Context(), now, 1, 0, nil)
	if err != nil || len(leases) != 1 || leases[0].URL.Host() != "d.example" {
		t.Fatal(leases, err)
	}
	told := func(n int) string {
		var out []string
		for _, h := range f.Hosts(n) {
			s := fmt.Sprintf("%s %d", h.Host, h.Queued)
			if h.Busy {
				s += " busy"
			}
			if h.Due.After(now) {
				s += fmt.Sprintf(" in %v after %d", h.Due.Sub(now), h.Failures)
			}
			out = append(out, s)
		}
		return strings.Join(out, ", ")
	}
	for n, want := range map[int]string{
		0: "", -1: "", 1: "b.example 7 in 1m0s after 3", 3: "b.example 7 in 1m0s after 3, c.example 7, e.example 5",
		9: "b.example 7 in 1m0s after 3, c.example 7, e.example 5, a.example 3, d.example 0 busy",
	} {
		if got := told(n); got != want {
			t.Errorf("%d hosts: %s\nwant %s", n, got, want)
		}
	}
}

// Of very many hosts with equal queues those that were met first count, and few are read of the store. Longer
// queues come before, of hosts that are cold as of others.
func TestHostsOfEqualQueues(t *testing.T) {
	const hosts, most = 5000, 10
	f, err := frontier.OpenOn(vfs.NewMem(), dir, frontier.FewHosts(frontier.Options{}, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var turn web.Turn
	for i := range hosts {
		turn.Add = append(turn.Add, adding(t, i, 1).Add...)
	}
	turn.Add = append(turn.Add, adding(t, 4000, 3).Add...)
	if _, err := f.Commit(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(t.Context(), adding(t, hosts, 2)); err != nil { // the others are cold
		t.Fatal(err)
	}
	read := frontier.CountStates(f)
	got := f.Hosts(most)
	if *read > 2*most {
		t.Errorf("%d states of hosts were read for %d", *read, most)
	}
	var told []string
	for _, h := range got {
		told = append(told, fmt.Sprintf("%s %d", strings.TrimSuffix(strings.TrimPrefix(string(h.Host), "host"), ".example"), h.Queued))
	}
	// Twenty hosts by queue and number, of which those with one link are in the order of their names.
	if got, want := strings.Join(told, ", "), "4000 3, 5000 2, 0 1, 1 1, 10 1, 11 1, 12 1, 13 1, 14 1, 15 1"; got != want {
		t.Errorf("hosts and their links: %s\nwant %s", got, want)
	}
}
