package eval

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/waggle-crawler/waggle/learn/metric"
	"github.com/waggle-crawler/waggle/web"
)

// Measure is one number of a run within its first n places. Of is pure; it
// returns NaN where the measure does not apply: no reference, no pages, no
// scores.
//
// n counts places in the budget. A crawl that ran out of links before n keeps
// its hits and wastes the rest, so that giving up early never pays: rates
// divide by n. Means over pages (those of a judge or of cosines) divide by the
// pages there are.
type Measure struct {
	Name   string
	Line   string // one line for people
	Source string
	Better int  // +1: more is better; −1: less is; 0: neither
	Count  bool // counted in things, not a share
	Read   bool // of a truth that was read alone
	Of     func(r *Run, ref Reference, n int) float64
}

// Window is the number of places that the windowed harvest looks back.
const Window = 200

// thresholds are the γ of Liu & Milios 2010, section 6.1: five from .5 to .8, of
// which the paper gives the ends. Nobody changes them: Thresholds hands out a copy.
var thresholds = [...]float64{.5, .575, .65, .725, .8}

// Thresholds returns the γ at which precision by similarity is measured, as in Liu &
// Milios 2010, section 6.1.
func Thresholds() []float64 { return slices.Clone(thresholds[:]) }

// MeshPoints is the number of page points of that measure, and of all curves.
const MeshPoints = 400

// SimilarThreshold is the γ from which on a page counts as similar, as in Batsakis,
// Petrakis & Milios 2009, section 4.1; the paper's value is lost.
const SimilarThreshold = .75

// calibrationBins is the number of equal bins of ECE.
const calibrationBins = 10

// Measures lists every measure, in the order of reports.
func Measures() []Measure {
	const spec = "waggle, evaluation"
	list := []Measure{
		{"hits", "H(n): relevant pages among the first n; seeds, examples and copies do not count", spec, +1, true, false,
			func(r *Run, _ Reference, n int) float64 { return r.Hits(n) }},
		{"harvest", "H(n)/n: share of the fetched pages that are hits", "Chakrabarti et al. 1999, with truth for the judge", +1, false, false,
			func(r *Run, _ Reference, n int) float64 { return ratio(r.Hits(n), float64(n)) }},
		{"loss", "1 − H(n)/n", spec, -1, false, false,
			func(r *Run, _ Reference, n int) float64 { return 1 - ratio(r.Hits(n), float64(n)) }},
		{"judged-harvest", "(1/|V|) Σ Pr: mean relevance as the crawl's own judge saw it", "Chakrabarti, van den Berg, Dom 1999", +1, false, false, judged},
		{"judged-loss", "(1/|V|) Σ (1−Pr): expected loss as printed", "Chakrabarti, Punera, Subramanyam 2002, §3.3", -1, false, false,
			func(r *Run, ref Reference, n int) float64 { return 1 - judged(r, ref, n) }},
		{"judged-loss-sum", "Σ (1−Pr): expected loss, cumulative, as the figures are read", "Chakrabarti, Punera, Subramanyam 2002, fig. 10", -1, true, false,
			func(r *Run, _ Reference, n int) float64 {
				sum := 0.0
				for _, p := range r.first(n) {
					if p.Mark&Outside == 0 {
						sum += 1 - share(p.Relevance)
					}
				}
				return sum
			}},
		{"harvest-200", "share of hits among the last 200 of n places", spec, +1, false, false,
			func(r *Run, _ Reference, n int) float64 {
				return ratio(r.Hits(n)-r.Hits(n-Window), float64(min(n, Window)))
			}},
		{"auc", "(1/n) Σ H(i)/i over i = 1…n: the harvest so far, averaged over the whole crawl, so that early finds count more", spec, +1, false, false, auc},
		{"of-bound", "H(n)/U(n), where U is an upper bound on the hits of any crawl: share of what is possible at most", spec, +1, false, false,
			func(r *Run, ref Reference, n int) float64 { return ratio(r.Hits(n), at(ref.Bound, n)) }},
		{"of-greedy", "H(n)/G(n), where G is the hits of a greedy crawl with full knowledge: share of what is surely possible", spec, +1, false, false,
			func(r *Run, ref Reference, n int) float64 { return ratio(r.Hits(n), at(ref.Greedy, n)) }},
		{"regret", "U(n) − H(n): hits below the upper bound", spec, -1, true, false,
			func(r *Run, ref Reference, n int) float64 { return at(ref.Bound, n) - r.Hits(n) }},
		{"recall", "H(n) / all relevant pages that can be reached within the record", spec, +1, false, false,
			func(r *Run, ref Reference, n int) float64 { return ratio(r.Hits(n), ref.Reachable) }},
		{"target-recall", "share of the hidden half of the known targets that was found", spec + "; after Pant & Menczer", +1, false, false,
			func(r *Run, ref Reference, n int) float64 {
				return ratio(float64(r.count(n, Target)), float64(ref.Hidden))
			}},
		{"relevant-hosts", "hosts with at least one hit", spec, +1, true, false,
			func(r *Run, _ Reference, n int) float64 {
				none := map[int32]float64{} // by host: that none of its pages is a hit
				for _, p := range r.first(n) {
					if v := r.value(p); v > 0 {
						if _, ok := none[p.Host]; !ok {
							none[p.Host] = 1
						}
						none[p.Host] *= 1 - v
					}
				}
				hosts := 0.
				for _, h := range slices.Sorted(maps.Keys(none)) { // in one order, as sums depend on it
					hosts += 1 - none[h]
				}
				return hosts
			}},
		{"requests", "requests up to page n, with robots.txt, redirects and errors", spec, -1, true, false,
			func(r *Run, _ Reference, n int) float64 {
				if n >= len(r.Pages) {
					return float64(r.Requests)
				}
				if n <= 0 {
					return 0
				}
				return float64(r.Pages[n-1].Requests)
			}},
		{"seconds", "time of page n on the crawl's clock", spec, -1, true, false,
			func(r *Run, _ Reference, n int) float64 {
				pages := r.first(n)
				if len(pages) == 0 {
					return math.NaN()
				}
				return float64(pages[len(pages)-1].Millis) / 1000
			}},
		{"seconds-to-10", "time of the 10th hit on the crawl's clock; not known where the first n places have fewer", spec, -1, true, false,
			func(r *Run, _ Reference, n int) float64 { return r.secondsTo(10, n) }},
		{"seconds-to-100", "time of the 100th hit", spec, -1, true, false,
			func(r *Run, _ Reference, n int) float64 { return r.secondsTo(100, n) }},
		{"seeds", "places that went to seeds, which no strategy chose", spec, 0, true, false,
			func(r *Run, _ Reference, n int) float64 { return float64(r.count(n, Seed)) }},
		{"outside", "out-of-record rate: share of the places spent on what is not recorded; not known where that is dropped", spec, -1, false, false,
			func(r *Run, _ Reference, n int) float64 {
				if !r.Charged {
					// What a strategy would have asked for next was taken
					// from it before it could ask.
					return math.NaN()
				}
				return ratio(float64(r.count(n, Outside)), float64(len(r.first(n))))
			}},
		{"links-outside", "share of the links found, over the whole run, that lead outside the record", spec, 0, false, false,
			func(r *Run, _ Reference, _ int) float64 { return ratio(float64(r.LinksOutside), float64(r.Links)) }},
		{"auroc", "chance that a relevant page's link scored above another's, before the fetch", "Hanley & McNeil 1982; prequential", +1, false, false, auroc},
		{"ece", "expected calibration error of link scores, 10 equal bins; of scorers that tell what relevance they expect, and of scores in [0,1]", "Guo et al. 2017, eq 3; prequential", -1, false, false, ece},
		{"precision-mesh", "mean precision over 400 page points × γ of .5, .575, .65, .725, .8", "Liu, Milios 2010, §6.1", +1, false, false, precisionMesh},
		{"sigma", "(1/|S|) Σ_p max_d cos(p,d): mean of the best similarities, as the text says", "Liu, Milios 2010, eq 10", +1, false, false,
			func(r *Run, _ Reference, n int) float64 {
				sum, count := 0.0, 0
				for _, p := range r.first(n) {
					if p.Mark&Outside == 0 {
						sum += share(p.Best)
						count++
					}
				}
				return ratio(sum, float64(count))
			}},
		{"sigma-printed", "max_d (1/|S|) Σ_p cos(p,d): best of the mean similarities, as printed", "Liu, Milios 2010, eq 10", +1, false, false,
			func(r *Run, _ Reference, n int) float64 {
				pages := r.first(n)
				if !r.Targets || len(pages) == 0 {
					return math.NaN()
				}
				return share(pages[len(pages)-1].Widest)
			}},
		{"apr", "average precision over that of breadth-first, per γ, then averaged; the paper divides by best-first by content", "Liu, Milios 2010, eq 40; decoration", +1, false, false, averagePrecisionRatio},
		{"similar-pages", "pages whose best cosine to a target is at least .75", "Batsakis, Petrakis, Milios 2009, §4.1", +1, true, false,
			func(r *Run, _ Reference, n int) float64 { return float64(r.Similar(n, SimilarThreshold)) }},
	}
	for _, q := range []int{25, 50, 75, 90} {
		list = append(list, Measure{
			"pages-to-" + strconv.Itoa(q), "places until " + strconv.Itoa(q) + " % of the reachable relevant pages; n+1 if never", spec, -1, true, false,
			func(r *Run, ref Reference, n int) float64 { return pagesTo(r, ref, n, q) },
		})
	}
	return append(list, readMeasures()...)
}

// MeasureNamed finds a measure.
func MeasureNamed(name string) (Measure, bool) {
	for _, m := range Measures() {
		if m.Name == name {
			return m, true
		}
	}
	return Measure{}, false
}

// first is the run's first n places, or all.
func (r *Run) first(n int) []Page { return r.Pages[:max(0, min(n, len(r.Pages)))] }

func (r *Run) count(n int, m Mark) int {
	c := 0
	for _, p := range r.first(n) {
		if p.Mark&m != 0 {
			c++
		}
	}
	return c
}

// Hits is H(n), 0 for n < 1: of a truth that was read an estimate, for which the
// run has to be Estimated.
func (r *Run) Hits(n int) float64 {
	h := 0.
	for _, p := range r.first(n) {
		h += r.value(p)
	}
	return h
}

// secondsTo is the time of the place that makes the hits reach that number, NaN if
// none of the first n places does.
func (r *Run) secondsTo(hits float64, n int) float64 {
	h := 0.
	for _, p := range r.first(n) {
		if h += r.value(p); h >= hits {
			return float64(p.Millis) / 1000
		}
	}
	return math.NaN()
}

// Similar counts, within the first n places, pages whose best cosine to a
// target is at least γ. Source: Liu & Milios 2010, section 3.4; section 3.3 has
// "greater than".
func (r *Run) Similar(n int, γ float64) int {
	least, c := tenThousandths(γ), 0
	for _, p := range r.first(n) {
		if p.Mark&Outside == 0 && p.Best >= least {
			c++
		}
	}
	return c
}

// boundedNames are the measures that Cell.Upper holds: those of hits alone.
// What is divided by the hits of the record has no upper bound worth telling.
var boundedNames = [...]string{"hits", "harvest", "loss", "harvest-200", "auc", "relevant-hosts"}

// Bounded tells whether a measure has an optimistic value: see Run.Optimistic.
func (m Measure) Bounded() bool { return slices.Contains(boundedNames[:], m.Name) }

// Optimistic returns the run as if every address outside the record had been a
// hit: with the run itself, which takes them all for irrelevant, the bounds of
// what the open web would have given.
func (r *Run) Optimistic() *Run {
	out := *r
	out.Pages = slices.Clone(r.Pages)
	for i := range out.Pages {
		if out.Pages[i].Mark&Outside != 0 {
			out.Pages[i].Mark |= Hit
		}
	}
	return &out
}

// Mesh returns k points evenly spread over 1…budget, the last of them budget;
// fewer when the budget is smaller. Those of also that lie below the budget are
// points as well: where tables read a curve, it is not to be guessed at.
func Mesh(budget, k int, also ...int) []int {
	var points []int
	for i := 1; i <= k; i++ {
		if x := (i*budget + k/2) / k; x > 0 && (len(points) == 0 || x > points[len(points)-1]) {
			points = append(points, x)
		}
	}
	for _, n := range also {
		if n > 0 && n < budget {
			points = append(points, n)
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// Curve is H at each of points, which ascend. Shape: as points.
func (r *Run) Curve(points []int) []float64 {
	return r.cumulate(points, r.value, 1)
}

// CurveUnread is the number of places whose page may be a hit and was not read, at
// each of points, which ascend.
func (r *Run) CurveUnread(points []int) []float64 {
	return r.cumulate(points, func(p Page) float64 { return indicator(p.Worth == Unread) }, 1)
}

// CurveSimilar counts pages with a best cosine ≥ γ at each of points, which ascend.
// Averaged over topics it is the figure of Batsakis, Petrakis & Milios 2009,
// section 4.
func (r *Run) CurveSimilar(points []int, γ float64) []float64 {
	least := tenThousandths(γ)
	return r.cumulate(points, func(p Page) float64 { return indicator(p.Mark&Outside == 0 && p.Best >= least) }, 1)
}

// CurveLoss is the expected loss by the crawl's own judge at each of points,
// which ascend: as printed in Chakrabarti, Punera & Subramanyam 2002, section 3.3,
// its mean over the pages so far, 0 before the first; and as their figure 10 is read
// its sum. Shapes: as points.
func (r *Run) CurveLoss(points []int) (mean, sum []float64) {
	judged := r.cumulate(points, func(p Page) float64 { return indicator(p.Mark&Outside == 0) }, 1)
	sum = r.cumulate(points, func(p Page) float64 { return indicator(p.Mark&Outside == 0) * float64(Parts-int(p.Relevance)) }, Parts)
	mean = make([]float64, len(points))
	for i, n := range judged {
		mean[i] = sum[i] / max(1, n)
	}
	return mean, sum
}

// cumulate sums what pages count, in units of 1/parts.
func (r *Run) cumulate(points []int, counts func(Page) float64, parts float64) []float64 {
	out := make([]float64, len(points))
	i, sum := 0, 0.
	for j, n := range points {
		for ; i < n && i < len(r.Pages); i++ {
			sum += counts(r.Pages[i])
		}
		out[j] = sum / parts
	}
	return out
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// PrecisionMesh is the precision by similarity within the first n places: at each
// page point of a mesh of 400 and for each of Thresholds the share of pages with a
// best cosine ≥ γ. Shapes: points [P], precision [5][P].
//
// Source: Liu & Milios 2010, section 6.1 and figure 10.
func (r *Run) PrecisionMesh(n int) (points []int, precision [][]float64) {
	points = Mesh(n, MeshPoints)
	for _, γ := range thresholds {
		row := r.CurveSimilar(points, γ)
		for j, x := range points {
			row[j] /= float64(x)
		}
		precision = append(precision, row)
	}
	return points, precision
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

func share(p uint16) float64 { return float64(p) / Parts }

// at is curve[n], its last value beyond the end, NaN without a curve.
func at(curve []float64, n int) float64 {
	if len(curve) == 0 || n < 0 {
		return math.NaN()
	}
	return curve[min(n, len(curve)-1)]
}

func judged(r *Run, _ Reference, n int) float64 {
	sum, count := 0.0, 0
	for _, p := range r.first(n) {
		if p.Mark&Outside == 0 {
			sum += share(p.Relevance)
			count++
		}
	}
	return ratio(sum, float64(count))
}

func auc(r *Run, _ Reference, n int) float64 {
	sum, hits := 0.0, 0.0
	for i := 1; i <= n; i++ {
		if i <= len(r.Pages) {
			hits += r.value(r.Pages[i-1])
		}
		sum += hits / float64(i)
	}
	return ratio(sum, float64(n))
}

// pagesTo is the number of places until q percent of the reachable hits,
// rounded up, were found; n+1 when they were not within n.
func pagesTo(r *Run, ref Reference, n, q int) float64 {
	if ref.Reachable == 0 {
		return math.NaN()
	}
	need := ref.Reachable * float64(q) / 100
	if r.From == 0 {
		need = math.Ceil(need - Tie)
	}
	hits := 0.
	for i, p := range r.first(n) {
		if hits += r.value(p); hits >= need-Tie {
			return float64(i + 1)
		}
	}
	return float64(n + 1)
}

// scored lists the pages whose link had a score and whose relevance is
// known: neither seeds nor addresses outside the record, nor what nobody read.
func (r *Run) scored(n int) []Page {
	var out []Page
	for _, p := range r.first(n) {
		if p.Mark&(Seed|Outside) == 0 && p.Worth < Unread {
			out = append(out, p)
		}
	}
	return out
}

// predictions are the scores of the links to scored pages, with the truth of the
// pages: membership of it, not hits, since that a page has been seen before is no
// property of its link.
func (r *Run) predictions(n int) (out []metric.Prediction) {
	for _, p := range r.scored(n) {
		out = append(out, metric.Prediction{Score: p.Score, Positive: p.Mark&Relevant != 0, Weight: 1})
	}
	return out
}

func auroc(r *Run, _ Reference, n int) float64 { return metric.AUROC(r.predictions(n)) }

// ece is that of what link scores expect. Where they tell no expectation, one outside [0,1]
// claims no probability, and then there is nothing to calibrate.
func ece(r *Run, _ Reference, n int) float64 {
	bins := make(metric.Bins, calibrationBins)
	for _, p := range r.predictions(n) {
		if r.expects != nil {
			p.Score = r.expects(p.Score)
		}
		if p.Score < 0 || p.Score > 1 {
			return math.NaN()
		}
		bins.Add(p)
	}
	return bins.ECE()
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return ratio(sum, float64(len(x)))
}

func precisionMesh(r *Run, _ Reference, n int) float64 {
	_, precision := r.PrecisionMesh(n)
	var means []float64
	for _, row := range precision {
		means = append(means, mean(row))
	}
	return mean(means)
}

// averagePrecisionRatio is, for each γ, the mean precision over the page
// points divided by that of breadth-first; then the mean over those γ at which
// breadth-first found anything.
func averagePrecisionRatio(r *Run, ref Reference, n int) float64 {
	if ref.Breadth == nil {
		return math.NaN()
	}
	_, ours := r.PrecisionMesh(n)
	_, theirs := ref.Breadth.PrecisionMesh(n)
	var ratios []float64
	for i := range ours {
		if base := mean(theirs[i]); base > 0 {
			ratios = append(ratios, mean(ours[i])/base)
		}
	}
	return mean(ratios)
}

// HalfHidden splits known targets for target recall: every second of them, in
// the order of a hash of seed and address, is hidden. The split depends on
// nothing else, so adding a target moves few others.
func HalfHidden(targets []web.URL, seed uint64) (shown, hidden []web.URL) {
	sorted := slices.Clone(targets)
	slices.SortFunc(sorted, func(a, b web.URL) int {
		return cmp.Or(cmp.Compare(mix(seed, a.String()), mix(seed, b.String())), cmp.Compare(a.String(), b.String()))
	})
	for i, u := range slices.Compact(sorted) {
		if i%2 == 0 {
			shown = append(shown, u)
		} else {
			hidden = append(hidden, u)
		}
	}
	return shown, hidden
}

// mix is FNV-1a over seed and s, finished as in SplitMix64.
func mix(seed uint64, s string) uint64 {
	h := uint64(14695981039346656037) ^ seed
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
