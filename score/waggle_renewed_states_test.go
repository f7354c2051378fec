package score_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
	"github.com/waggle-crawler/waggle/web"
)

// A scorer without renewals passes over those of a state: what it learns and how links go is
// as if no verdict had been renewed since the last snapshot. A scorer with renewals makes
// nothing anew of a state without.
func TestWaggleRestoresOtherSetting(t *testing.T) {
	on := newRenewing(t, score.Options{})
	f := begin(on, 40)
	for i := range 10 {
		on.Visit(f.link(i), f.page(i), verdict(float64(i%2)))
	}
	renew := func(s renewing, relevance float64) {
		s.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: verdict(relevance)}, f.renewal(2, relevance), f.renewal(4, relevance)})
	}
	state := func(s renewing, snapshot bool) []byte {
		if snapshot {
			score.Compact(s)
		}
		return scoretest.Grown(nil, s)
	}
	restored := func(s renewing, state []byte) renewing {
		if err := s.Restore(state); err != nil {
			t.Fatal(err)
		}
		return s
	}
	newOff := func() renewing { return newScorer(t, "waggle", score.Options{}).(renewing) }

	unrenewed := state(on, true)
	renew(on, 0.9)
	entries := scoretest.Grown(unrenewed, on)
	if got, want := restored(newOff(), entries), restored(newOff(), unrenewed); !reflect.DeepEqual(got.Learnt(), want.Learnt()) || got.Score(f.link(12)) != want.Score(f.link(12)) {
		t.Error("off: renewals of a journal are learnt")
	}
	off := restored(newOff(), state(on, true))
	if !reflect.DeepEqual(off.Learnt(), on.Learnt()) {
		t.Error("off: other weights than those of the snapshot")
	}
	learnt, priority := off.Learnt(), off.Score(f.link(12))
	renew(off, 0.1)
	off.Visit(&web.Candidate{URL: f.hub.URL, Kind: web.LinkAgain}, f.hub, verdict(0.2))
	if learnt.Fetches++; !reflect.DeepEqual(off.Learnt(), learnt) || off.Score(f.link(12)) != priority {
		t.Error("off: a page is renewed")
	}
	if got, want := off.Score(f.link(12)), restored(newOff(), state(off, true)).Score(f.link(12)); got != want {
		t.Errorf("off: a link has %v, and %v after another restart", got, want)
	}

	off = newOff()
	begin(off, 40)
	for i := range 10 {
		off.Visit(f.link(i), f.page(i), verdict(float64(i%2)))
	}
	learnt = off.Learnt()
	on = restored(newRenewing(t, score.Options{}), state(off, true))
	if renew(on, 0.9); !reflect.DeepEqual(on.Learnt(), learnt) || on.Score(f.link(12)) != off.Score(f.link(12)) {
		t.Error("on: pages of a snapshot without renewals are renewed")
	}
}

// A link that was taken after a renewal is explained by what the scorer knew then.
func TestWaggleRestoresBehindRenewal(t *testing.T) {
	s := newRenewing(t, score.Options{})
	f := begin(s, 40)
	for i := range 10 {
		s.Visit(f.link(i), f.page(i), verdict(float64(i%2)))
	}
	renew := func(relevance float64) {
		s.Renew([]web.Renewal{f.renewal(2, relevance), f.renewal(4, relevance), f.renewal(6, relevance), f.renewal(8, relevance)})
	}
	renew(1)
	s.Renew([]web.Renewal{{URL: f.hub.URL, Verdict: verdict(0.3)}})
	taken := s.Score(f.link(12))
	s.Visit(f.link(12), f.page(12), verdict(0.5))
	renew(0)
	if s.Score(f.link(12)) == taken {
		t.Fatal("nothing was learnt since")
	}
	state, _ := s.State()
	again := newRenewing(t, score.Options{})
	places := []web.Candidate{*f.link(12)}
	place, at, err := again.(score.Historian).RestoreBefore(state, places, taken)
	if want := (score.Moment{Known: 11, Exact: true}); err != nil || place != 0 || at != want || again.Score(&places[0]) != taken {
		t.Errorf("place %d, %+v, %v, priority %v; want %+v and %v", place, at, err, again.Score(&places[0]), want, taken)
	}
}

// States of earlier versions, whose examples do not tell of which page they are, are read;
// these examples keep their labels. Those of earlier snapshots are not known at all, and
// nothing is made anew.
func TestWaggleReadsEarlierStates(t *testing.T) {
	s := newRenewing(t, score.Options{})
	f := begin(s, 40)
	state := append([]byte{6}, "waggle"...)
	for i := range 10 {
		c := f.link(i)
		v := verdict(float64(i % 2))
		s.Visit(c, f.page(i), v)
		// relevance · flags · trail, depth · hash of the host · features
		e := append([]byte{byte(255 * v.Relevance), 0, c.Memory[0], c.Memory[1]}, 0, 0, 0, 0)
		binary.LittleEndian.PutUint32(e[4:], uint32(xxh3.HashString("a.test")))
		e = append(e, c.Features...)
		state = append(binary.AppendUvarint(state, uint64(len(e))), e...)
	}
	again := newRenewing(t, score.Options{})
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	priority := s.Score(f.link(12))
	if got := again.Score(f.link(12)); got != priority {
		t.Errorf("a link has %v, and %v by the entries of an earlier version", priority, got)
	}
	again.Renew([]web.Renewal{f.renewal(2, 1)})
	if got := again.Score(f.link(12)); got != priority {
		t.Errorf("an example that does not tell its page was renewed: %v, before %v", got, priority)
	}
	again.Visit(f.link(14), f.page(14), verdict(0))
	again.Renew([]web.Renewal{f.renewal(14, 1)})
	s.Visit(f.link(14), f.page(14), verdict(1))
	if got, want := again.Score(f.link(12)), s.Score(f.link(12)); got != want {
		t.Errorf("%v after a renewal, want %v", got, want)
	}

	plain := newScorer(t, "waggle", score.Options{}).(renewing)
	begin(plain, 40)
	for i := range 600 {
		plain.Visit(f.link(i%30), f.page(i%30), verdict(float64(i%2)))
	}
	plain.Stale()
	score.Compact(plain)
	got, _ := plain.State()
	state = earlierSnapshot(plain.Learnt(), "a.test")
	if !bytes.Equal(got, state) {
		t.Error("without renewals a snapshot is not that of earlier versions")
	}
	again = newRenewing(t, score.Options{})
	if err := again.Restore(state); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		again.Visit(f.link(i), f.page(i), verdict(0))
		plain.Visit(f.link(i), f.page(i), verdict(0))
		again.Renew([]web.Renewal{f.renewal(i, 1)})
	}
	if !reflect.DeepEqual(again.Learnt(), plain.Learnt()) {
		t.Error("weights were made anew of less than all examples")
	}
	added, snapshot := again.State()
	if plainly, _ := plain.State(); snapshot || !bytes.Equal(added, plainly) {
		t.Error("what is added to a state of earlier versions is not as they have it")
	}
}

// earlierSnapshot is the state of waggle before there were renewals, where a snapshot ends
// with the weights.
func earlierSnapshot(learnt *model.Weights, hosts ...string) []byte {
	next := 10
	for n := range learnt.Fetches {
		if n == next {
			next += max(10, min(1000, n/4))
		}
	}
	b := binary.AppendUvarint(nil, uint64(learnt.Fetches))
	b = binary.AppendUvarint(b, uint64(next))
	asked := make([]byte, 1<<17)
	for _, h := range hosts {
		bit := uint32(xxh3.HashString(h)) % (1 << 20)
		asked[bit/8] |= 1 << (bit % 8)
	}
	b = append(b, asked...)
	put := func(w model.Weight) {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(w.Mean))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(w.Variance))
	}
	for _, x := range learnt.Dense {
		put(x)
	}
	b = binary.AppendUvarint(b, uint64(len(learnt.Hashed)))
	place := uint32(0)
	for _, x := range learnt.Hashed {
		b = binary.AppendUvarint(b, uint64(x.Place-place))
		put(x.Weight)
		place = x.Place + 1
	}
	state := append([]byte{0, 6}, "waggle"...)
	return append(binary.AppendUvarint(state, uint64(len(b))), b...)
}

// firstDifference says where two models differ.
func firstDifference(got, want *model.Weights) string {
	if got.Fetches != want.Fetches || len(got.Hashed) != len(want.Hashed) {
		return fmt.Sprintf("%d fetches and %d hashed weights, want %d and %d", got.Fetches, len(got.Hashed), want.Fetches, len(want.Hashed))
	}
	for i := range got.Dense {
		if got.Dense[i] != want.Dense[i] {
			return fmt.Sprintf("input %d: %v, want %v", i, got.Dense[i], want.Dense[i])
		}
	}
	for i := range got.Hashed {
		if got.Hashed[i] != want.Hashed[i] {
			return fmt.Sprintf("hashed weight %d: %v, want %v", i, got.Hashed[i], want.Hashed[i])
		}
	}
	return "nowhere"
}
