package job

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/fetch"
)

// FetchOptions are what the job says of fetching. A proxy on this machine that
// serves a recorded web is asked for its certificate; through any other the job
// must be polite.
func (j *Job) FetchOptions(ctx context.Context) (fetch.Options, error) {
	f := &j.Fetch
	o := fetch.Options{
		Contact: j.Contact, Version: Version, Delay: j.delay(), Canon: j.Canon(),
		CrawlDelayCap: time.Duration(j.Politeness.MaxCrawlDelay),
		Timeout:       time.Duration(f.Timeout), MaxBody: int(f.MaxBody), Types: f.Types, AllowPrivate: f.AllowPrivate,
	}
	if o.Delay == 0 {
		o.Delay = -1 // none
	}
	if f.Through == "" {
		return o, nil
	}
	var err error
	if o.Proxy, err = url.Parse(f.Through); err != nil {
		return o, &Error{"fetch.through", err}
	}
	var pem []byte
	switch {
	case f.ThroughCA != "":
		if pem, err = os.ReadFile(f.ThroughCA); err != nil {
			return o, &Error{"fetch.through-ca", err}
		}
	case onThisMachine(f.Through):
		if pem, err = askCA(ctx, f.Through); err != nil {
			return o, fmt.Errorf("proxy %s: %w", f.Through, err)
		}
	}
	if len(pem) == 0 {
		// Not a recorded web: what it fetches may well be the live one.
		return o, j.CheckPolite()
	}
	if o.CAs, err = x509.SystemCertPool(); err != nil {
		o.CAs = x509.NewCertPool()
	}
	if !o.CAs.AppendCertsFromPEM(pem) {
		return o, &Error{"fetch.through-ca", fmt.Errorf("no certificate in PEM form in %s", cmp.Or(f.ThroughCA, f.Through+corpus.CertificatePath))}
	}
	return o, nil
}

// askCA asks a proxy on this machine for its certificate; one that has none is
// no recorded web, and then the system's certificates hold.
func askCA(ctx context.Context, proxy string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(proxy, "/")+corpus.CertificatePath, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("no proxy answers there (%w): start it with waggle web serve", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(resp.Body, 1<<20))
}
