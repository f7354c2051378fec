package job

import (
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/internal/spelling"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/strategy"
	"github.com/waggle-crawler/waggle/web"
)

// Error is what is wrong with a value of a job.
type Error struct {
	// Path is that of the setting, with the place in a list behind it
	// ("seeds.2"), or the beginning of paths ("judge") where several are
	// concerned.
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Mistake is what is wrong with what a user asked for, beyond the values of a job: a
// file or folder that cannot be used, settings that do not go together.
type Mistake struct{ Err error }

func (m Mistake) Error() string { return m.Err.Error() }
func (m Mistake) Unwrap() error { return m.Err }

// Locate gives each *Error of err, which may be joined, the name of a place in
// front instead of its path: a line of a file, a flag. Where place returns "", it
// stands alone. Other errors stay as they are. The errors come in the order of
// their texts.
func Locate(err error, place func(path string) string) error {
	var out []error
	var visit func(error)
	visit = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				visit(e)
			}
			return
		}
		var e *Error
		if errors.As(err, &e) {
			err = e.Err
			if at := place(e.Path); at != "" {
				err = fmt.Errorf("%s: %w", at, e.Err)
			}
		}
		if err != nil {
			out = append(out, err)
		}
	}
	visit(err)
	slices.SortStableFunc(out, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(out...)
}

// complaint takes what is wrong with a setting: at is added to its path, such as
// ".2" for the third of a list.
type complaint func(at, format string, args ...any)

// Check finds what is wrong with the values of a job. The error is nil, or joins
// an *Error for each of them.
func (j *Job) Check() error {
	var errs []error
	for _, s := range Settings() {
		bad := func(at, format string, args ...any) {
			errs = append(errs, &Error{s.Path + at, fmt.Errorf(format, args...)})
		}
		s.checkText(j, bad)
		s.checkRange(j, bad)
		if s.check != nil {
			s.check(j, bad)
		}
	}
	return errors.Join(errs...)
}

// checkText refuses bytes that are no text; file names may have any.
func (s Setting) checkText(j *Job, bad complaint) {
	if strings.Contains(s.Form, "FILE") || strings.Contains(s.Form, "DIR") {
		return
	}
	no := func(at, text string) {
		if !utf8.ValidString(text) {
			bad(at, "%q is not text in UTF-8: is the terminal, or the file it comes from, in another encoding?", text)
		}
	}
	switch v := s.field(j).Interface().(type) {
	case string:
		no("", v)
	case []string:
		for i, text := range v {
			no(fmt.Sprintf(".%d", i), text)
		}
	}
}

// checkRange holds a value against Choices, Min and Max.
func (s Setting) checkRange(j *Job, bad complaint) {
	v := s.field(j)
	if !s.Given(j) {
		return
	}
	key := s.key()
	if choices := j.strategies.choices(s); choices != nil && !slices.Contains(choices, v.String()) {
		if of, ok := strings.CutSuffix(s.Path, ".name"); ok {
			bad("", "no %s is called %q%s; there are: %s", of, v.String(), spelling.Hint(v.String(), choices), strings.Join(choices, ", "))
		} else {
			bad("", "%s %q is none of %s%s", key, v.String(), strings.Join(choices, ", "), spelling.Hint(v.String(), choices))
		}
	}
	if s.Min == 0 && s.Max == 0 {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	var n float64
	switch {
	case v.CanInt():
		n = float64(v.Int())
	case v.CanUint():
		n = float64(v.Uint())
	case v.CanFloat():
		n = v.Float()
	}
	if !(n >= s.Min && n <= s.Max) { // NaN is outside as well
		bad("", "%s %v is outside %s…%s", key, v, number(s.Min), number(s.Max))
	}
}

// number writes a whole number with commas between thousands.
func number(x float64) string {
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func checkSeeds(j *Job, bad complaint) {
	for i, s := range j.Seeds {
		if _, err := web.Given(s); err != nil {
			bad(fmt.Sprintf(".%d", i), "seed: %v", err)
		}
	}
}

// checkExamples refuses addresses of examples that a password stands in.
func checkExamples(list func(*Job) []string) func(j *Job, bad complaint) {
	return func(j *Job, bad complaint) {
		for i, s := range list(j) {
			if strings.Contains(s, ":") && web.HasCredentials(s) {
				bad(fmt.Sprintf(".%d", i), "example: %v", web.ErrCredentials)
			}
		}
	}
}

func checkContact(j *Job, bad complaint) {
	if strings.Contains(j.Contact, "://") && web.HasCredentials(j.Contact) {
		bad("", "the contact is sent to every site: %v", web.ErrCredentials)
		return
	}
	if j.Contact != "" && !isContact(j.Contact) {
		bad("", "contact %q is neither a mail address nor an address of a page", j.Contact)
	}
}

func isContact(s string) bool {
	if u, err := url.Parse(s); err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto") && !strings.ContainsAny(s, " ()<>\r\n") {
		return true
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == ""
}

func checkThreshold(j *Job, bad complaint) {
	if t := j.Judge.Threshold; t != nil && !(*t > 0 && *t <= 1) {
		bad("", "threshold %v is not above 0 and at most 1; leave it out for the judge's own", *t)
	}
}

// checkCritic tells what a critic lacks, or that nobody asks for one.
func checkCritic(j *Job, bad complaint) {
	switch c := &j.Judge; {
	case j.takesCritic() && c.Critic == "" && len(c.Focus) > 0:
		bad("", "a focus needs a critic: the file that waggle topic train made")
	case c.Name == "" && c.Critic != "":
		bad("", "critic and focus are for the judge critic: add name: critic")
	case c.Name == "" && len(c.Command) > 0:
		bad("", "command is for the judge command: add name: command")
	case c.Name == "" && len(c.Rules) > 0:
		bad("", "rules are for the judge rules: add name: rules")
	}
}

func checkFocus(j *Job, bad complaint) {
	switch c := &j.Judge; {
	case j.takesCritic() && c.Critic != "" && len(c.Focus) == 0:
		bad("", "the judge critic needs a focus: the topics wanted, as waggle topic show names them")
	case !j.takesCritic() && c.Critic == "" && len(c.Focus) > 0:
		bad("", "a focus is for the judge critic, and needs a critic: the file that waggle topic train made")
	}
}

func checkRules(j *Job, bad complaint) {
	for i, r := range j.Judge.Rules {
		if _, err := regexp.Compile(r.Pattern); err != nil {
			bad(fmt.Sprintf(".%d.pattern", i), "pattern %q: %v", r.Pattern, err)
		}
		if r.Field != "url" && r.Field != "title" && r.Field != "body" {
			bad(fmt.Sprintf(".%d.field", i), "field %q is none of url, title, body", r.Field)
		}
		if !(r.Weight >= -1 && r.Weight <= 1) {
			bad(fmt.Sprintf(".%d.weight", i), "weight %v is outside -1…1", r.Weight)
		}
	}
}

func checkSet(j *Job, bad complaint) {
	checkConstants(j.scorer(), j.Scorer.name(), j.Scorer.Set, bad)
}

func checkJudgeSet(j *Job, bad complaint) {
	checkConstants(j.judge(), j.judge().Name, j.Judge.Set, bad)
}

// checkConstants finds values that are none of a strategy's settings.
func checkConstants[S any, O strategy.Options[O]](d strategy.Description[S, O], name string, set map[string]float64, bad complaint) {
	for key, v := range set {
		if x, ok := d.Setting(key); !ok {
			bad("."+key, "%s has no setting %q%s; waggle lab list names them with their ranges", name, key, setting.Near(d.Settings, key))
		} else if wrong := x.Wrong(v); wrong != "" {
			bad("."+key, "%s: %s = %v %s", name, key, v, wrong)
		}
	}
}

func checkModel(j *Job, bad complaint) {
	if _, takes := j.scorer().Uses(score.InputModel, j.Scorer.Set); j.Scorer.Model != "" && !takes {
		bad("", "the scorer %s goes by no trained model: leave out the model %s, or choose a scorer that learnt it (waggle train inspect tells its kind)", j.Scorer.name(), j.Scorer.Model)
	}
}

func checkThrough(j *Job, bad complaint) {
	if p := j.Fetch.Through; p != "" {
		switch u, err := url.Parse(p); {
		case strings.Contains(p, "@"):
			bad("", "the name and the password of a proxy stand in the file of fetch.secrets (--secrets), by its address without them")
		case err != nil || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) || u.Host == "" || strings.Trim(u.Path, "/") != "":
			bad("", "proxy %q is no address like http://127.0.0.1:8080 or socks5://127.0.0.1:1080", p)
		}
	}
}

func checkThroughCA(j *Job, bad complaint) {
	if j.Fetch.ThroughCA != "" && j.Fetch.Through == "" {
		bad("", "an authority for the certificates of a proxy is given and no proxy: add fetch.through (--through); an authority for sites is trusted with SSL_CERT_FILE=FILE")
	}
}

// patterns checks the regular expressions of a list.
func patterns(list func(*Job) []string) func(j *Job, bad complaint) {
	return func(j *Job, bad complaint) {
		for i, p := range list(j) {
			if strings.TrimSpace(p) == "" {
				bad(fmt.Sprintf(".%d", i), "the pattern is empty, so that every address matches it: give one, or leave it out")
			}
			if _, err := regexp.Compile(p); err != nil {
				bad(fmt.Sprintf(".%d", i), "pattern %q: %v", p, err)
			}
		}
	}
}

// checkOwnHosts finds what is no name of a host, or of too many.
func checkOwnHosts(j *Job, bad complaint) {
	for i, name := range j.Politeness.OwnHosts {
		at := fmt.Sprintf(".%d", i)
		u, err := web.Parse("http://" + name + "/")
		switch {
		case err != nil || string(u.Host()) != name:
			bad(at, "own host %q is no name of a host, such as www.example.org", name)
		case u.Host().Name() != name:
			bad(at, "own host %q: name it without its port, for all of them", name)
		case u.Host().IsPublicSuffix():
			bad(at, "own host %q is where anybody may have a name: name the hosts below it that are yours", name)
		}
	}
}

// ErrNoContact says that a job for the real web names no contact.
var ErrNoContact = errors.New("the live web needs a contact, so that site owners can reach you")

// CheckLive finds what a crawl of the real web lacks. A crawl that starts on
// this machine or a private network with leave to do so lacks nothing; nor does
// one through a proxy on this machine, if that serves a recorded web, which
// shows when it is asked.
func (j *Job) CheckLive() error {
	if onThisMachine(j.Fetch.Through) {
		return nil
	}
	private := true
	for _, s := range j.Seeds {
		u, err := web.Parse(web.WithScheme(s))
		private = private && err == nil && isPrivate(u.Host())
	}
	switch {
	case !private:
	case j.Fetch.AllowPrivate:
		return nil
	case len(j.Seeds) > 0:
		first, _ := web.Parse(web.WithScheme(j.Seeds[0]))
		return &Error{"fetch.allow-private", fmt.Errorf("%s is at a private address; --allow-private (fetch.allow-private: true) permits it", first.Host().Name())}
	}
	return j.CheckPolite()
}

// CheckLiveAt is CheckLive for these addresses instead of the seeds.
func (j *Job) CheckLiveAt(addresses []web.URL) error {
	own := *j
	own.Seeds = nil
	for _, u := range addresses {
		own.Seeds = append(own.Seeds, u.String())
	}
	return own.CheckLive()
}

// CheckPolite finds what the owners of sites may expect and a job lacks: a
// contact, and a delay that is long enough. A short one with leave for private
// addresses or for hosts of one's own is for those alone: others are asked no
// faster than fetch.MinDelay.
func (j *Job) CheckPolite() error {
	if j.Contact == "" {
		return &Error{"contact", ErrNoContact}
	}
	if d := j.delay(); d < fetch.MinDelay && !j.Fetch.AllowPrivate && len(j.Politeness.OwnHosts) == 0 {
		return &Error{"politeness.delay", fmt.Errorf("a delay of %v is too short for other people's servers: at least %v (shorter ones are for recorded webs, for private addresses with --allow-private, and for hosts of your own, which politeness.own-hosts of a job file names)", d, fetch.MinDelay)}
	}
	return nil
}

// isPrivate tells whether a host is an address, or the name, of this machine or
// a private network.
func isPrivate(h web.Host) bool {
	name := strings.Trim(h.Name(), "[]")
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()) ||
		name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// onThisMachine tells whether a proxy's address is loopback.
func onThisMachine(proxy string) bool {
	u, err := url.Parse(proxy)
	if err != nil || proxy == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
