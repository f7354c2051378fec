package event

import "github.com/waggle-crawler/waggle/web"

// recentPages is how many of the last pages a summary knows by their addresses. What is said
// anew of an older one would change the forecast by less than 10⁻⁶ pages.
const recentPages = 1000

// recent are the last pages of a crawl, of which page i, from 0, is at i mod recentPages. The
// zero value has none.
type recent struct {
	n     int // pages of the whole crawl
	pages []recentPage
}

type recentPage struct {
	url  web.URL
	kept bool // relevant, and part of the harvest
}

func (r *recent) at(i int) *recentPage { return &r.pages[i%recentPages] }

func (r *recent) add(u web.URL, kept bool) {
	if p := (recentPage{u, kept}); len(r.pages) < recentPages {
		r.pages = append(r.pages, p)
	} else {
		*r.at(r.n) = p
	}
	r.n++
}

// relevant is the number of relevant pages among the last n, at most recentPages.
func (r *recent) relevant(n int) (out int) {
	for i := max(0, r.n-n); i < r.n; i++ {
		if r.at(i).kept {
			out++
		}
	}
	return out
}

// rejudged takes in what is said anew of pages, and has a forecast reckon with it.
func (r *recent) rejudged(verdicts []Verdict, f *Forecast) {
	if len(verdicts) == 0 {
		return
	}
	number := make(map[web.URL]int, len(r.pages))
	for i := max(0, r.n-recentPages); i < r.n; i++ {
		number[r.at(i).url] = i
	}
	for _, v := range verdicts {
		i, ok := number[v.URL]
		if d := v.Change(); ok && d != 0 {
			r.at(i).kept = d > 0
			f.rejudged(r.n-1-i, d)
		}
	}
}
