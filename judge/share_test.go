package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// sharingJudge is what a crawl by several workers looks for in a judge.
type sharingJudge interface {
	adaptiveJudge
	Share()
	Lessons() [][]byte
	Learn(lesson []byte) ([]web.Renewal, error)
}

func newSharing(t testing.TB) sharingJudge {
	s, ok := newAdapting(t).(sharingJudge)
	if !ok {
		t.Fatal("the judge topic does not learn from others")
	}
	s.Share()
	return s
}

func article(host string, n int) *web.Page {
	return page(fmt.Sprintf("http://%s/%d", host, n), fmt.Sprint("Item ", n), "Prices of steel and energy. "+strings.Repeat("colony winter hive bees ", n%6))
}

// Two judges of which each sees half of the pages, and is taught the other half, judge
// alike, as one does that sees all. Each tells what it says anew of its own pages alone.
func TestJudgesLearnFromOthers(t *testing.T) {
	alone, a, b := newSharing(t), newSharing(t), newSharing(t)
	for n := range 64 {
		own, other := a, b
		if n%2 == 1 {
			own, other = b, a
		}
		p := article(fmt.Sprintf("%c%d.test", "ab"[n%2], n), n) // of no host is a template known
		observe(t, alone, p)
		observe(t, own, p)
		for _, l := range own.Lessons() {
			renewed, err := other.Learn(l)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range renewed {
				if strings.HasPrefix(string(r.URL.Host()), "a") != (other == a) {
					t.Errorf("a worker tells the verdict of %s, a page of the other", r.URL)
				}
			}
		}
	}
	x, y, z := relevance(t, a, near), relevance(t, b, near), relevance(t, alone, near)
	if x != y || x != z {
		t.Errorf("a page has %v and %v, and %v of the judge of all", x, y, z)
	}
	if fresh := relevance(t, newSharing(t), near); x == fresh {
		t.Error("nothing was learnt")
	}
	if l := a.Lessons(); len(l) > 0 {
		t.Errorf("%d lessons were passed on", len(l))
	}
	again := newSharing(t)
	state := a.State()
	if err := again.Restore(func(name string) ([]byte, error) { return state[name], nil }); err != nil {
		t.Fatal(err)
	}
	if r := relevance(t, again, near); r != x {
		t.Errorf("after a restart %v, before %v", r, x)
	}

	// A judge goes on telling others after a restart and with other keywords, and those learn
	// from it that have the same keywords.
	observe(t, again, article("a64.test", 4))
	stands := again.Lessons()
	if len(stands) != 1 {
		t.Fatalf("%d lessons after a restart", len(stands))
	}
	if _, err := b.Learn(stands[0]); err != nil {
		t.Error(err)
	}
	observe(t, again, article("a66.test", 5)) // untold when the keywords change
	reword := func(j sharingJudge) {
		if _, err := j.(keywordJudge).Keywords([]string{"steel", "energy"}, func(web.URL) (*web.Page, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
	}
	reword(again)
	observe(t, again, article("a68.test", 6))
	told := again.Lessons()
	if len(told) != 2 {
		t.Fatalf("%d lessons with other keywords", len(told))
	}
	for _, l := range told {
		if _, err := b.Learn(l); err == nil {
			t.Error("a lesson by other keywords was taken")
		}
	}
	reword(b)
	for _, l := range told {
		if _, err := b.Learn(l); err != nil {
			t.Error(err)
		}
	}
}

// What the first pages show is told as well where pages of others come between two of one's own.
func TestNotesWithLessons(t *testing.T) {
	w := &writer{r: rand.New(rand.NewPCG(11, 12))}
	made := func() sharingJudge {
		j, err := judge.New("topic", &topic.Topic{Keywords: []string{"steel", "furnace"}}, judge.Options{Threshold: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		return j.(sharingJudge)
	}
	other, j := made(), made()
	other.Share()
	for range 4 {
		observe(t, other, w.page("other", ofSteel, 100))
	}
	lessons := other.Lessons()
	pages := 0
	next := func(want string) {
		observe(t, j, w.page(fmt.Sprintf("s%d", pages%40), ofSteel, 100))
		pages++
		notes := strings.Join(j.Notes(), "\n")
		if want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("after %d pages it says %q, want %q", pages, notes, want)
		}
	}
	learn := func() {
		for range 2 {
			if _, err := j.Learn(lessons[0]); err != nil {
				t.Fatal(err)
			}
			lessons = lessons[1:]
			pages++
		}
	}
	for pages < 63 {
		next("")
	}
	learn()
	next("of the first 66 pages")
	for pages < 255 {
		next("")
	}
	learn()
	next("of the first 256 pages")
	next("")
}

// A lesson that is none is refused.
func FuzzJudgeLesson(f *testing.F) {
	teacher := newSharing(f)
	observe(f, teacher, article("a.test", 5))
	f.Add(teacher.Lessons()[0])
	f.Add([]byte{})
	f.Add([]byte{3, 'a', 'b', 'c', 0, 0, 0})
	f.Fuzz(func(t *testing.T, lesson []byte) {
		j := newSharing(t)
		before := relevance(t, j, near)
		if _, err := j.Learn(lesson); err != nil && relevance(t, j, near) != before {
			t.Fatalf("a lesson was refused (%v), and changed a verdict", err)
		}
		if r := relevance(t, j, near); !(r >= 0 && r <= 1) {
			t.Fatalf("a relevance of %v", r)
		}
	})
}
