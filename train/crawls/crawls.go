// Package crawls reads crawls that have ended as lessons for an apprentice.
package crawls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/train"
	"github.com/waggle-crawler/waggle/web"
)

// Lessons reads the logs of crawls; their pages are read as they are asked
// for, with the tags of their leaves if wanted. The topic's name is that of the
// first crawl, as is the critic that tells the classes of pages, if there is one.
func Lessons(ctx context.Context, dirs []string, o *train.ApprenticeOptions, tags bool) (out []train.CrawlPages, err error) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		col := collection.At(dir)
		if !col.Begun() {
			return nil, noCrawl(dir)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && seen[real] {
			return nil, fmt.Errorf("%s is named twice: what it holds would count twice", dir)
		} else {
			seen[real] = true
		}
		j, err := job.Read(col.JobFile())
		if err != nil {
			return nil, err
		}
		if o.Texts == nil {
			o.Texts = j.Aim()
		} else if differ := job.AimsDiffer(o.Texts, j.Aim()); differ != "" {
			return nil, fmt.Errorf("the crawls in %s and %s are not of one topic and judge (%s): what is high in one may be low in the other; make a model of each", dirs[0], dir, differ)
		}
		crawl, err := train.ReadCrawl(col.Events())
		if err != nil {
			return nil, err
		}
		if crawl.Len() == 0 {
			return nil, fmt.Errorf("%s holds no page yet", dir)
		}
		o.Topic = cmp.Or(o.Topic, j.Name)
		if topics, set := o.Set["topics"]; o.Classes == nil && (!set || topics > 0) {
			if o.Classes, err = judgedClasses(ctx, col, j, o.Analyzer); err != nil {
				return nil, fmt.Errorf("the classes of the pages of %s cannot be told: %w; --set topics=0 learns without them", dir, err)
			}
		}
		p := parse.New(parse.Options{Analyzer: o.Analyzer, Canon: j.Canon(), Tags: tags, Nesting: o.Set["tree"] > 0})
		out = append(out, train.CrawlPages{Crawl: crawl, Pages: collection.Readable(col.Pages(ctx, p, crawl.Has))})
	}
	return out, nil
}

// judgedClasses names the classes of a page as the scorer of the crawl was told
// them; nil where the judge knows of none.
func judgedClasses(ctx context.Context, col collection.Collection, j *job.Job, a *text.Analyzer) (func(*web.Page) []string, error) {
	d, _ := judge.Describe(j.Judge.Name)
	if _, ok := d.Uses(judge.InputCritic, j.Judge.Set); !ok {
		return nil, nil
	}
	m := &job.Maker{Job: j, Begun: &col, Analyzer: a}
	if err := m.MakeJudge(ctx); err != nil {
		return nil, errors.Join(job.Locate(err, func(string) string { return "" }), m.Close())
	}
	return judge.ClassNames(m.Judge.(judge.Judge)), m.Close()
}

// noCrawl says what a folder is that holds no crawl, and what to do.
func noCrawl(dir string) error {
	const need = "what is learnt here is learnt from the links that a crawl followed, in their order: name the folder that waggle crawl -o wrote"
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w; %s", err, need)
	case !info.IsDir():
		return fmt.Errorf("%s is a file and holds no crawl; %s", dir, need)
	case folder.Exists(filepath.Join(dir, "web.yaml")):
		return fmt.Errorf("%s is a recorded web and holds no crawl; %s. To crawl it: waggle web serve %[1]s, and waggle crawl -f with the job that waggle web job %[1]s TOPIC prints", dir, need)
	case folder.Exists(filepath.Join(dir, "cells")):
		return fmt.Errorf("%s holds what a lab found and no crawl: a lab keeps no pages; %s", dir, need)
	}
	return fmt.Errorf("%s holds no crawl: there is no %s; %s", dir, collection.At(dir).JobFile(), need)
}
