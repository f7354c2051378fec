package store

import "github.com/waggle-crawler/waggle/web"

// The profiles of revisit records. Source: WARC/1.1, section 6.7.
const (
	profileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
	profileSame        = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
)

// refersTo adds to the header of a revisit record where the body lies.
func (r *renderer) refersTo(p *web.Response) {
	v := p.Revisit
	profile := profileSame
	if v.NotModified {
		profile = profileNotModified
	}
	r.field("WARC-Profile", profile)
	r.field("WARC-Refers-To-Target-URI", p.URL.String())
	r.field("WARC-Refers-To-Date", v.At.UTC().Format(dateFormat))
	if v.Record != "" {
		r.field("WARC-Refers-To", v.Record)
	}
}
