package judge

// MergeBins joins each bin of fewer than n pages with the next ones, and the
// last with the one before: a share of few pages tells little.
func MergeBins(bins []Bin, n int) []Bin {
	var out []Bin
	for _, b := range bins {
		last := len(out) - 1
		if last < 0 || out[last].Pages >= n {
			out = append(out, b)
			continue
		}
		out[last] = out[last].join(b)
	}
	if last := len(out) - 1; last > 0 && out[last].Pages < n {
		out[last-1] = out[last-1].join(out[last])
		out = out[:last]
	}
	return out
}

// join is the bin of the pages of two.
func (b Bin) join(c Bin) Bin {
	n := float64(b.Pages + c.Pages)
	mean := func(x, y float64) float64 { return (x*float64(b.Pages) + y*float64(c.Pages)) / n }
	return Bin{Pages: b.Pages + c.Pages, Mean: mean(b.Mean, c.Mean), Accuracy: mean(b.Accuracy, c.Accuracy)}
}
