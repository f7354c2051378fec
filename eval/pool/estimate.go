package pool

import "math"

// Sample is what was read of some documents: those of a stratum, or of a part of
// it. What was read of them is a random sample.
type Sample struct {
	Size     int // documents
	Read     int // of these, graded by readers
	Relevant int // of these, found relevant
}

// Unread is how many documents have no grade.
func (s Sample) Unread() int { return s.Size - s.Read }

// Share is the estimated share of relevant documents: that of the read ones. Where
// none was read it is ½, and Spread tells how little that says.
func (s Sample) Share() float64 {
	if s.Read == 0 {
		return .5
	}
	return float64(s.Relevant) / float64(s.Read)
}

// Spread is the estimated variance of a document's relevance, and of the Share,
// in an endless population:
//
//	S² = p̃(1−p̃),  S²/n,  p̃ = (y+½)/(n+1)
//
// with y relevant of n read. The ½ is that of Jeffreys' prior: a sample of one
// kind alone does not prove that all others are of that kind. Where none was
// read, they are those of a share that may be anything: ¼ and 1/12.
func (s Sample) Spread() (document, share float64) {
	if s.Read == 0 {
		return .25, 1. / 12
	}
	p := (float64(s.Relevant) + .5) / (float64(s.Read) + 1)
	return p * (1 - p), p * (1 - p) / float64(s.Read)
}

// Estimate is an estimated number with its standard error and 95 % interval.
type Estimate struct {
	Value, SE, Low, High float64
}

// Total estimates how many documents of some strata are relevant:
//
//	T̂ = Σ_h N_h y_h/n_h,  Var T̂ = Σ_h N_h² (1 − n_h/N_h) S_h²/n_h
//
// T̂ is the estimator of Horvitz and Thompson for a stratified random sample, and
// unbiased wherever something was read of each stratum. The interval is
// Σ N_h p̃_h ± 1.96 SE, within what was found and what is possible: around the
// smoothed shares of Sample.Spread, as Agresti & Coull (1998) have it for one share.
//
// Sources: Horvitz & Thompson (1952); Cochran, Sampling Techniques (1977),
// equations 5.1 and 5.6, with S_h² as in Sample.Spread.
func Total(strata []Sample) Estimate {
	unread := make([]float64, len(strata))
	known := 0
	for h, s := range strata {
		unread[h] = float64(s.Unread())
		known += s.Relevant
	}
	return Predict(float64(known), unread, strata)
}

// Predict estimates how many of some documents are relevant of which known are,
// and unread[h] were not read, where strata[h] is the sample that tells of them:
//
//	T̂ = known + Σ_h u_h p_h,  Var T̂ = Σ_h S_h² (u_h²/n_h + u_h)
//
// For all documents of the strata that is Total: u = N − n gives the variance
// N(N−n)S²/n. Shape: unread and strata [stratum].
func Predict(known float64, unread []float64, strata []Sample) Estimate {
	e := Estimate{Value: known}
	variance, open, middle := 0., 0., known
	for h, s := range strata {
		u := unread[h]
		if u == 0 {
			continue
		}
		document, share := s.Spread()
		e.Value += u * s.Share()
		middle += u * (float64(s.Relevant) + .5) / (float64(s.Read) + 1)
		variance += u*u*share + u*document
		open += u
	}
	e.SE = math.Sqrt(variance)
	return e.within(middle, known, known+open)
}

// within sets the interval around a middle, cut to what is possible. It holds the
// estimate itself.
func (e Estimate) within(middle, least, most float64) Estimate {
	e.Low, e.High = max(least, min(e.Value, middle-z95*e.SE)), min(most, max(e.Value, middle+z95*e.SE))
	return e
}

// z95 is the 97.5 % quantile of the normal distribution.
const z95 = 1.959963984540054

// Share is a stratum of which a crawl has fetched a part.
type Share struct {
	Whole  Sample  // all documents of the stratum
	Part   Sample  // of these, what was fetched; zero where it is not told apart: then Whole tells of it
	Unread float64 // documents that were fetched, of which the ratio is to be told, and that were not read
}

// RatioSE is the standard error of Ĥ/R̂, where R̂ is Total of the whole strata and Ĥ
// Predict of the fetched parts: what a crawl has found of what there is to be
// found. ratio is Ĥ/R̂ and total R̂.
//
// It is linearised (Cochran 1977, section 6.3). Of a stratum let u be Unread, U all
// unread documents, U_D those of the part and U_C those beside it; n_D and n_C of n
// read; p and S² as in Sample, W the part's share of the stratum and r the ratio:
//
//	R̂² Var = (u − r U n_D/n)² S_D²/n_D + (r U n_C/n)² S_C²/n_C     errors of shares
//	       + S_D² (u (1−r)² + (U_D−u) r²) + S_C² U_C r²           each unread document
//	       + (r U)² W(1−W)/n (p_D − p_C)²                         how n falls into parts
//
// Where the part is not told apart, D and C are one sample of n:
//
//	R̂² Var = (u − r U)² S²/n + S² (u (1−r)² + (U−u) r²)
func RatioSE(ratio, total float64, strata []Share) float64 {
	r, variance := ratio, 0.
	for _, x := range strata {
		u, all := x.Unread, float64(x.Whole.Unread())
		if x.Part == (Sample{}) {
			document, share := x.Whole.Spread()
			d := u - r*all
			variance += d*d*share + document*(u*(1-r)*(1-r)+max(0, all-u)*r*r)
			continue
		}
		rest := Sample{x.Whole.Size - x.Part.Size, x.Whole.Read - x.Part.Read, x.Whole.Relevant - x.Part.Relevant}
		n := float64(max(1, x.Whole.Read))
		docD, shareD := x.Part.Spread()
		d := u - r*all*float64(x.Part.Read)/n
		variance += d*d*shareD + docD*(u*(1-r)*(1-r)+max(0, float64(x.Part.Unread())-u)*r*r)
		if rest.Size == 0 {
			continue
		}
		docC, shareC := rest.Spread()
		c := r * all * float64(rest.Read) / n
		w := float64(x.Part.Size) / float64(x.Whole.Size)
		apart := x.Part.Share() - rest.Share()
		variance += c*c*shareC + docC*float64(rest.Unread())*r*r + r*r*all*all*w*(1-w)/n*apart*apart
	}
	return math.Sqrt(variance) / total
}
