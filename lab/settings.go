package lab

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"
	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/train"
)

// Settings is a hash of what is in force in the lab: every value of its file, and the
// defaults of the constants that it leaves out. Two labs of the same webs whose hashes
// differ compare other things, and a result whose lab has another hash today was made
// with other settings. Titles, notes, what reports show and the folders of files have no
// part in it, nor has the code: lab/verify looks at that.
func (f *File) Settings() string {
	own := *f
	own.Title, own.Notes, own.HeadMeasures, own.KeepRuns, own.Thesaurus = "", nil, nil, false, Thesaurus{}
	own.Pool, own.Silver = filepath.Base(f.Pool), filepath.Base(f.Silver)
	own.Webs = slices.Clone(f.Webs)
	for i := range own.Webs {
		own.Webs[i].Path = filepath.Base(own.Webs[i].Path)
	}
	own.Judges = slices.Clone(f.Judges)
	for i, j := range own.Judges {
		set := map[string]float64{}
		d, _ := f.own.Judge(j.Name)
		for _, x := range d.Settings {
			set[x.Name] = x.Default
		}
		maps.Copy(set, j.Set)
		own.Judges[i].Set = set
	}
	own.Scorers = slices.Clone(f.Scorers)
	for i, s := range own.Scorers {
		k := slices.IndexFunc(train.Fitters(), func(x train.Fitter) bool { return x.Kind == score.ModelOf(s.kind()) })
		if k < 0 {
			continue
		}
		l := ModelTraining{}
		if s.Train != nil {
			l = *s.Train
		}
		set := map[string]float64{}
		for _, x := range train.Fitters()[k].Settings {
			set[x.Name] = x.Default
		}
		maps.Copy(set, l.Set)
		l.Set = set
		own.Scorers[i].Train = &l
	}
	b, err := yaml.Marshal(&own)
	if err != nil {
		panic(err) // plain values
	}
	return fmt.Sprintf("%08x", uint32(xxh3.Hash(b)))
}
