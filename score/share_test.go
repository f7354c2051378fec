package score_test

import (
	"bytes"
	"testing"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/web"
)

// sharing is what a crawl by several workers looks for in a scorer.
type sharing interface {
	score.Scorer
	Share()
	Lessons() [][]byte
	Learn(lesson []byte) error
}

func newSharing(t *testing.T) sharing {
	s, ok := newScorer(t, "waggle", score.Options{}).(sharing)
	if !ok {
		t.Fatal("the scorer waggle does not learn from others")
	}
	return s
}

// A scorer that was given the lessons of another scores links as that one does, goes on
// from its own state, and passes nothing on that it was taught.
func TestWaggleLearnsFromOthers(t *testing.T) {
	teacher, pupil, stranger := newSharing(t), newSharing(t), newSharing(t)
	teacher.Share()
	pupil.Share()
	hub, fetch := folders(40)
	v := web.Verdict{Relevance: 0.8, Similarity: 0.7, Relevant: true}
	features := teacher.Extract(hub, v)
	memory := teacher.Visit(&web.Candidate{URL: hub.URL}, hub, v)
	link := func(i int) *web.Candidate {
		return &web.Candidate{URL: hub.Links[i].URL, From: hub.URL, Depth: 1, Features: features[i], Memory: memory}
	}
	for i := range 30 {
		p, v := fetch(hub.Links[i].URL)
		teacher.Visit(link(i), p, v)
	}
	teacher.Visit(link(30), nil, web.Verdict{})
	lessons := teacher.Lessons()
	if len(lessons) != 32 || len(teacher.Lessons()) != 0 {
		t.Fatalf("%d lessons of 32 pages, and not once", len(lessons))
	}
	for _, l := range lessons {
		if err := pupil.Learn(l); err != nil {
			t.Fatal(err)
		}
	}
	if own := pupil.Lessons(); len(own) > 0 {
		t.Errorf("%d lessons are passed on", len(own))
	}
	differ := 0
	for i := 40; i < 80; i++ {
		if got, want := pupil.Score(link(i)), teacher.Score(link(i)); got != want {
			t.Fatalf("link %d: %v, and the teacher says %v", i, got, want)
		}
		if pupil.Score(link(i)) != stranger.Score(link(i)) {
			differ++
		}
	}
	if differ == 0 {
		t.Error("nothing was learnt")
	}
	if !pupil.Stale() {
		t.Error("what waits is not scored anew after 32 lessons")
	}
	state, _ := pupil.State()
	again := newSharing(t)
	if err := again.Restore(bytes.Clone(state)); err != nil {
		t.Fatal(err)
	}
	if got, want := again.Score(link(50)), pupil.Score(link(50)); got != want {
		t.Errorf("after a restart %v, before %v", got, want)
	}
}

// A lesson that is none is refused, and changes nothing.
func FuzzWaggleLesson(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{200, 0, 3, 1, 9, 9, 9, 9})
	f.Add([]byte{200, 7, 3, 1, 9, 9, 9, 9})
	f.Add([]byte{200, 0, 3, 1, 9, 9, 9, 9, 1, 2, 3})
	f.Add([]byte{200, 4, 3, 1, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 200, 100})
	f.Add([]byte{0, 8, 1, 2, 3})
	f.Add([]byte{200, 12, 1, 2, 3, 4, 5, 6, 7, 8, 200, 100})
	f.Fuzz(func(t *testing.T, lesson []byte) {
		s, fresh := newSharing(t), newSharing(t)
		err := s.Learn(lesson)
		state, _ := s.State()
		none, _ := fresh.State()
		if err != nil && !bytes.Equal(state, none) {
			t.Fatalf("a lesson was refused (%v) and kept", err)
		}
		if err == nil {
			if err := newSharing(t).Restore(state); err != nil {
				t.Fatalf("a lesson was taken whose state cannot be read: %v", err)
			}
		}
	})
}
