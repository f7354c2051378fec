package train

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/eval/plot"
	"github.com/waggle-crawler/waggle/internal/folder"
)

// Write writes tables and charts of a study into a folder, which is there; topic
// stands in their titles:
//
//	accuracy.csv, accuracy.svg   by d_max, with offsets and without
//	offsets.csv, gain.svg, rate.svg   what each distance from a link tells
//	tags.csv, tags.svg   which elements stand at each distance
//	frontier.csv, frontier.svg   what waits, before and after an apprentice
func (s *Study) Write(dir, topic string) error {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	accuracy := [][]string{{"dmax", "offsets", "all", "high", "low", "links"}}
	row := func(reach, offsets string, a Accuracy) {
		accuracy = append(accuracy, []string{reach, offsets, num(a.All()), num(a.OfHigh()), num(a.OfLow()), strconv.Itoa(a.Low + a.High)})
	}
	x := make([]float64, len(s.ByReach))
	var all, high, low, plain []float64
	for i, r := range s.ByReach {
		x[i] = float64(r.Reach)
		all, high, low = append(all, r.Offsets.All()), append(high, r.Offsets.OfHigh()), append(low, r.Offsets.OfLow())
		plain = append(plain, r.Plain.All())
		row(strconv.Itoa(r.Reach), "yes", r.Offsets)
		row(strconv.Itoa(r.Reach), "no", r.Plain)
	}
	offsets := [][]string{{"offset", "leaves", "with_text", "share_of_words", "mean_gain_bits", "words"}}
	var at, rate, texts, gain []float64
	for _, f := range s.Offsets {
		at, rate, texts, gain = append(at, float64(f.Offset)), append(rate, f.Rate), append(texts, f.Text), append(gain, 1000*f.Gain)
		offsets = append(offsets, []string{strconv.Itoa(f.Offset), strconv.Itoa(f.Leaves), num(f.Text), num(f.Rate), num(f.Gain), strconv.Itoa(f.Words)})
	}
	frontier := [][]string{{"from", "links_before", "links_after"}}
	var middle, before, after []float64
	total := 0
	for _, n := range s.Before {
		total += n
	}
	for i := range s.Before {
		from := float64(i) / Bins
		middle = append(middle, from+0.5/Bins)
		before = append(before, float64(s.Before[i])/float64(max(1, total)))
		after = append(after, float64(s.After[i])/float64(max(1, total)))
		frontier = append(frontier, []string{num(from), strconv.Itoa(s.Before[i]), strconv.Itoa(s.After[i])})
	}
	tags, drawn := tagTable(s.Offsets)
	for name, table := range map[string][][]string{"tags.csv": tags, "accuracy.csv": accuracy, "offsets.csv": offsets, "frontier.csv": frontier} {
		var b bytes.Buffer
		if err := csv.NewWriter(&b).WriteAll(table); err != nil {
			return err
		}
		if err := folder.Write(filepath.Join(dir, name), b.Bytes()); err != nil {
			return err
		}
	}
	for name, chart := range map[string]plot.Lines{
		"accuracy.svg": {
			Title: topic + ": links told right by how far words count", XLabel: "leaves from the link (d_max)", YLabel: "told right", Percent: true, YMax: 1,
			Series: []plot.Series{
				{Name: "all", X: x, Y: all, Dots: true}, {Name: "to high", X: x, Y: high, Color: 1, Dots: true}, {Name: "to low", X: x, Y: low, Color: 2, Dots: true},
				{Name: "all, without offsets", X: x, Y: plain, Color: 3, Dots: true},
			},
		},
		"gain.svg": {
			Title: topic + ": what a word tells by its distance", XLabel: "leaves from the link", YLabel: "information gain, millibits",
			Series: []plot.Series{{Name: "mean of its words", X: at, Y: gain, Dots: true}},
		},
		"rate.svg": {
			Title: topic + ": words and text by distance", XLabel: "leaves from the link", YLabel: "share", Percent: true,
			Series: []plot.Series{{Name: "of all words", X: at, Y: rate, Dots: true}, {Name: "of leaves that hold text", X: at, Y: texts, Color: 1, Dots: true}},
		},
		"tags.svg": {
			Title: topic + ": elements by distance", XLabel: "leaves from the link", YLabel: "share of leaves", Percent: true,
			Note: "The element around a text, or one that is empty, such as br. The commonest, but for a.", Series: drawn,
		},
		"frontier.svg": {
			Title: topic + ": what waits, before and after", XLabel: "promise: R(u) before, Pr(high) after", YLabel: "share of links", Percent: true,
			Series: []plot.Series{{Name: "relevance of the page that links", X: middle, Y: before, Dots: true}, {Name: "apprentice", X: middle, Y: after, Color: 1, Dots: true}},
		},
	} {
		chart.Width, chart.Height = 640, 320
		var b bytes.Buffer
		if err := chart.Draw().SVG(&b); err != nil {
			return err
		}
		if err := folder.Write(filepath.Join(dir, name), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// tagTable counts the elements of the leaves at each distance, and gives the
// curves of the commonest. As in Chakrabarti, Punera & Subramanyam 2002, figure
// 9(b), a is not drawn: every
// anchor is one.
func tagTable(offsets []OffsetFacts) (table [][]string, drawn []plot.Series) {
	const curves = 8
	table = [][]string{{"offset", "tag", "leaves", "share"}}
	total := map[string]int{}
	for _, f := range offsets {
		for tag, n := range f.Tags {
			total[tag] += n
		}
	}
	tags := slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(total[b]-total[a], strings.Compare(a, b)) })
	for _, tag := range tags {
		line := plot.Series{Name: tag, Color: len(drawn), Dots: true}
		for _, f := range offsets {
			if f.Leaves == 0 {
				continue
			}
			share := float64(f.Tags[tag]) / float64(f.Leaves)
			line.X, line.Y = append(line.X, float64(f.Offset)), append(line.Y, share)
			if f.Tags[tag] > 0 {
				table = append(table, []string{strconv.Itoa(f.Offset), tag, strconv.Itoa(f.Tags[tag]), strconv.FormatFloat(share, 'g', 6, 64)})
			}
		}
		if tag != "a" && len(drawn) < curves {
			drawn = append(drawn, line)
		}
	}
	return table, drawn
}
