package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waggle-crawler/waggle/fetch/robots"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/web"
)

// Reservations asks an origin for its /.well-known/tdmrep.json, once a page of it has come:
//
//	           a page came         2xx, 3xx, 4xx
//	unknown ───────────────► asking ───────────► rules, for a week ──► unknown
//	   ▲                       │ no whole answer, 429, 5xx, or its turn comes too late
//	   └───────────────────────┴── none for an hour
//
// The protocol wants the file asked for before any page. Asked for after the first page that
// came, and before anything is made of that, it says the same of each page that is kept, and
// origins that only redirect, fail or are disallowed are not asked at all.
type Reservations struct {
	o     ReservationsOptions
	rules *cache[string, siteRules] // by origin
}

// ReservationsOptions say how Reservations asks. Files is needed.
type ReservationsOptions struct {
	// Files fetches documents of any type, bounded in size, where robots.txt allows it.
	Files Fetcher
	// Clock tells the time; nil = the machine's.
	Clock Clock
	// Kept are the rules of an earlier run, and keep those of this one; nil =
	// each run asks for itself.
	Kept *KeptFile
	// Wait bounds the time for which a page waits because politeness asks the request for the
	// file to. 0 = two minutes.
	Wait time.Duration
}

// siteRules is what asking an origin came to; no rules where it has none, or they could not
// be had.
type siteRules struct {
	rules  *robots.Reservations
	wrong  string // see web.SiteFile
	weight int    // bytes it may take in memory
}

// Bounds and lifetimes of reservations.
const (
	maxReservations       = 500<<10 + 1 // of a tdmrep.json, in bytes; one more than is parsed
	reservationsLife      = 7 * 24 * time.Hour
	reservationsRetryLife = time.Hour
	reservationsBytes     = 16 << 20 // of rules remembered
	reservationsRedirects = 5
	// reservationsWait is two of the longest pauses that robots.txt files are granted by
	// default.
	reservationsWait = 2 * time.Minute
)

// NewReservations returns one that knows what was kept.
func NewReservations(o ReservationsOptions) *Reservations {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Wait <= 0 {
		o.Wait = reservationsWait
	}
	s := &Reservations{o: o, rules: newCache[string](o.Clock, reservationsBytes, func(v siteRules) int { return v.weight })}
	if o.Kept != nil {
		for _, k := range o.Kept.take() {
			s.rules.put(k.Origin, siteRulesOf(k.Status, k.Body), k.Until)
		}
	}
	return s
}

// Complete sets Site and, where the origin was asked, SiteFile of the response for a page.
// Other responses stay as they are. The error is ctx's.
func (s *Reservations) Complete(ctx context.Context, r *web.Response) error {
	if r.Status < 200 || r.Status > 299 || len(r.Body) == 0 {
		return nil
	}
	var file *web.SiteFile
	v, _, err := s.rules.get(ctx, r.URL.Origin(), func() (v siteRules, life time.Duration, err error) {
		file, v, life, err = s.ask(ctx, r.URL)
		return v, life, err
	})
	if err != nil {
		return err
	}
	r.Site, r.SiteFile = v.rules.Of(r.URL.RequestPath()), file
	return nil
}

// ask asks the origin of an address. The error is ctx's.
func (s *Reservations) ask(ctx context.Context, of web.URL) (file *web.SiteFile, v siteRules, life time.Duration, err error) {
	origin := of.Origin()
	u, err := web.Parse(origin + web.ReservationsPath)
	if err != nil {
		return nil, siteRulesOf(404, nil), reservationsLife, nil
	}
	file = &web.SiteFile{URL: u}
	answer, err := s.follow(ctx, u, file)
	var f *web.Failure
	switch {
	case ctx.Err() != nil:
		return nil, v, 0, ctx.Err()
	case err != nil && !errors.As(err, &f):
		return nil, v, 0, err
	}
	kept := keptRules{Origin: origin}
	v, life = siteRulesOf(404, nil), reservationsRetryLife
	switch {
	case f != nil && (f.Reason == web.ReasonRobots || f.Reason == web.ReasonRedirects || f.Reason == web.ReasonRedirectLoop || f.Reason == web.ReasonRedirectBad || f.Reason == web.ReasonRedirectTells):
		kept.Status, life = 404, reservationsLife
	case f != nil:
		kept.Missing = f.Error()
	case answer.Status/100 == 2 && (answer.Truncated == "time" || answer.Truncated == "disconnect"):
		kept.Missing = web.CutMeaning(answer.Truncated)
	case answer.Status == 429 || answer.Status >= 500:
		kept.Missing = fmt.Sprintf("status %d", answer.Status)
	default:
		kept.Status, life = answer.Status, reservationsLife
		if v = siteRulesOf(answer.Status, answer.Body); v.rules.Len() > 0 || v.wrong != "" {
			kept.Body = answer.Body
		}
	}
	file.Rules, file.Wrong = v.rules.Len(), v.wrong
	if kept.Missing != "" {
		file.Wrong = "it could not be had: " + kept.Missing
	}
	if file.Response != nil && file.Response.Absent() {
		file.Response = nil // nobody answered for the site
	}
	if file.Robots != nil && file.Robots.Absent() {
		file.Robots = nil
	}
	if s.o.Kept != nil {
		s.o.Kept.add(kept, s.o.Clock.Now().Add(life), life)
	}
	return file, v, life, nil
}

// follow fetches the file from where it is, waiting for its turns for ReservationsOptions.Wait in all.
// file is given what was answered on the way.
func (s *Reservations) follow(ctx context.Context, u web.URL, file *web.SiteFile) (*web.Response, error) {
	left := s.o.Wait
	files := Fetcher(patient{Fetcher: s.o.Files, clock: s.o.Clock, left: &left}) // each address waits for itself
	answer, err := Follow(ctx, withinDomain{responseKeeper{files, &file.Response}, u.Host().Domain()}, u, reservationsRedirects)
	if f := (*web.Failure)(nil); errors.As(err, &f) {
		file.Robots = f.Robots
	}
	return answer, err
}

// withinDomain is a fetcher of one registrable domain: who speaks for other sites is not asked.
type withinDomain struct {
	Fetcher
	domain string
}

func (w withinDomain) Fetch(ctx context.Context, u web.URL) (*web.Response, error) {
	if u.Host().Domain() != w.domain {
		return nil, &web.Failure{Reason: web.ReasonRedirects, Detail: fmt.Sprintf("%s: it is of another site", u)}
	}
	return w.Fetcher.Fetch(ctx, u)
}

// weightOfReservations is what the rules of a body take in memory, in bytes: what is remembered of
// an origin without any was measured as 362.
func weightOfReservations(body int) int { return 384 + 4*body }

// siteRulesOf is what a whole answer says. Many servers answer with a page where there is no
// such file.
func siteRulesOf(status int, body []byte) siteRules {
	v := siteRules{rules: &robots.Reservations{}, weight: weightOfReservations(0)}
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if status < 200 || status > 299 || len(text) == 0 || text[0] != '[' && text[0] != '{' {
		return v
	}
	v.rules, v.wrong = robots.ParseReservations(body)
	v.weight = weightOfReservations(len(body))
	return v
}
