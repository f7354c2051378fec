package export

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/internal/chromium"
	"github.com/waggle-crawler/waggle/internal/long"
)

// ReplayWeb.page opens the WACZ file in a browser, lists its pages and shows one as it
// was archived. It is a tool of this test alone: its licence keeps it out of waggle.
func TestReplayWebPage(t *testing.T) {
	long.Test(t, "starts a browser")
	player := os.Getenv("WAGGLE_REPLAYWEB")
	if player == "" {
		t.Skip("needs ReplayWeb.page: set WAGGLE_REPLAYWEB to the unpacked package replaywebpage of npm, with ui.js and sw.js")
	}
	b := chromium.Open(t)
	wacz := filepath.Join(t.TempDir(), "bees.wacz")
	if err := os.WriteFile(wacz, write(t, "wacz", &Input{Collections: []collection.Collection{made(t)}}), 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(player)))
	mux.HandleFunc("/bees.wacz", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, wacz) })
	s := httptest.NewServer(mux)
	defer s.Close()

	// What all documents show, in shadow roots and frames too.
	const shown = `(function text(root) {
		let out = root.body?.innerText ?? root.textContent;
		for (const e of root.querySelectorAll("*")) {
			if (e.shadowRoot) out += "\n" + text(e.shadowRoot);
			if (e.contentDocument) out += "\n" + text(e.contentDocument);
		}
		return out;
	})(document)`
	b.Call("Page.navigate", map[string]any{"url": s.URL + "/?source=" + url.QueryEscape(s.URL+"/bees.wacz") + "#view=pages"}, nil)
	for _, title := range []string{"Nest", "Shy", "The dance", `=HYPERLINK("http://evil.test") <b>bees</b>`} {
		b.Until(shown + `.includes(` + strconv.Quote(title) + `)`)
	}
	b.Shoot("replay-pages")
	b.Eval(`void(location.hash = "view=pages&url=" + encodeURIComponent("https://wasps.test/nest"))`)
	b.Until(shown + `.includes("bee dance")`)
	b.Shoot("replay-page")
	for _, address := range b.Outside() {
		if strings.Contains(address, ".test") {
			t.Errorf("the archive lacks what the page asked the network for: %s", address)
		}
	}
}
