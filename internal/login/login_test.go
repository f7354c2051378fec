package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/fetch/cookies"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/devtools"
	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/web"
)

// A person fills in a form; by the cookies that are handed over the site knows them, also
// once the window is closed, and of other sites there is none.
func TestLogin(t *testing.T) {
	long.Test(t, "opens the window of a browser")
	chromium.Find(t)
	in := make(chan string, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/login":
			fmt.Fprint(w, `<title>Log in</title><form method=post action=/in><input name=user><input name=password type=password><button>in</button></form><img src="`+"http://localhost"+r.Host[strings.IndexByte(r.Host, ':'):]+`/pixel">`)
		case "/pixel":
			http.SetCookie(w, &http.Cookie{Name: "spy", Value: "1"})
		case "/in":
			if r.FormValue("user") == "ada" && r.FormValue("password") == "correct horse" {
				http.SetCookie(w, &http.Cookie{Name: "id", Value: "0123456789abcdef-of-ada", Path: "/", HttpOnly: true, MaxAge: 3600})
			}
			in <- r.FormValue("user")
		}
	}))
	defer s.Close()
	at, err := web.Parse(s.URL + "/login")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open(t.Context(), Options{URLs: []web.URL{at}, Unsandboxed: true, hidden: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	drive(t, w.tools, `document.querySelector("[name=user]").value = "ada"; document.querySelector("[name=password]").value = "correct horse"; document.forms[0].submit()`)
	select {
	case <-in:
	case <-time.After(time.Minute):
		t.Fatal("the form did not arrive")
	}
	known := func(when string) bool {
		list, err := w.Cookies(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		jar := cookies.New(clock{})
		for _, c := range list {
			if err := jar.Add(c); err != nil {
				t.Fatal(err)
			}
			if c.Name != "id" || !c.HTTPOnly || c.Below {
				t.Fatalf("%s: handed over %+v", when, c)
			}
		}
		return jar.Header(at) == "id=0123456789abcdef-of-ada"
	}
	for !known("open") { // the answer is on its way
		if t.Context().Err() != nil {
			t.Fatal("the login is not handed over")
		}
	}
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.tools.Call(within, "", "Browser.close", nil, nil); err != nil && !errors.Is(err, devtools.ErrEnded) {
		t.Fatal(err)
	}
	<-w.Done()
	if !known("closed") {
		t.Error("once the window is closed the login is lost")
	}
}

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

// drive runs a script in the page of the window, once its form is there.
func drive(t *testing.T, tools browser, script string) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func(session, method string, params, result any) {
		t.Helper()
		if err := tools.Call(within, session, method, params, result); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	call("", "Target.getTargets", nil, &targets)
	for _, x := range targets.TargetInfos {
		if x.Type != "page" {
			continue
		}
		var s struct{ SessionID string }
		call("", "Target.attachToTarget", map[string]any{"targetId": x.TargetID, "flatten": true}, &s)
		for {
			var r struct{ Result struct{ Value bool } }
			call(s.SessionID, "Runtime.evaluate", map[string]any{"expression": `document.readyState == "complete" && document.forms.length == 1`}, &r)
			if r.Result.Value {
				break
			}
		}
		call(s.SessionID, "Runtime.evaluate", map[string]any{"expression": script}, nil)
		return
	}
	t.Fatal("the browser has no page")
}
