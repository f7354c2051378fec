// Package login opens a browser in which a person logs in at a site, and takes the cookies
// by which the site knows them afterwards.
//
// Its life: Open → the person logs in → Cookies → Close. The browser has a profile of its
// own, which is removed with it.
package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/web"
)

// lookEvery is how often the cookies are read while the window is open: those of the last
// look are there once it is closed.
const lookEvery = 500 * time.Millisecond

// ErrNoScreen says that no window can be shown.
var ErrNoScreen = errors.New("there is no screen here (neither DISPLAY nor WAYLAND_DISPLAY is set)")

// Options say which window is opened.
type Options struct {
	// URLs are the pages at which the login is; the first one is shown, and the cookies are
	// those of the sites of all.
	URLs []web.URL
	// Unsandboxed starts the browser without its sandbox, which root cannot have.
	Unsandboxed bool

	hidden bool // no window: for tests
}

// browser is what a window needs of devtools.Browser.
type browser interface {
	Call(ctx context.Context, session, method string, params, result any) error
	Done() <-chan struct{}
	Close() error
}

// Window is a browser with a window.
type Window struct {
	tools browser
	sites map[string]bool // registrable domains
	stop  context.CancelFunc
	work  sync.WaitGroup

	mu   sync.Mutex
	last []cookies.Cookie // of all sites
	err  error            // of the last look, until one succeeds
}

// Open opens a window. The error is ErrNoScreen, or as devtools.Start has it.
func Open(ctx context.Context, o Options) (*Window, error) {
	if !o.hidden && runtime.GOOS == "linux" && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil, ErrNoScreen
	}
	tools, err := devtools.Start(ctx, devtools.Options{
		NoSandbox: o.Unsandboxed, Window: !o.hidden, URL: o.URLs[0].String(),
		Args: []string{"--disable-sync", "--disable-extensions", "--disable-features=Translate,MediaRouter"},
	})
	if err != nil {
		return nil, err
	}
	w := &Window{tools: tools, sites: map[string]bool{}, err: errors.New("its cookies have not been read yet")}
	for _, u := range o.URLs {
		w.sites[u.Host().Domain()] = true
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.work.Go(func() { w.watch(ctx) })
	return w, nil
}

// Done is closed when the person has closed the window.
func (w *Window) Done() <-chan struct{} { return w.tools.Done() }

// Close closes the window and removes its profile.
func (w *Window) Close() error {
	w.stop()
	w.work.Wait()
	return w.tools.Close()
}

// watch reads the cookies as long as the window is open.
func (w *Window) watch(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		w.look(ctx)
		select {
		case <-look.C:
		case <-w.tools.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// look reads the cookies.
func (w *Window) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var r struct {
		Cookies []struct {
			Name, Value, Domain, Path string
			Expires                   float64 // seconds since 1970, below 0 for none
			HTTPOnly, Secure          bool
		}
	}
	err := w.tools.Call(ctx, "", "Storage.getCookies", nil, &r)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if w.err != nil {
			w.err = err
		}
		return // what was read before stays
	}
	w.last, w.err = nil, nil
	for _, x := range r.Cookies {
		c := cookies.Cookie{Name: x.Name, Value: x.Value, Path: x.Path, Secure: x.Secure, HTTPOnly: x.HTTPOnly}
		c.Domain, c.Below = strings.CutPrefix(x.Domain, ".")
		if x.Expires > 0 {
			c.Expires = time.Unix(int64(x.Expires), 0)
		}
		w.last = append(w.last, c)
	}
}

// Cookies are those of the sites at this moment or, once the window is closed, half a
// second before.
func (w *Window) Cookies(ctx context.Context) ([]cookies.Cookie, error) {
	w.look(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, fmt.Errorf("the cookies were never read, perhaps because the window was closed at once: %w", w.err)
	}
	return slices.DeleteFunc(slices.Clone(w.last), func(c cookies.Cookie) bool { return !w.sites[web.Host(c.Domain).Domain()] }), nil
}
