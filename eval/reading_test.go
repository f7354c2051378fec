package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/web"
)

// readLine is a run of pages: 2, 1 and 0 are read, of that grade; ? was not read;
// s is a seed, c a copy that nobody read, o outside the record. Behind each stands
// its stratum: "2a?b0a". Pages count from grade from on.
func readLine(pages string, strata int, from pool.Grade) *Run {
	r := &Run{Hosts: []web.Host{"a.example"}, From: from, Strata: strata}
	for i := 0; i+1 < len(pages); i += 2 {
		p := Page{ID: int32(i / 2), Stratum: pages[i+1] - 'a'}
		switch c := pages[i]; c {
		case '0', '1', '2':
			g := pool.Grade(c - '0')
			p.Worth = graded(g)
			if g >= from {
				p.Mark = Hit | Relevant
			}
		case '?':
			p.Worth = Unread
		case 'c':
			p.Worth, p.Mark = Unseen, Copy
		case 's':
			p.Mark = Seed
		case 'o':
			p.Mark = Outside
		}
		r.Pages = append(r.Pages, p)
	}
	return r
}

// samplesOf is the reference of documents in the notation of readLine.
func samplesOf(documents string, strata int, from pool.Grade) Reference {
	ref := Reference{Unread: make([]float64, strata), Bound: []float64{0}, Greedy: []float64{0}, BoundRead: []float64{0}, GreedyRead: []float64{0}, BoundSE: []float64{0}}
	for g := pool.Partly; g <= pool.Mainly; g++ {
		s := make([]pool.Sample, strata)
		for i := 0; i+1 < len(documents); i += 2 {
			h := documents[i+1] - 'a'
			s[h].Size++
			if documents[i] == '?' {
				continue
			}
			s[h].Read++
			if pool.Grade(documents[i]-'0') >= g {
				s[h].Relevant++
			}
		}
		ref.Samples[g-1] = s
	}
	for h, s := range ref.Samples[from-1] {
		ref.Known += float64(s.Relevant)
		ref.Unread[h] = float64(s.Unread())
	}
	ref.Reachable = pool.Predict(ref.Known, ref.Unread, ref.Samples[from-1]).Value
	return ref
}

func measure(t interface{ Fatalf(string, ...any) }, name string) Measure {
	m, ok := MeasureNamed(name)
	if !ok {
		t.Fatalf("no measure %s", name)
	}
	return m
}

// Known finds count 1, unread ones by the share of their stratum, and the rest
// nothing; bounds are those of none and all.
func TestEstimatedHits(t *testing.T) {
	// Stratum a is read whole; b by half, of which a quarter counts.
	documents := strings.Repeat("2a", 3) + strings.Repeat("0a", 3) + strings.Repeat("1b", 2) + strings.Repeat("0b", 6) + strings.Repeat("?b", 8)
	run := readLine("sa2a0a?b?bcb1b?bob0b?b", 2, pool.Partly)
	ref := samplesOf(documents, 2, pool.Partly)
	if got := run.Hits(11); !math.IsNaN(got) {
		t.Errorf("a run that is not estimated has %v hits", got)
	}
	est := run.Estimated(ref) // one page of b was read in the run: too few for a share of its own
	for name, want := range map[string]float64{
		"hits": 2 + 4*.25, "harvest": 3. / 11, "unread": 4. / 11, "harvest-1": 3. / 11, "harvest-condensed": 2. / 7,
		"harvest-2": 1. / 11, "recall": 3. / (5 + 8*.25),
	} {
		if got := measure(t, name).Of(est, ref, 11); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if low, high := est.Bounded(0).Hits(11), est.Bounded(1).Hits(11); low != 2 || high != 6 {
		t.Errorf("bounds %v and %v", low, high)
	}
	if got := est.Hits(4); got != 1.25 {
		t.Errorf("%v hits of 4", got)
	}
	// Pages count from grade 2 on.
	main := readLine("sa2a0a?b?bcb1b?bob0b?b", 2, pool.Mainly)
	ref = samplesOf(documents, 2, pool.Mainly)
	if got := main.Estimated(ref).Hits(11); got != 1 {
		t.Errorf("from grade 2: %v hits", got)
	}
	// A crawl of which enough was read speaks for itself: 4 of 5 of its pages count.
	run = readLine("1b1b1b1b0b?b?b", 2, pool.Partly)
	if got := run.Estimated(samplesOf(documents, 2, pool.Partly)).Hits(7); math.Abs(got-(4+2*.8)) > 1e-12 {
		t.Errorf("by its own share: %v", got)
	}
	c := NewCell(run, samplesOf(documents, 2, pool.Partly), []int{7}, Measures())
	if c.Value("hits", 7) != 5.6 || c.LowerValue("hits", 7) != 4 || c.UpperValue("hits", 7) != 6 || c.LowerHits[len(c.LowerHits)-1] != 4 || c.Unread[len(c.Unread)-1] != 2 {
		t.Errorf("cell %+v", c)
	}
}

// With all read, the measures are those of a truth that is known, and infAP and
// bpref what their definitions say.
func TestAllRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		worth := rapid.StringMatching(`[012s]{1,30}`).Draw(t, "pages")
		from := pool.Grade(rapid.IntRange(1, 2).Draw(t, "from"))
		var pages, documents strings.Builder
		plain := ""
		for _, c := range worth {
			stratum := string(rune('a' + rapid.IntRange(0, 2).Draw(t, "stratum")))
			pages.WriteString(string(c) + stratum)
			if c != 's' {
				documents.WriteString(string(c) + stratum)
			}
			if c != 's' && pool.Grade(c-'0') >= from {
				plain += "h"
			} else if c == 's' {
				plain += "s"
			} else {
				plain += "."
			}
		}
		missed := rapid.SliceOfN(rapid.SampledFrom([]string{"0a", "1b", "2c"}), 0, 5).Draw(t, "missed")
		ref := samplesOf(documents.String()+strings.Join(missed, ""), 3, from)
		run := readLine(pages.String(), 3, from).Estimated(ref)
		known := line(plain)
		ref.Bound, ref.Greedy = slices.Repeat([]float64{3}, 40), slices.Repeat([]float64{2}, 40)
		n := rapid.IntRange(1, len(worth)).Draw(t, "n")
		for _, name := range []string{"hits", "harvest", "auc", "recall", "of-bound", "regret", "harvest-200", "pages-to-50"} {
			a, b := measure(t, name).Of(run, ref, n), measure(t, name).Of(known, ref, n)
			if math.Abs(a-b) > 1e-9 || math.IsNaN(a) != math.IsNaN(b) {
				t.Fatalf("%s: read %v, known %v", name, a, b)
			}
		}
		if se := measure(t, "hits-se").Of(run, ref, n); se != 0 {
			t.Fatalf("hits that are known have a standard error of %v", se)
		}
		// Average precision, over all relevant documents.
		all, found, sum := ref.Known, 0., 0.
		for i, c := range plain[:n] {
			if c == 'h' {
				found++
				sum += found / float64(i+1)
			}
		}
		if got := measure(t, "inf-ap").Of(run, ref, n); all > 0 && math.Abs(got-sum/all) > 1e-3 {
			t.Fatalf("infAP %v, AP %v of %s", got, sum/all, plain)
		}
		// bpref by its definition: pairs of a relevant page and an irrelevant one
		// among the first min(R, N) irrelevant ones.
		irrelevant := 0.
		for _, s := range ref.Samples[from-1] {
			irrelevant += float64(s.Read - s.Relevant)
		}
		if most := min(all, irrelevant); most > 0 {
			want := 0.
			for i, c := range plain[:n] {
				if c == 'h' {
					before := float64(strings.Count(plain[:i], "."))
					want += (1 - min(before, most)/most) / all
				}
			}
			if got := measure(t, "bpref").Of(run, ref, n); math.Abs(got-want) > 1e-9 {
				t.Fatalf("bpref %v, want %v of %s", got, want, plain)
			}
		}
	})
}

// The formulas of the papers, on lists small enough for a pencil.
func TestWorkedExamples(t *testing.T) {
	// Buckley & Voorhees (2004): R = 2 relevant, N = 3 irrelevant; unread pages do
	// not matter. The first relevant page has none before it, the second one.
	run := readLine("?a2a?a0a2a0a0a?a", 1, pool.Partly)
	ref := samplesOf("2a2a0a0a0a?a?a?a", 1, pool.Partly)
	if got, want := bpref(run.Estimated(ref), ref, 8), (1+.5)/2; got != want {
		t.Errorf("bpref %v, want %v", got, want)
	}
	// With fewer irrelevant pages than relevant ones they set the scale (trec_eval).
	run = readLine("0a2a2a2a", 1, pool.Partly)
	ref = samplesOf("0a2a2a2a", 1, pool.Partly)
	if got := bpref(run.Estimated(ref), ref, 4); got != 0 {
		t.Errorf("bpref %v, want 0", got)
	}
	// Yilmaz & Aslam (2006), equation 3: a relevant page at place 5; above it 4
	// pages of the sampled part, of which one was read as relevant and one as not:
	// 1/5 + 4/5·(4/4)·(1/2) = .6. The first relevant page, at place 2, with nothing
	// read above it: 1/2 + 1/2·(ε/2ε) = .75. Of two relevant ones: (.75 + .6)/2.
	run = readLine("?a2a?a0a2a", 1, pool.Partly)
	ref = samplesOf("?a2a?a0a2a", 1, pool.Partly)
	if got := infAP(run.Estimated(ref), ref, 5); math.Abs(got-.675) > 1e-4 {
		t.Errorf("infAP %v, want .675", got)
	}
}

// sampled hides the grades of all but a random sample of each stratum.
func sampled(rng *rand.Rand, worth []byte, stratum []int, reads []int) []byte {
	out := slices.Repeat([]byte{'?'}, len(worth))
	left := slices.Clone(reads)
	for _, i := range rng.Perm(len(worth)) {
		if h := stratum[i]; left[h] > 0 {
			left[h]--
			out[i] = worth[i]
		}
	}
	return out
}

// Over samples, estimated hits, recall and infAP are right in the mean, and the
// standard error is the size of their errors.
func TestEstimatesAreUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const size = 900
	reads := []int{60, 90, 90}
	worth, stratum := make([]byte, size), make([]int, size)
	for i := range worth {
		stratum[i] = i / (size / 3)
		worth[i] = '0'
		if rng.Float64() < []float64{.6, .25, .08}[stratum[i]] {
			worth[i] = '1'
		}
	}
	// A crawl that takes two thirds of the documents, the relevant ones rather.
	var order []int
	for _, i := range rng.Perm(size) {
		if worth[i] == '1' && rng.Float64() < .8 || rng.Float64() < .6 {
			order = append(order, i)
		}
	}
	text := func(worth []byte, order []int) string {
		var b strings.Builder
		for _, i := range order {
			fmt.Fprintf(&b, "%c%c", worth[i], 'a'+stratum[i])
		}
		return b.String()
	}
	all := make([]int, size)
	for i := range all {
		all[i] = i
	}
	full := samplesOf(text(worth, all), 3, pool.Partly)
	truth := readLine(text(worth, order), 3, pool.Partly).Estimated(full)
	names := []string{"hits", "recall", "inf-ap", "auc", "harvest-1"}
	want, sum, square := map[string]float64{}, map[string]float64{}, map[string]float64{}
	n := len(order)
	for _, name := range names {
		want[name] = measure(t, name).Of(truth, full, n)
	}
	const draws = 400
	se := map[string]float64{}
	for range draws {
		seen := sampled(rng, worth, stratum, reads)
		ref := samplesOf(text(seen, all), 3, pool.Partly)
		run := readLine(text(seen, order), 3, pool.Partly).Estimated(ref)
		for _, name := range names {
			x := measure(t, name).Of(run, ref, n)
			sum[name] += x / draws
			square[name] += (x - want[name]) * (x - want[name]) / draws
		}
		for _, name := range []string{"hits", "recall"} {
			se[name] += measure(t, name+"-se").Of(run, ref, n) / draws
		}
	}
	for _, name := range names {
		// Three standard errors of the mean, and a hundredth for what is a ratio.
		if off := math.Abs(sum[name] - want[name]); off > 3*math.Sqrt(square[name]/draws)+.015*want[name] {
			t.Errorf("%s: mean of the estimates %.4f, truth %.4f", name, sum[name], want[name])
		}
	}
	for name, e := range se {
		if off := math.Sqrt(square[name]); e < .8*off || e > 1.6*off {
			t.Errorf("%s: mean standard error %.4f, root of the mean square error %.4f", name, e, off)
		}
	}
}

// A recorder knows of each page what readers said, of copies and seeds that they
// are no finds, and a run survives being kept.
func TestRecorderOfReading(t *testing.T) {
	u := func(s string) web.URL {
		x, err := web.Parse("http://a.example/" + s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	b := NewBuilder()
	names := []string{"seed", "good", "copy", "bad", "open", "open2", "part"}
	digests := []string{"00", "01", "01", "02", "03", "03", "04"}
	for i, name := range names {
		var links []web.URL
		if i == 0 {
			for _, to := range names[1:] {
				links = append(links, u(to))
			}
		}
		b.Page(u(name), digests[i], links)
	}
	g := b.Graph()
	topic := &pool.Topic{
		Strata: []pool.Stratum{{Name: "top", Size: 3, Drawn: 3}, {Name: "rest", Size: 2, Drawn: 1}}, Member: []uint8{1, 0, 0, 1, 0},
	}
	grades := map[web.URL]pool.Grade{u("good"): pool.Mainly, u("bad"): pool.No, u("part"): pool.Partly}
	w := pool.Web{Name: "w", Revision: g.Revision(), Documents: 5}
	rd, err := NewReading(g, w, topic, grades, pool.Partly)
	if err != nil {
		t.Fatal(err)
	}
	truth := g.Truth(map[web.URL]bool{u("good"): true, u("part"): true}, []web.URL{u("seed")}, nil)
	truth.Reading = rd
	ref := g.Reference(truth, []web.URL{u("seed")}, 7)
	// Reachable and not shown: good, bad, open, part. open may be relevant.
	if ref.Known != 2 || ref.Samples[0][0] != (pool.Sample{Size: 3, Read: 3, Relevant: 2}) || ref.Samples[0][1] != (pool.Sample{Size: 1}) || ref.Samples[1][0].Relevant != 1 || ref.Reachable != 2.5 {
		t.Errorf("%+v", ref)
	}
	if ref.BoundRead[7] != 2 || ref.Bound[7] < 2 || ref.Bound[7] > 3 {
		t.Errorf("U %v, of what was read %v", ref.Bound, ref.BoundRead)
	}
	rec := NewRecorder(Key{}, 7, truth, RecorderOptions{Number: g.Number, Document: g.Document})
	for i, name := range names {
		link := web.LinkA
		if i == 0 {
			link = web.LinkSeed
		}
		rec.Listen(event.Fetched{Visit: event.Visit{URL: u(name), Link: link}, Digest: digests[i], Status: 200})
	}
	var got []Worth
	for _, p := range rec.Run().Pages {
		got = append(got, p.Worth)
	}
	if want := []Worth{Unseen, Grade2, Uncounted, Grade0, Unread, Unseen, Grade1}; !slices.Equal(got, want) {
		t.Errorf("worth %v, want %v", got, want)
	}
	run := rec.Run().Estimated(ref)
	if h := run.Hits(7); h != 2.5 {
		t.Errorf("%v hits", h)
	}
	kept, err := json.Marshal(rec.Run())
	if err != nil {
		t.Fatal(err)
	}
	var again Run
	if err := json.Unmarshal(kept, &again); err != nil {
		t.Fatal(err)
	}
	again.Hosts = rec.Run().Hosts
	if !reflect.DeepEqual(&again, rec.Run()) {
		t.Errorf("kept %s\nread %+v", kept, again)
	}
	for _, c := range []struct{ old, by string }{{`"worth":"5`, `"worth":"7`}, {`"stratum":"b`, `"stratum":"z`}, {`"from":1`, `"from":3`}, {`"strata":2`, `"strata":0`}, {`"worth":"5`, `"worth":"55`}} {
		if !strings.Contains(string(kept), c.old) {
			t.Fatalf("%s is not in %s", c.old, kept)
		}
		if err := json.Unmarshal([]byte(strings.Replace(string(kept), c.old, c.by, 1)), &again); err == nil {
			t.Errorf("with %s it is read", c.by)
		}
	}
	w.Revision = "0"
	if _, err := NewReading(g, w, topic, grades, pool.Partly); !errors.Is(err, ErrPool) {
		t.Errorf("a pool of another web: %v", err)
	}
}
