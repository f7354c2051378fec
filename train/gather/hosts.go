package gather

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/web"
)

// hosts brings the names of hosts into the form that hostFilter asks for. Of a
// record each must name a page: a slip of the pen in --not-hosts would train on
// what is to stay unseen.
func (c *Collection) hosts(r record) error {
	for _, x := range []struct {
		flag string
		list []string
	}{{"--hosts", c.Hosts}, {"--not-hosts", c.NotHosts}} {
		for i, s := range x.list {
			h, err := hostName(s)
			if err != nil {
				return fmt.Errorf("%s %s: %w", x.flag, s, err)
			}
			x.list[i] = h
			if r.web == nil {
				continue
			}
			named := false
			of := hostFilter([]string{h}, nil)
			for u := range r.web.URLs() {
				if named = of(u); named {
					break
				}
			}
			if !named {
				return fmt.Errorf("%s %s: no page of %s is on that host or below it", x.flag, s, c.Web)
			}
		}
	}
	return nil
}

// hostName is the name of a host, with its port if it is given one, as
// addresses bear it: people also write https://a.example/, *.a.example,
// .a.example and a.example. for a.example.
func hostName(s string) (string, error) {
	given := strings.TrimSpace(s)
	if !strings.Contains(given, "://") {
		given = "http://" + strings.TrimPrefix(strings.TrimPrefix(given, "*"), ".")
	}
	u, err := web.Parse(given)
	if err != nil || strings.ContainsAny(u.Host().Name(), "*, ") {
		return "", errors.New("that is no host: write it as a.example")
	}
	if u.String() != u.Origin()+"/" {
		return "", errors.New("that is an address: only whole hosts can be named")
	}
	return strings.TrimSuffix(string(u.Host()), "."), nil
}

// hostFilter tells which addresses are of some hosts, or below them, and of none
// of others; nil when all are.
func hostFilter(hosts, not []string) func(web.URL) bool {
	if len(hosts) == 0 && len(not) == 0 {
		return nil
	}
	of := func(list []string, u web.URL) bool {
		h := u.Host()
		return slices.ContainsFunc(list, func(s string) bool {
			s = strings.ToLower(strings.TrimSpace(s))
			return s == string(h) || s == h.Name() || s != "" && strings.HasSuffix(h.Name(), "."+s)
		})
	}
	return func(u web.URL) bool {
		return (len(hosts) == 0 || of(hosts, u)) && !of(not, u)
	}
}
