package job

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/web"
)

// PageOptions are FetchOptions for single pages of the live web: polite unless private
// addresses are permitted, and with addresses as they are written.
func (j *Job) PageOptions(ctx context.Context) (fetch.Options, error) {
	if !j.Fetch.AllowPrivate {
		if err := j.CheckPolite(); err != nil {
			return fetch.Options{}, err
		}
	}
	o, err := j.FetchOptions(ctx)
	o.Canon = web.Canon{}
	return o, err
}

// FetchOptions are what the job says of fetching. A proxy is asked whether it
// serves a recorded web: then its pages may be fetched without a contact and a
// delay, and, if it is on this machine, its certificate is trusted. Through any
// other proxy the job must be as polite as without one: it may lead to the live
// web.
func (j *Job) FetchOptions(ctx context.Context) (fetch.Options, error) {
	return j.fetchOptions(ctx, func(string) {})
}

func (j *Job) fetchOptions(ctx context.Context, note func(string)) (fetch.Options, error) {
	f := &j.Fetch
	o := fetch.Options{
		Contact: j.Contact, Version: Version, Delay: j.delay(), Canon: j.Canon(), OwnHosts: j.Politeness.OwnHosts,
		CrawlDelayCap: time.Duration(j.Politeness.MaxCrawlDelay), AddressLanes: j.Politeness.AddressLanes,
		Timeout: time.Duration(f.Timeout), MaxBody: int(f.MaxBody), Types: j.Types(), AllowPrivate: f.AllowPrivate,
	}
	if o.Delay == 0 {
		o.Delay = -1 // none
	}
	var err error
	own := &secrets{}
	if f.Secrets != "" {
		if own, err = readSecrets(f.Secrets, f.Through); err != nil {
			return o, &Error{"fetch.secrets", err}
		}
	}
	o.Secrets, o.Certificates = own.sites, own.certificates
	if f.Through == "" {
		return o, nil
	}
	if o.Proxy, err = url.Parse(f.Through); err != nil {
		return o, &Error{"fetch.through", err}
	}
	if o.Proxy.User = own.proxy; own.proxy == nil && f.Secrets != "" {
		note(fmt.Sprintf("%s has no entry for the proxy %s: it is asked without a name and a password", f.Secrets, f.Through))
	}
	if f.ThroughCA != "" {
		given, err := os.ReadFile(f.ThroughCA)
		if err == nil {
			o.CAs, err = authorities(given, f.ThroughCA)
		}
		if err != nil {
			return o, &Error{"fetch.through-ca", err}
		}
	}
	var itsOwn []byte
	if strings.HasPrefix(o.Proxy.Scheme, "socks5") {
		if err := greetSOCKS(ctx, o.Proxy); err != nil {
			return o, &Error{"fetch.through", fmt.Errorf("proxy %s: %w", f.Through, err)}
		}
	} else {
		if itsOwn, o.Recorded, err = askProxy(ctx, f.Through, o.CAs); err != nil {
			return o, &Error{"fetch.through", fmt.Errorf("proxy %s: %w", f.Through, err)}
		}
		if !o.Recorded {
			if err := greetHTTP(ctx, o.Proxy, o.CAs); err != nil {
				return o, &Error{"fetch.through", fmt.Errorf("proxy %s: %w", f.Through, err)}
			}
		}
	}
	if !o.Recorded {
		if err := j.CheckPolite(); err != nil {
			var lacks *Error
			if errors.As(err, &lacks) {
				lacks.Err = fmt.Errorf("%w; the proxy %s does not say that it serves a recorded web", lacks.Err, f.Through)
			}
			return o, err
		}
	}
	if o.CAs == nil && len(itsOwn) > 0 && onThisMachine(f.Through) {
		if o.CAs, err = authorities(itsOwn, f.Through+corpus.CertificatePath); err != nil {
			return o, &Error{"fetch.through-ca", err}
		}
	}
	return o, nil
}

// authorities are those of the system and those in PEM form that were read from a place.
func authorities(pem []byte, place string) (*x509.CertPool, error) {
	all, err := x509.SystemCertPool()
	if err != nil {
		all = x509.NewCertPool()
	}
	if !all.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("no certificate in PEM form in %s", place)
	}
	return all, nil
}

// greetSOCKS tells whether a SOCKS proxy answers, and lets us in. Sources: RFC 1928,
// section 3; RFC 1929.
func greetSOCKS(ctx context.Context, proxy *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), cmp.Or(proxy.Port(), "1080")))
	if err != nil {
		return fmt.Errorf("no proxy answers there (%w): start it", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	ask := func(request []byte, version byte) (answer byte, err error) {
		got := make([]byte, 2)
		if _, err = c.Write(request); err == nil {
			_, err = io.ReadFull(c, got)
		}
		if err == nil && got[0] != version {
			err = fmt.Errorf("it begins with the byte %d", got[0])
		}
		if err != nil {
			return 0, fmt.Errorf("what answers there does not speak SOCKS 5: %w", cmp.Or(ctx.Err(), err))
		}
		return got[1], nil
	}
	const nobody, password = 0, 2
	methods := []byte{5, 1, nobody}
	if proxy.User != nil {
		methods = []byte{5, 2, nobody, password}
	}
	method, err := ask(methods, 5)
	if err != nil {
		return err
	}
	in := method == nobody
	if method == password && proxy.User != nil {
		word, _ := proxy.User.Password()
		name := proxy.User.Username()
		if len(name) == 0 || len(name) > 255 || len(word) > 255 {
			return errors.New("it can be told a user of 1 to 255 bytes and a password of at most 255")
		}
		request := append([]byte{1, byte(len(name))}, name...)
		request = append(append(request, byte(len(word))), word...)
		refused, err := ask(request, 1)
		if err != nil {
			return err
		}
		in = refused == 0
	}
	if in {
		return nil
	}
	return unknownUser(proxy)
}

// unknownUser is the error of a proxy that does not let us in.
func unknownUser(proxy *url.URL) error {
	if proxy.User != nil {
		return errors.New("it does not know this user and password: look at those in the file of fetch.secrets (--secrets), by the address of the proxy")
	}
	return errors.New("it wants a user and a password: put them into the file of fetch.secrets (--secrets), by the address of the proxy")
}

// greetHTTP tells whether an HTTP proxy lets us in: it is asked for a page and for a connection
// of a host that there is not (RFC 6761, section 6.4), so no server is asked. Whatever else it
// answers, or if it takes its time, is none of this. cas are as askProxy has them.
func greetHTTP(ctx context.Context, proxy *url.URL, cas *x509.CertPool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var shut atomic.Bool
	t := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: cas}}
	t.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
		if r.StatusCode == http.StatusProxyAuthRequired {
			shut.Store(true)
		}
		return errors.New("that is all")
	}
	for _, page := range []string{"http://waggle.invalid/", "https://waggle.invalid/"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		if resp, err := t.RoundTrip(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusProxyAuthRequired {
				shut.Store(true)
			}
		}
	}
	if shut.Load() {
		return unknownUser(proxy)
	}
	return nil
}

// askProxy asks a proxy whether it serves a recorded web, and for the certificate
// of its authority if it does. cas are those by which an https proxy is known; nil = the system's.
func askProxy(ctx context.Context, proxy string, cas *x509.CertPool) (pem []byte, recorded bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(proxy, "/")+corpus.CertificatePath, nil)
	if err != nil {
		return nil, false, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: cas}}).RoundTrip(req)
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return nil, false, fmt.Errorf("it is not known by its certificate (%w): name the file of its authority by fetch.through-ca (--through-ca)", err)
	}
	if err != nil {
		return nil, false, fmt.Errorf("no proxy answers there (%w): start it, or a recorded web with waggle web serve", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get(web.RecordHeader) != web.RecordServed {
		return nil, false, nil
	}
	pem, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return pem, true, err
}
