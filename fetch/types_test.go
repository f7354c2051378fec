package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/web"
)

// A plain text is fetched where it begins with addresses and such texts are asked for.
func TestTextOfAddresses(t *testing.T) {
	w := newWire(Options{Clock: newStill()})
	read := func(types Types, contentType, sent string) error {
		in := &http.Response{
			StatusCode: 200, Body: io.NopCloser(bytes.NewReader([]byte(sent))), ContentLength: int64(len(sent)),
			Header: http.Header{"Content-Type": {contentType}},
		}
		out := web.Response{Status: 200, Header: in.Header}
		watch := newTimer(context.Background(), time.Hour)
		defer watch.stop()
		err := w.client(types, 1<<16, nil).readBody(context.Background(), watch, in, &out, newMemory(1<<30).share(), 0)
		if err == nil && string(out.Body) != sent {
			t.Errorf("of %q %q was read", sent, out.Body)
		}
		return err
	}
	asked := append(DefaultTypes(), TextOfAddresses)
	for _, c := range []struct {
		types      Types
		kind, sent string
		want       bool
	}{
		{asked, "text/plain; charset=utf-8", "https://a.example/1\r\nhttps://a.example/2\r\n", true},
		{asked, "Text/Plain", "\xef\xbb\xbf\nhttp://a.example/1", true},
		{asked, "text/plain", strings.Repeat("https://a.example/some/long/way\n", 100), true},
		{asked, "text/plain", "https://a.example/1\nbees\n", false},
		{asked, "text/plain", "bees", false},
		{asked, "text/plain", "https://a.example/ is about bees", false},
		{asked, "text/plain", "", false},
		{asked, "text/markdown", "https://a.example/1\n", false},
		{DefaultTypes(), "text/plain", "https://a.example/1\n", false},
		{append(asked, "text/plain"), "text/plain", "bees", true},
		{Types{".docx"}, "application/msword", "PK\x03\x04", true},
		{Types{".docx"}, "application/vnd.ms-word; charset=x", "PK\x03\x04", true},
		{Types{".rtf"}, "application/msword", "{\\rtf1 bees}", true},
		{Types{".docx", ".rtf"}, "application/msword", "\xd0\xcf\x11\xe0", false}, // the old form
		{Types{".rtf"}, "application/msword", "PK\x03\x04", false},
		{DefaultTypes(), "application/msword", "PK\x03\x04", false},
		{Types{"application/json"}, "application/vnd.bees+json", "{}", true},
		{Types{"text/html"}, "application/vnd.bees+json", "{}", false},
		{DefaultTypes(), "text/html", "%PDF-1.7", false}, // a file that a program hands out
		{append(DefaultTypes(), "application/pdf"), "Text/HTML; charset=utf-8", "%PDF-1.7", true},
		{DefaultTypes(), "text/html", "PK\x03\x04", false},
		{append(DefaultTypes(), "application/epub+zip"), "text/html", "PK\x03\x04", true},
		{DefaultTypes(), "text/html", "<p>%PDF-", true},
		{Types{"*/*"}, "text/html", "{\\rtf1", true},
	} {
		if err := read(c.types, c.kind, c.sent); (err == nil) != c.want {
			t.Errorf("%q as %s: %v", c.sent, c.kind, err)
		}
	}
	if got := asked.accept(); strings.Contains(got, "of addresses") {
		t.Errorf("Accept: %s", got)
	}
}
