package job_test

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/job"
)

// A SOCKS proxy is asked before a crawl begins whether it answers, and lets us in.
func TestSOCKSGreeted(t *testing.T) {
	talks := func(talk func(c net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				talk(c)
				c.Close()
			}
		}()
		return l.Addr().String()
	}
	says := func(answers ...string) string {
		return talks(func(c net.Conn) {
			for _, a := range answers {
				c.Read(make([]byte, 600))
				io.WriteString(c, a)
			}
		})
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, c := range []struct{ proxy, secret, want string }{
		{gone.Addr().String(), "", "no proxy answers there"},
		{says("HTTP/1.1 400 Bad Request\r\n\r\n"), "", "does not speak SOCKS 5"},
		{talks(func(net.Conn) {}), "", "does not speak SOCKS 5"},
		{says("\x05\x00"), "", ""},
		{says("\x05\xff"), "", "--secrets"},
		{says("\x05\x02"), "", "--secrets"},
		{says("\x05\x02", "\x01\x00"), "tell-nobody", ""},
		{says("\x05\x02", "\x01\x01"), "tell-nobody", "--secrets"},
		{says("\x05\x00"), "tell-nobody", ""},
	} {
		text := "topic: {keywords: [bees]}\nseeds: [http://a.test/]\ncontact: me@a.test\nfetch: {through: 'socks5://" + c.proxy + "'"
		if c.secret != "" {
			file := filepath.Join(t.TempDir(), "secrets.yaml")
			if err := os.WriteFile(file, []byte("socks5://"+c.proxy+": {user: ada, password: "+c.secret+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			text += ", secrets: " + file
		}
		j, err := job.Parse("job.yaml", []byte(text+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.FetchOptions(t.Context())
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "tell-nobody")) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// An HTTP proxy is asked before a crawl begins whether it lets us in, and no server is. One that
// finds nothing behind a name does.
func TestHTTPProxyGreeted(t *testing.T) {
	for _, c := range []struct {
		name         string
		page, tunnel int // its answers; 0 = as it should be with ada's password
		secret       string
		want         string
	}{
		{name: "open", page: 502, tunnel: 502},
		{name: "open, and needlessly told a password", page: 502, tunnel: 403, secret: "tell-nobody"},
		{name: "without a password", want: "it wants a user and a password: put them into the file of fetch.secrets (--secrets)"},
		{name: "with a wrong one", secret: "wrong", want: "it does not know this user and password"},
		{name: "with the right one", secret: "tell-nobody"},
		{name: "pages without, connections with one", page: 502, tunnel: 407, want: "--secrets"},
		{name: "no connections", page: 502, tunnel: 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status := c.page
				switch {
				case !r.URL.IsAbs() && r.Method != http.MethodConnect:
					http.NotFound(w, r) // it serves no recorded web
					return
				case !strings.HasPrefix(r.Host, "waggle.invalid"):
					t.Errorf("it was asked for %s", r.Host)
				case r.Method == http.MethodConnect:
					status = c.tunnel
				}
				if status == 0 {
					status = http.StatusProxyAuthRequired
					who := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
					if user, password, _ := who.BasicAuth(); user == "ada" && password == "tell-nobody" {
						status = http.StatusBadGateway
					}
				}
				http.Error(w, "no", status)
			}))
			defer srv.Close()
			text := "topic: {keywords: [bees]}\nseeds: [http://a.test/]\ncontact: me@a.test\nfetch: {through: '" + srv.URL + "'"
			if c.secret != "" {
				file := filepath.Join(t.TempDir(), "secrets.yaml")
				if err := os.WriteFile(file, []byte(srv.URL+": {user: ada, password: "+c.secret+"}\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				text += ", secrets: '" + file + "'"
			}
			j, err := job.Parse("job.yaml", []byte(text+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = j.FetchOptions(t.Context())
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "tell-nobody") || strings.Contains(err.Error(), "wrong")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// A proxy that is spoken to by TLS is known by the authority that the job names; one that is not is
// there all the same, and what helps is told.
func TestPrivateProxy(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusProxyAuthRequired
		if !r.URL.IsAbs() && r.Method != http.MethodConnect {
			status = http.StatusNotFound // it serves no recorded web
		}
		http.Error(w, "no", status)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	srv.StartTLS()
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for ca, want := range map[string]string{
		"": "it is not known by its certificate (", ", through-ca: '" + file + "'": "it wants a user and a password",
	} {
		j, err := job.Parse("job.yaml", []byte("topic: {keywords: [bees]}\nseeds: [http://a.test/]\ncontact: me@a.test\nfetch: {through: '"+srv.URL+"'"+ca+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = j.FetchOptions(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "no proxy answers") {
			t.Errorf("%q: %v, want %q", ca, err, want)
		}
	}
}
