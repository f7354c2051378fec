package jetstream_test

import (
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

func TestCheckURL(t *testing.T) {
	for _, x := range []struct{ url, says string }{
		{"nats://127.0.0.1:4222", ""},
		{"nats://TOKEN@engine-1", ""},
		{"tls://worker:secret@engine-1:4222,tls://worker:secret@engine-2:4222/", ""},
		{"wss://engine/path", ""},
		{"nats://[::1]:4222", ""},
		{"nats://", "no host"},
		{"nats://worker:secret@:4222", "no host"},
		{"nat://engine:4222", "begins with none of"},
		{"http://engine:4222", "begins with none of"},
		{"nats://engine:http", "cannot be read"},
		{"nats://engine:0", "a port is"},
		{"nats://engine:99999", "a port is"},
		{"nats://engine:", "a port is"},
		{"nats://engine:4222/crawl", "nothing follows"},
		{"nats://engine:4222?x=1", "nothing follows"},
		{"nats://a:4222,,nats://b:4222", "begins with none of"},
		{"nats://a:4222,engine", "begins with none of"},
		{"tls://worker:sec%ret@engine:4222", "%25"},
		{"tls://worker:sec#ret@engine:4222", "cannot be read"},
		{"tls://worker:sec,ret@engine:4222", "%2C"},
		{"tls://secret,word@engine:4222", "%2C"},
		{"nats://\x1b[31m:4222", "cannot be read"},
	} {
		err := jetstream.CheckURL(x.url)
		switch {
		case x.says == "" && err != nil:
			t.Errorf("%q is refused: %v", x.url, err)
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), "nats://HOST:4222")):
			t.Errorf("%q: %v, and not %q with the remedy", x.url, err, x.says)
		case err != nil && strings.ContainsAny(err.Error(), "\x1b\n"), err != nil && strings.Contains(err.Error(), "sec%ret"), err != nil && strings.Contains(err.Error(), "sec#ret"), err != nil && strings.Contains(err.Error(), "secret"), err != nil && strings.Contains(err.Error(), "sec,"), err != nil && strings.Contains(err.Error(), ":sec"):
			t.Errorf("%q: told as %q", x.url, err)
		}
		if x.says != "" {
			if _, opening := jetstream.Open(t.Context(), jetstream.Options{URL: x.url, Crawl: "bees"}); opening == nil || opening.Error() != err.Error() {
				t.Errorf("%q: opened with %v", x.url, opening)
			}
		}
	}
}
