package pathlab

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/topic/paths"
	"github.com/waggle-crawler/waggle/train"
)

// Data is what a model of one kind of goal is taught with and tried on, in the mean of its
// folds: table 1 of the paper.
type Data struct {
	Kind                     string
	Folds                    int
	Sites                    float64 // that teach
	Shown, Positive          float64 // paths that teach, and those of them that lead to a goal
	Tested, TestedPositive   float64 // paths of the site left out
	States, Words, Features  float64 // of the model
	Length                   float64 // links on the shortest way to a goal, mean over shown and tested ways
	MedianLength, ModeLength int
}

// Data describes the folds of each topic.
func (t *Trial) Data(ctx context.Context) (out []Data, err error) {
	folds, err := t.folds(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range t.Topics {
		d := Data{Kind: kind}
		var lengths []int
		for _, f := range folds {
			if f.topic != kind {
				continue
			}
			file, err := train.FitPaths(ctx, f.shown, t.Pages, train.FitOptions{Set: map[string]float64{"claims": 0}})
			if err != nil {
				return nil, err
			}
			m := file.Payload.(*model.Paths)
			d.Folds++
			sites := map[string]bool{}
			for _, p := range f.shown {
				sites[p.Steps[0].URL.Host().Domain()] = true
			}
			d.Sites += float64(len(sites))
			d.Shown, d.Positive = d.Shown+float64(len(f.shown)), d.Positive+positive(f.shown)
			d.Tested, d.TestedPositive = d.Tested+float64(len(f.other)), d.TestedPositive+positive(f.other)
			d.States, d.Words = d.States+float64(len(m.States)), d.Words+float64(m.Words.Len())
			d.Features += float64(len(m.Field.State) + len(m.Field.Arc))
			for _, p := range slices.Concat(f.shown, f.other) {
				if p.Positive() {
					lengths = append(lengths, len(p.Steps)-1)
				}
			}
		}
		n := float64(max(1, d.Folds))
		for _, x := range []*float64{&d.Sites, &d.Shown, &d.Positive, &d.Tested, &d.TestedPositive, &d.States, &d.Words, &d.Features} {
			*x /= n
		}
		d.Length, d.MedianLength, d.ModeLength = average(lengths)
		out = append(out, d)
	}
	return out, nil
}

func positive(set []paths.Path) (n float64) {
	for _, p := range set {
		if p.Positive() {
			n++
		}
	}
	return n
}

// average is the mean, the median (the lower of two) and the mode (the least of equals).
func average(list []int) (mean float64, median, mode int) {
	if len(list) == 0 {
		return 0, 0, 0
	}
	slices.Sort(list)
	count := map[int]int{}
	for _, x := range list {
		mean += float64(x) / float64(len(list))
		count[x]++
	}
	for _, x := range slices.Sorted(maps.Keys(count)) {
		if count[x] > count[mode] {
			mode = x
		}
	}
	return mean, list[(len(list)-1)/2], mode
}

// WriteData writes a table.
func WriteData(w io.Writer, rows []Data) {
	fmt.Fprintln(w, "| sought | folds | sites that teach | paths that teach (to goals) | paths that are named (to goals) | states of pages | words | weights | links to a goal: mean | median | mode |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, d := range rows {
		fmt.Fprintf(w, "| %s | %d | %.1f | %.1f (%.1f) | %.1f (%.1f) | %.1f | %.0f | %.0f | %.2f | %d | %d |\n",
			d.Kind, d.Folds, d.Sites, d.Shown, d.Positive, d.Tested, d.TestedPositive, d.States, d.Words, d.Features, d.Length, d.MedianLength, d.ModeLength)
	}
}
