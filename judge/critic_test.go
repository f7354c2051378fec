package judge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// terms are words with counts: "bee:3 honey".
func terms(s string) []web.Term {
	n := map[string]int32{}
	for _, w := range strings.Fields(s) {
		word, times, found := strings.Cut(w, ":")
		count := int32(1)
		if found {
			fmt.Sscan(times, &count)
		}
		n[word] += count
	}
	var out []web.Term
	for w, c := range n {
		out = append(out, web.Term{Text: w, Body: c})
	}
	slices.SortFunc(out, func(a, b web.Term) int { return strings.Compare(a.Text, b.Text) })
	return out
}

// seq yields samples.
func seq(samples []judge.Sample) func(func(judge.Sample, error) bool) {
	return func(yield func(judge.Sample, error) bool) {
		for _, s := range samples {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// made are pages of classes that draw words, each class some of its own and
// some of all; mix is the share of the latter.
func made(seed uint64, classes []string, pages, words int, mix float64) []judge.Sample {
	rng := rand.New(rand.NewPCG(seed, 7))
	var out []judge.Sample
	for _, class := range classes {
		own := strings.ToLower(strings.Trim(strings.ReplaceAll(class, "/", ""), " "))
		for i := range pages {
			var b strings.Builder
			for range words {
				if rng.Float64() < mix {
					fmt.Fprintf(&b, "common%d ", int(20*rng.Float64()))
				} else {
					fmt.Fprintf(&b, "%s%d ", own, int(10*rng.Float64()))
				}
			}
			out = append(out, judge.Sample{Class: class, Key: fmt.Sprintf("%s-%d", class, i), Terms: terms(b.String())})
		}
	}
	return out
}

var six = []string{"/Arts/Music", "/Arts/Other", "/Recreation/Fishing", "/Recreation/Speleology", "/Science/Astronomy", "/Science/Other"}

func train(t testing.TB, samples []judge.Sample, o judge.Training) *judge.Critic {
	t.Helper()
	c, err := judge.TrainCritic(seq(samples), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newCritic(t testing.TB, c *judge.Critic, o judge.Options) judge.Judge {
	t.Helper()
	o.Critic = c
	j, err := judge.New("critic", &topic.Topic{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// By hand: two classes of ten pages (eight of them learned before the
// held-out ones join), as printed: with V = {bee, car}, n(bee|B) = 20,
// n(car|B) = 10, n(bee|C) = 10, n(car|C) = 30,
//
//	θ_B = (21, 11)/32   θ_C = (11, 31)/42
//
// a page of bee, bee, car has Pr(B|u) = θ_B² θ'_B / (θ_B² θ'_B + θ_C² θ'_C).
func TestCriticByHand(t *testing.T) {
	var samples []judge.Sample
	for i := range 10 {
		samples = append(samples,
			judge.Sample{Class: "/B", Key: fmt.Sprint("b", i), Terms: terms("bee:2 car:1")},
			judge.Sample{Class: "/C", Key: fmt.Sprint("c", i), Terms: terms("bee:1 car:3")})
	}
	c := train(t, samples, judge.Training{})
	j := newCritic(t, c, judge.Options{Focus: []string{"/B"}, Printed: true})
	b := (21. / 32) * (21. / 32) * (11. / 32)
	not := (11. / 42) * (11. / 42) * (31. / 42)
	p := &web.Page{Terms: terms("bee:2 car:1 unheard:9")}
	if got, want := relevance(t, j, p), b/(b+not); math.Abs(got-want) > 1e-12 {
		t.Errorf("Pr(B|u) = %v, want %v", got, want)
	}
	if j.Name() != "critic-printed" {
		t.Errorf("results would name it %q", j.Name())
	}
	if got := j.Text("bee bee car"); math.Abs(got-b/(b+not)) > 1e-12 {
		t.Errorf("a text of the same words has %v", got)
	}
}

// Relevance is the sum over the classes in focus and all below them,
// and a page is relevant from ½ on.
func TestCriticFocus(t *testing.T) {
	c := train(t, made(1, six, 50, 40, 0.5), judge.Training{})
	sum := func(focus ...string) float64 {
		return relevance(t, newCritic(t, c, judge.Options{Focus: focus}), &web.Page{Terms: terms("recreationfishing1:3 scienceastronomy2:2 common1")})
	}
	whole, parts := sum("/Recreation"), sum("/Recreation/Fishing")+sum("/Recreation/Speleology")
	if math.Abs(whole-parts) > 1e-12 {
		t.Errorf("/Recreation has %v, its classes %v", whole, parts)
	}
	if two, apart := sum("/Recreation", "Science/Astronomy/"), whole+sum("/Science/Astronomy"); math.Abs(two-apart) > 1e-12 {
		t.Errorf("two topics have %v, each alone %v", two, apart)
	}
	all := sum("/Recreation") + sum("/Arts") + sum("/Science")
	if math.Abs(all-1) > 1e-9 {
		t.Errorf("all topics together have %v", all)
	}
	if got := newCritic(t, c, judge.Options{Focus: []string{"/Arts"}}).Threshold(); got != 0.5 {
		t.Errorf("the threshold is %v", got)
	}
	for want, focus := range map[string][]string{
		"no topic is in focus": nil,
		"the critic knows no topic /Recreation/Speliology; near names: /Recreation/S": {"/Recreation/Speliology"},
		"near names: /Recreation/Fishing, /Recreation":                                {"/Recreation/Fishing/Fly_Fishing"},
		"the critic knows no topic /Zzz; waggle topic show lists":                     {"/Zzz"},
		"is all that the critic knows":                                                {"/"},
		"is all that the critic knows: ":                                              {"/Arts", "/Recreation", "/Science"},
	} {
		if _, err := judge.New("critic", &topic.Topic{}, judge.Options{Critic: c, Focus: focus}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("focus %v: %v, want %s", focus, err, want)
		}
	}
}

// verdictHas checks that the verdict on a page names the classes that the judge
// finds.
func verdictHas(t *testing.T, j judge.Judge, p *web.Page) {
	t.Helper()
	v, err := j.Judge(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := judge.ClassNames(j)(p); !slices.Equal(v.Classes, want) || len(want) == 0 {
		t.Errorf("the verdict names the classes %v, and the judge %v", v.Classes, want)
	}
}

// The classes of a page by name, the likeliest first.
func TestCriticClasses(t *testing.T) {
	c := train(t, made(1, six, 50, 40, 0.3), judge.Training{})
	j := newCritic(t, c, judge.Options{Focus: []string{"/Arts"}})
	got := j.(judge.Classifier).Classes(&web.Page{Terms: terms("recreationspeleology3:4 recreationspeleology1:2 artsmusic2")})
	if got[0].Path != "/Recreation/Speleology" || got[0].P < 0.5 {
		t.Errorf("the first is %+v", got[0])
	}
	verdictHas(t, j, &web.Page{Terms: terms("recreationspeleology3:4 recreationspeleology1:2 artsmusic2")})
	// Many pages at a time, one after the other and all again: the same.
	pages := make([]*web.Page, 64)
	first := make([][]judge.Class, len(pages))
	for i := range pages {
		pages[i] = &web.Page{Digest: [16]byte{byte(i)}, Terms: terms(fmt.Sprintf("artsmusic%d scienceastronomy%d:%d", i%10, i%7, i%4))}
		first[i] = j.(judge.Classifier).Classes(pages[i])
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i, p := range pages {
				relevance(t, j, p)
				if got := j.(judge.Classifier).Classes(p); !slices.Equal(got, first[i]) {
					t.Errorf("page %d: first %v, then %v", i, first[i], got)
				}
			}
		})
	}
	all.Wait()
	sum := 0.
	for i, x := range got {
		sum += x.P
		if i > 0 && (x.P > got[i-1].P || x.P < 0.01) {
			t.Errorf("out of order or too little: %+v", got)
		}
	}
	if sum > 1+1e-9 || sum < 0.9 {
		t.Errorf("they add up to %v", sum)
	}
	if got := j.(judge.Classifier).Classes(&web.Page{}); len(got) != 6 {
		t.Errorf("a page without words has the classes %v", got)
	}
}

// Without a file the critic is of two classes, examples and what is unlike.
func TestCriticOfTwo(t *testing.T) {
	j, err := judge.New("critic", bees(), judge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verdictHas(t, j, onTopic)
	got := j.(judge.Classifier).Classes(onTopic)
	r := relevance(t, j, onTopic)
	if got[0].Path != "/bees" || math.Abs(got[0].P-r) > 1e-12 || r < 0.5 {
		t.Errorf("classes %+v, relevance %v", got, r)
	}
	printed, err := judge.New("critic", bees(), judge.Options{Printed: true})
	if err != nil {
		t.Fatal(err)
	}
	long := &web.Page{Terms: slices.Clone(onTopic.Terms)}
	for i := range long.Terms {
		long.Terms[i].Body *= 50
	}
	if a, b := relevance(t, printed, long), relevance(t, j, long); a <= b {
		t.Errorf("as printed a long page has %v, and %v where words are bounded", a, b)
	}
	for _, c := range []struct {
		topic *topic.Topic
		o     judge.Options
		want  string
	}{
		{&topic.Topic{Keywords: []string{"bees"}}, judge.Options{}, "without a critic from waggle topic train, it learns from example pages"},
		{bees(), judge.Options{Focus: []string{"/Bees"}}, "a focus needs a critic"},
	} {
		if _, err := judge.New("critic", c.topic, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// A critic of two classes is tried on the fifths of its examples that were held
// out: every page once, by what the others teach.
func TestCriticOfTwoIsTried(t *testing.T) {
	pages := func(class string, n int, mix float64) (out []*web.Page) {
		for _, s := range made(8, []string{class}, n, 60, mix) {
			out = append(out, &web.Page{Terms: s.Terms})
		}
		return out
	}
	for name, c := range map[string]struct {
		good, rest []*web.Page
		says       string
		blind      bool
	}{
		"told apart":     {pages("/A", 12, 0.3), pages("/B", 9, 0.3), "knew 12 of 12 examples that were held out (a fifth at a time), and took 0 of 9 negative examples for such", false},
		"no negatives":   {pages("/A", 12, 0.3), nil, "knew 12 of 12 examples that were held out (a fifth at a time); what it takes for such without being it is not known", false},
		"few negatives":  {pages("/A", 12, 0.3), pages("/B", 3, 0.3), "took 0 of 3 negative examples for such, which are too few to tell", false},
		"few examples":   {pages("/A", 3, 0.3), pages("/B", 9, 0.3), "only 3 example pages that could be held out", false},
		"one example":    {pages("/A", 1, 0.3), nil, "only 0 example pages", false},
		"one negative":   {pages("/A", 12, 0.3), pages("/B", 1, 0.3), "examples that were held out", false},
		"the same words": {pages("/A", 20, 1), pages("/B", 20, 1), "negative examples for such. Give more examples, and negative examples", true},
	} {
		j, err := judge.New("critic", &topic.Topic{Name: "a", Examples: c.good, Negatives: c.rest}, judge.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		notes, err := j.(judge.Doubter).Doubts()
		if errors.Is(err, judge.ErrBlind) != c.blind {
			t.Errorf("%s: %v", name, err)
		}
		said := strings.Join(notes, "\n")
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, c.says) {
			t.Errorf("%s: it says %q and not %q", name, said, c.says)
		}
	}
}

// The held-out figures are those of pages not learned: words that tell nothing
// give the accuracy of a guess, words that tell all give 1; what lies between
// is better calibrated by the fitted W than as printed.
func TestCriticHeldOut(t *testing.T) {
	blind := train(t, made(3, six, 100, 60, 1), judge.Training{})
	if h := blind.Record.HeldOut; h.Pages != 120 || h.Accuracy > 0.35 {
		t.Errorf("pages without a difference: %d held out, accuracy %v", h.Pages, h.Accuracy)
	}
	clear := train(t, made(3, six, 100, 60, 0.5), judge.Training{})
	if h := clear.Record.HeldOut; h.Accuracy != 1 || h.Top5 != 1 || h.ECE > 0.05 || len(clear.Record.WorstPairs(9)) > 0 {
		t.Errorf("pages told apart at once: %+v", h)
	}
	// Long pages whose words come in runs are what naive Bayes is sure of
	// without reason.
	var samples []judge.Sample
	rng := rand.New(rand.NewPCG(5, 5))
	for _, s := range made(4, six, 200, 1, 0.8) {
		more := made(rng.Uint64(), []string{s.Class}, 1, 2, 0.8)[0].Terms
		for i := range more {
			more[i].Body *= 100
		}
		s.Terms = more
		samples = append(samples, s)
	}
	c := train(t, samples, judge.Training{})
	own, printed := c.Record.HeldOut, c.Record.Printed
	if own.ECE > 0.5*printed.ECE || own.LogLoss >= printed.LogLoss || c.Record.Words == 0 {
		t.Errorf("W = %v: ECE %.3f, as printed %.3f; surprise %.2f, as printed %.2f", c.Record.Words, own.ECE, printed.ECE, own.LogLoss, printed.LogLoss)
	}
	if own.Accuracy != printed.Accuracy {
		t.Errorf("W changed the likeliest class: accuracy %v, as printed %v", own.Accuracy, printed.Accuracy)
	}
	n := 0
	for _, b := range own.Bins {
		n += b.Pages
	}
	if n == 0 || n > own.Pages || n < own.Pages/3 {
		t.Errorf("%d pages in bins, %d held out, half of them for fitting W", n, own.Pages)
	}
}

// A critic that cannot tell a focus from the rest is refused before the crawl,
// unless one insists.
func TestCriticBlind(t *testing.T) {
	samples := made(6, []string{"/A", "/B", "/C"}, 100, 50, 0.4)
	for i := range samples { // B is made of the words of A
		if samples[i].Class == "/B" {
			samples[i].Terms = samples[i-100].Terms
		}
	}
	c := train(t, samples, judge.Training{})
	good, err := c.Focus([]string{"/A"})
	if err != nil {
		t.Fatal(err)
	}
	s := c.FocusResult(good)
	if s.Good != 20 || s.Rest != 40 {
		t.Errorf("%+v", s)
	}
	// Held-out pages of A and B are the same: whichever is named is a guess.
	if notes, err := c.Doubts(good); len(notes) == 0 && err == nil {
		t.Errorf("no doubts at %+v", s)
	}
	pairs := c.Record.WorstPairs(1)
	if len(pairs) != 1 || pairs[0].A != "/A" || pairs[0].B != "/B" || pairs[0].Shared < 0.3 {
		t.Errorf("worst pairs %+v", pairs)
	}

	all := train(t, made(3, six, 100, 60, 1), judge.Training{})
	_, err = judge.New("critic", &topic.Topic{}, judge.Options{Critic: all, Focus: []string{"/Arts/Music"}})
	if !errors.Is(err, judge.ErrBlind) || !strings.Contains(err.Error(), "of 20 held-out pages in focus it knew ") {
		t.Errorf("classes without a difference: %v", err)
	}
	if _, err = judge.New("critic", &topic.Topic{}, judge.Options{Critic: all, Focus: []string{"/Arts/Music"}, Anyway: true}); err != nil {
		t.Errorf("anyway: %v", err)
	}
	few := train(t, made(1, six, 5, 40, 0.3), judge.Training{})
	good, _ = few.Focus([]string{"/Arts/Music"})
	if notes, err := few.Doubts(good); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "too few pages were held out") {
		t.Errorf("too few pages: %v, %v", notes, err)
	}
	// Every page is the same, and there are too few to refuse the critic.
	alike := made(1, six[:2], 20, 40, 0.3)
	for i := range alike {
		alike[i].Terms = alike[0].Terms
	}
	same := train(t, alike, judge.Training{})
	good, _ = same.Focus(six[:1])
	if notes, err := same.Doubts(good); err != nil || len(notes) == 0 || !strings.Contains(notes[0], "looks poor (of the first it knew 4, and took 4 of the others for such)") {
		t.Errorf("pages all alike: %v, %v", notes, err)
	}
}

// A page without a word that the critic knows has the share of the focus among
// the training pages; where that is half or more, users are told.
func TestCriticOfMostPages(t *testing.T) {
	c := train(t, made(6, []string{"/A", "/B", "/C"}, 100, 50, 0.4), judge.Training{})
	for _, focus := range [][]string{{"/A"}, {"/A", "/B"}} {
		j, err := judge.New("critic", &topic.Topic{}, judge.Options{Critic: c, Focus: focus})
		if err != nil {
			t.Fatal(err)
		}
		v, err := j.Judge(t.Context(), &web.Page{Terms: []web.Term{{Text: "unheard", Body: 3}}})
		if err != nil {
			t.Fatal(err)
		}
		notes, err := j.(judge.Doubter).Doubts()
		if want := float64(len(focus)) / 3; math.Abs(v.Relevance-want) > 1e-9 || err != nil {
			t.Errorf("%v: relevance %v of what is not known, want %v (%v)", focus, v.Relevance, want, err)
		}
		if told := strings.Contains(strings.Join(notes, "\n"), "67% of the pages that the critic learned from are in focus"); told != v.Relevant {
			t.Errorf("%v: a page of unknown words is relevant: %v, and the notes are %q", focus, v.Relevant, notes)
		}
	}
}

// A critic without a class of other pages takes each of them for one of its classes, and one that is far
// off on held-out pages is as sure as any: users are told both.
func TestCriticOfClassesAlone(t *testing.T) {
	alone, whole := train(t, made(6, []string{"/A", "/B", "/C"}, 40, 50, 0.4), judge.Training{}), train(t, made(6, six, 40, 50, 0.4), judge.Training{})
	for _, c := range []struct {
		critic *judge.Critic
		focus  []string
		ece    float64
		want   string
	}{
		{alone, []string{"/A"}, 0, "the critic has no class Other: it puts every page into one of its 3 classes"},
		{whole, []string{"/Arts/Music"}, 0, ""},
		{whole, []string{"/Arts/Music", "/Arts/Other"}, 0, ""},
		{whole, []string{"/Arts/Music"}, 0.41, "the probabilities of the critic are 0.41 off in the mean of its held-out pages, of which it had 60% right"},
	} {
		c.critic.Record.HeldOut.ECE, c.critic.Record.HeldOut.Accuracy = c.ece, 0.6
		good, err := c.critic.Focus(c.focus)
		if err != nil {
			t.Fatal(err)
		}
		notes, err := c.critic.Doubts(good)
		if got := strings.Join(notes, "\n"); err != nil || !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v, ECE %v: %q (%v), want %q", c.focus, c.ece, got, err, c.want)
		}
	}
}

func TestTrainCriticRefuses(t *testing.T) {
	boom := errors.New("boom")
	for want, samples := range map[string]func(func(judge.Sample, error) bool){
		"0 of 0 topics have at least 5 pages":                         seq(nil),
		"1 of 2 topics have at least 5 pages with text, and a critic": seq(append(made(1, []string{"/A"}, 9, 9, 0), made(1, []string{"/B"}, 4, 9, 0)...)),
		"boom": func(yield func(judge.Sample, error) bool) { yield(judge.Sample{}, boom) },
		"no word occurs in two of the pages": func(yield func(judge.Sample, error) bool) {
			for i := range 20 {
				if !yield(judge.Sample{Class: fmt.Sprint("/", i%2), Key: fmt.Sprint(i), Terms: terms(fmt.Sprint("w", i))}, nil) {
					return
				}
			}
		},
	} {
		if _, err := judge.TrainCritic(samples, judge.Training{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := train(t, append(made(1, six, 9, 9, 0.2), made(1, []string{"/Thin"}, 4, 9, 0)...), judge.Training{})
	if !slices.Equal(c.Record.Thin, []string{"/Thin"}) {
		t.Errorf("left out: %v", c.Record.Thin)
	}
	if _, err := c.Focus([]string{"/Thin"}); err == nil || !strings.Contains(err.Error(), "without the topic /Thin: it had too few") {
		t.Errorf("a focus that was left out: %v", err)
	}
}

// large yields pages like those of a directory of the web: 480 classes of 250
// pages, some 300 different words each, words by Zipf's law from those of the
// language and those of the class.
func large(classes, pages int) func(func(judge.Sample, error) bool) {
	const (
		different = 300
		language  = 200_000
	)
	names := make([]string, language)
	for i := range names {
		names[i] = fmt.Sprintf("w%06d", i)
	}
	return func(yield func(judge.Sample, error) bool) {
		rng := rand.New(rand.NewPCG(1, 1))
		common := rand.NewZipf(rng, 1.1, 20, language-1)
		special := rand.NewZipf(rng, 1.05, 10, 2999)
		for p := range pages {
			for class := range classes {
				count := map[uint64]int32{}
				for len(count) < different {
					w := common.Uint64()
					if rng.IntN(4) == 0 { // a word of the class's own
						w = (special.Uint64()*7919 + uint64(class)*104_729) % language
					}
					count[w]++
				}
				t := make([]web.Term, 0, different)
				for w, n := range count {
					t = append(t, web.Term{Text: names[w], Body: n})
				}
				slices.SortFunc(t, func(a, b web.Term) int { return strings.Compare(a.Text, b.Text) })
				if !yield(judge.Sample{Class: fmt.Sprintf("/Top/Group%d/Class%d", class%20, class), Key: fmt.Sprint(class, "/", p), Terms: t}, nil) {
					return
				}
			}
		}
	}
}

// The bar is 5 minutes for 480 classes and 120,000 pages, from parsed text.
// The time that making the pages takes is given apart.
func BenchmarkTrainCritic(b *testing.B) {
	for b.Loop() {
		n := 0
		for range large(480, 250) {
			n++
		}
		made := b.Elapsed()
		c, err := judge.TrainCritic(large(480, 250), judge.Training{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(made.Seconds(), "s-making")
		b.ReportMetric((b.Elapsed() - 2*made).Seconds(), "s-training")
		b.ReportMetric(100*c.Record.HeldOut.Accuracy, "%right")
		file, err := c.Append(nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(file))/1e6, "MB-file")
	}
}

// The bar is 2 ms a page.
func BenchmarkCriticJudge(b *testing.B) {
	c, err := judge.TrainCritic(large(480, 100), judge.Training{})
	if err != nil {
		b.Fatal(err)
	}
	j := newCritic(b, c, judge.Options{Focus: []string{"/Top/Group3"}, Anyway: true})
	var pages []*web.Page
	for s := range large(480, 1) {
		pages = append(pages, &web.Page{Terms: s.Terms})
	}
	for i := 0; b.Loop(); i++ {
		if _, err := j.Judge(context.Background(), pages[i%len(pages)]); err != nil {
			b.Fatal(err)
		}
	}
}
