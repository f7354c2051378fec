package job_test

import (
	"io"
	"net"
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
