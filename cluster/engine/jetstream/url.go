package jetstream

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// CheckURL tells whether a text is an address of the engine, as Options.URL has it. The error
// shows nothing of a secret in it.
func CheckURL(s string) error {
	for one := range strings.SplitSeq(s, ",") {
		bad := func(what string) error {
			// Without an @, what is before the host may be half of a password that has a comma.
			shown := "what is given"
			if strings.Contains(one, "@") || !strings.Contains(s, "@") {
				o := Options{URL: one}
				shown = fmt.Sprintf("%.200q", o.place())
			}
			return fmt.Errorf("%s is no address of an engine: %s; give one such as nats://HOST:4222 or tls://USER:PASSWORD@HOST:4222", shown, what)
		}
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil { // its text may hold the password
			return bad("it cannot be read; in a password %, /, ?, #, @, : and the comma are written as %25, %2F, %3F, %23, %40, %3A and %2C")
		}
		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return bad("it begins with none of nats://, tls://, ws:// and wss://")
		}
		if u.Hostname() == "" || strings.ContainsAny(u.Hostname(), " ,") {
			return bad("it names no host")
		}
		if n, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || n < 1 || n > 65535) || strings.HasSuffix(u.Host, ":") {
			return bad("a port is a number from 1 to 65535")
		}
		if strings.Trim(u.Path, "/") != "" && u.Scheme != "ws" && u.Scheme != "wss" || u.RawQuery != "" || u.Fragment != "" {
			return bad("nothing follows the port")
		}
	}
	return nil
}

// place is the URL without what it may hold of a secret.
func (o *Options) place() string {
	if o.Server != nil {
		return "this process"
	}
	var out []string
	for u := range strings.SplitSeq(o.URL, ",") {
		if scheme, rest, ok := strings.Cut(u, "://"); ok {
			u = scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
		} else {
			u = u[strings.LastIndexByte(u, '@')+1:]
		}
		out = append(out, u)
	}
	return strings.Join(out, ",")
}
