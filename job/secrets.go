package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/clock"
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
type siteSecret struct {
	User     string            `yaml:"user"`
	Password string            `yaml:"password"`
	Cookie   string            `yaml:"cookie"`
	Headers  map[string]string `yaml:"headers"`
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

func checkCookies(j *Job, bad complaint) {
	if name := j.Fetch.cookieFile(); name != "" && !strings.ContainsAny(name, `./\`) {
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

// readSecrets reads such a file. No error repeats what stands in it.
func readSecrets(name string) (map[string]fetch.Secret, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others on this machine may read %s: chmod 600 %s", name, name)
	}
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	var sites map[string]siteSecret
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&sites); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s, %s: not understood; what it says is not shown here, and docs/guide/logins.md has an example", name, lineOf.FindString(err.Error()))
	}
	secrets := map[string]fetch.Secret{}
	for origin, s := range sites {
		u, err := web.Parse(origin + "/")
		if err != nil || u.Scheme()+"://"+string(u.Host()) != origin {
			return nil, fmt.Errorf("%s: %q is no origin such as https://intranet.example", name, origin)
		}
		own := fetch.Secret{}
		if s.User != "" || s.Password != "" {
			own = fetch.BasicAuth(s.User, s.Password)
		}
		if s.Cookie != "" {
			own["Cookie"] = s.Cookie
		}
		for h, v := range s.Headers {
			own[h] = v
		}
		for h, v := range own {
			if !httpguts.ValidHeaderFieldName(h) || !httpguts.ValidHeaderFieldValue(v) || strings.EqualFold(h, "Host") {
				return nil, fmt.Errorf("%s: %s: the header %q cannot be sent", name, origin, h)
			}
		}
		secrets[origin] = own
	}
	return secrets, nil
}
