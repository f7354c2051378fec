package viewer

import (
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// While a crawl runs, Now shows what its fetches wait for, and nothing of it afterwards.
func TestActivityInChromium(t *testing.T) {
	long.Test(t, "starts a browser")
	col := crawled(t, bees(), "https://bees.test/")
	w, err := col.Lock()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(time.Hour) // told a moment ago, however long this takes
	save := func(a web.Activity) {
		if err := w.SaveActivity(a); err != nil {
			t.Fatal(err)
		}
	}
	save(web.Activity{
		At: now, Fetches: 8, Stages: map[web.Stage]int{web.StageRobots: 2, web.StageSlow: 1, web.StageBrowser: 1}, Idle: web.IdleDue, Due: now.Add(time.Hour), Writing: 0.4,
		Longest: []web.Fetching{{Host: "slow.test", Stage: web.StageSlow, Since: time.Now().Add(-9 * time.Second)}},
	})
	d := serve(t, col)
	b := chromium.Open(t)
	b.Resize(1280, 1600, false)
	b.Call("Page.navigate", map[string]any{"url": d.URL()}, nil)
	b.Until(`document.querySelector(".key")?.textContent.includes("relevant, or more")`) // a small host has a higher share than the scale
	b.Until(`["waiting for robots.txt", "waiting for a slow host", "4 of 8 fetches under way", "no host is due yet", "The next host is due in", "40.0", "slow.test"].every(x => document.querySelector("[aria-labelledby=activity-title]")?.textContent.includes(x))`)
	b.Shoot("activity-1280")
	b.Resize(320, 1600, true)
	b.Eval(`document.querySelector("[aria-labelledby=activity-title]").scrollIntoView()`)
	b.Until(`document.documentElement.scrollWidth <= innerWidth`) // once the charts have the new width
	b.Shoot("activity-320")
	save(web.Activity{})
	b.Until(`!document.querySelector("[aria-labelledby=activity-title]")`)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
