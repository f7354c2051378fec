package job

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/web"
)

// A file of secrets is YAML, by origin:
//
//	https://intranet.example:
//	  user: ada
//	  password: …            basic authentication
//	https://wiki.example:
//	  cookie: "session=…"    as the browser sends it after a login
//	  headers: {X-Token: …}
//	https://vault.example:
//	  certificate: ada.pem   files, from the folder of this one
//	  key: ada.key           may stand in the same file
//	socks5://proxy.example:1080:
//	  user: ada              of the proxy that fetch.through names
//	  password: …
type siteSecret struct {
	User        string            `yaml:"user"`
	Password    string            `yaml:"password"`
	Cookie      string            `yaml:"cookie"`
	Headers     map[string]string `yaml:"headers"`
	Certificate string            `yaml:"certificate"`
	Key         string            `yaml:"key"`
}

// secrets are what such a file says.
type secrets struct {
	sites        map[string]fetch.Secret // by origin
	certificates map[string]tls.Certificate
	proxy        *url.Userinfo // nil = it asks for nothing
}

// Policies of cookies, beside the name of a file.
const (
	cookiesOff     = "off"
	cookiesSession = "session"
)

// cookieFile is the file in which cookies are kept, "" for none.
func (f *Fetch) cookieFile() string {
	if f.Cookies == cookiesOff || f.Cookies == cookiesSession {
		return ""
	}
	return f.Cookies
}

// isFileName tells the name of a file from a policy of cookies, and from one that was misspelt.
func isFileName(cookies string) bool { return strings.ContainsAny(cookies, `./\`) }

func checkCookies(j *Job, bad complaint) {
	name := j.Fetch.cookieFile()
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		bad("", "%s is a folder: give the file in which cookies are kept, such as %s", name, filepath.Join(name, "cookies.txt"))
	} else if dir := filepath.Dir(name); name != "" && !folder.Exists(dir) {
		bad("", "there is no folder %s in which cookies could be kept: make it first, or give another file", dir)
	} else if name != "" && !isFileName(name) {
		bad("", "%q is neither off nor session; the name of a file has a dot or a slash, such as ./%s", name, name)
	}
}

// makeCookies opens the jar of the job; nil = no cookies are kept.
func (m *Maker) makeCookies() (*cookies.Jar, error) {
	var now cookies.Clock = clock.System{}
	if m.Clock != nil {
		now = m.Clock
	}
	switch f := &m.Job.Fetch; f.Cookies {
	case "", cookiesOff:
		return nil, nil
	case cookiesSession:
		return cookies.New(now), nil
	default:
		jar, err := cookies.Open(f.Cookies, now)
		if err != nil {
			return nil, &Error{"fetch.cookies", err}
		}
		m.closers = append(m.closers, jar.Close)
		return jar, nil
	}
}

var lineOf = regexp.MustCompile(`line \d+`)

// readPrivate reads a file that nobody but its owner may read.
func readPrivate(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: give a file in it that only you may read; waggle help logins has an example of one with secrets", name)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others on this machine may read %s: chmod 600 %s", name, name)
	}
	b, err := io.ReadAll(io.LimitReader(f, mostPrivate+1))
	if err == nil && len(b) > mostPrivate {
		err = fmt.Errorf("%s has more than %d bytes: is it the file that was meant?", name, mostPrivate)
	}
	return b, err
}

// mostPrivate bounds a file of secrets, in bytes.
const mostPrivate = 1 << 20

// readSecrets reads such a file, for a crawl through a proxy, "" for none. No error repeats
// what stands in it.
func readSecrets(name, through string) (*secrets, error) {
	b, err := readPrivate(name)
	if err != nil {
		return nil, err
	}
	var sites map[string]siteSecret
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&sites); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s, %s: not understood; what it says is not shown here, and waggle help logins has an example", name, lineOf.FindString(err.Error()))
	}
	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) && (err != nil || more != nil) {
		return nil, fmt.Errorf("%s: there is more behind a line of ---, which would not be heeded: put all sites into one document", name)
	}
	out := &secrets{sites: map[string]fetch.Secret{}, certificates: map[string]tls.Certificate{}}
	for _, origin := range slices.Sorted(maps.Keys(sites)) {
		s := sites[origin]
		if through != "" && proxyOf(origin) == proxyOf(through) {
			if out.proxy != nil {
				return nil, fmt.Errorf("%s: %s is the proxy, as another entry is", name, origin)
			}
			if s.Cookie != "" || s.Certificate != "" || s.Key != "" || len(s.Headers) > 0 {
				return nil, fmt.Errorf("%s: %s is the proxy, to which a user and a password can be told, and nothing else", name, origin)
			}
			out.proxy = url.UserPassword(s.User, s.Password)
			continue
		}
		if u, err := url.Parse(origin); err == nil && strings.HasPrefix(u.Scheme, "socks5") {
			continue // a proxy that is not used now
		}
		u, err := web.Parse(origin + "/")
		if err != nil || u.Origin() != origin {
			return nil, fmt.Errorf("%s: %q is no origin such as https://intranet.example, and not the proxy of fetch.through", name, origin)
		}
		if out.sites[origin], err = s.headers(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, origin, err)
		}
		switch {
		case s.Certificate == "" && s.Key != "":
			return nil, fmt.Errorf("%s: %s: a key, and no certificate", name, origin)
		case s.Certificate == "":
			continue
		case u.Scheme() != "https":
			return nil, fmt.Errorf("%s: %s: a certificate is for an origin with https", name, origin)
		}
		if out.certificates[origin], err = s.readCertificate(filepath.Dir(name)); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, origin, err)
		}
	}
	return out, nil
}

// proxyOf is the address of a proxy in the one way to write it, with its port; what is none
// stays as it is.
func proxyOf(address string) string {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return address
	}
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), ports[u.Scheme]))
}

// headers are what is sent, by canonical names.
func (s *siteSecret) headers() (fetch.Secret, error) {
	own := fetch.Secret{}
	if s.User != "" || s.Password != "" {
		own = fetch.BasicAuth(s.User, s.Password)
	}
	if s.Cookie != "" {
		own["Cookie"] = s.Cookie
	}
	for _, h := range slices.Sorted(maps.Keys(s.Headers)) {
		name := http.CanonicalHeaderKey(h)
		if _, twice := own[name]; twice {
			return nil, fmt.Errorf("the header %q is given twice", name)
		}
		own[name] = s.Headers[h]
	}
	for _, h := range slices.Sorted(maps.Keys(own)) {
		if !httpguts.ValidHeaderFieldName(h) || !httpguts.ValidHeaderFieldValue(own[h]) || h == "Host" {
			return nil, fmt.Errorf("the header %q cannot be sent", h)
		}
	}
	return own, nil
}

// readCertificate reads a certificate and its key, whose files are relative to a folder.
func (s *siteSecret) readCertificate(dir string) (c tls.Certificate, err error) {
	at := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	keyFile := at(cmp.Or(s.Key, s.Certificate))
	key, err := readPrivate(keyFile)
	if err != nil {
		return c, err
	}
	certificate, err := os.ReadFile(at(s.Certificate))
	if err != nil {
		return c, err
	}
	if c, err = tls.X509KeyPair(certificate, key); err != nil {
		return c, fmt.Errorf("no certificate in %s with the key of it in %s, both as PEM and without a password: %w", at(s.Certificate), keyFile, err)
	}
	return c, nil
}
