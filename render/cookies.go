package render

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/fetch/cookies"
)

// cookie is a cookie as the protocol has it.
type cookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Domain   string  `json:"domain,omitempty"` // with a dot before it: also below
	URL      string  `json:"url,omitempty"`    // in place of Domain, for that host alone
	Path     string  `json:"path"`
	Secure   bool    `json:"secure"`
	HTTPOnly bool    `json:"httpOnly"`
	Expires  float64 `json:"expires,omitempty"` // seconds since 1970; below 0 for none
}

// giveCookies gives the page what its scripts may read. The cookies that no script may read
// stay out of the browser, which sends nothing anyway.
func (p *page) giveCookies() error {
	jar := p.pool.o.Cookies
	if jar == nil {
		return nil
	}
	given := jar.Scripted(p.asked.URL)
	if len(given) == 0 {
		return nil
	}
	var list []cookie
	for _, c := range given {
		x := cookie{Name: c.Name, Value: c.Value, Path: c.Path, Secure: c.Secure}
		if c.Below {
			x.Domain = "." + c.Domain
		} else {
			x.URL = p.asked.URL.String()
		}
		if !c.Expires.IsZero() {
			x.Expires = float64(c.Expires.Unix())
		}
		list = append(list, x)
	}
	set := func(list []cookie) error {
		return p.call("", "Storage.setCookies", map[string]any{"cookies": list, "browserContextId": p.context}, nil)
	}
	if set(list) != nil { // one that the browser refuses has it refuse all
		for i := range list {
			_ = set(list[i : i+1]) // it is not among those that are there
		}
	}
	there, err := p.readCookies(p.ctx)
	if err != nil {
		return err
	}
	p.cookies = slices.DeleteFunc(given, func(c cookies.Cookie) bool { // what the browser would not take is not deleted by the page
		return !slices.ContainsFunc(there, func(t cookies.Cookie) bool { return t.Name == c.Name && t.Path == c.Path && t.Domain == c.Domain })
	})
	return nil
}

// readCookies are the cookies of the page's context.
func (p *page) readCookies(ctx context.Context) (all []cookies.Cookie, err error) {
	var r struct{ Cookies []cookie }
	if err := p.browser.Call(ctx, "", "Storage.getCookies", map[string]any{"browserContextId": p.context}, &r); err != nil {
		return nil, err
	}
	for _, x := range r.Cookies {
		c := cookies.Cookie{Name: x.Name, Value: x.Value, Path: x.Path, Secure: x.Secure}
		c.Domain, c.Below = strings.CutPrefix(x.Domain, ".")
		if x.Expires > 0 {
			c.Expires = time.Unix(int64(x.Expires), 0)
		}
		all = append(all, c)
	}
	return all, nil
}

// takeCookies takes what the scripts of the page left.
func (p *page) takeCookies(ctx context.Context) {
	jar := p.pool.o.Cookies
	if jar == nil || p.context == "" {
		return
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if left, err := p.readCookies(within); err == nil { // a browser that does not answer leaves none
		jar.SetScripted(p.asked.URL, p.cookies, left)
	}
}
