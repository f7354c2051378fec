package crawl

import "testing"

// What the source of a page tells of what its scripts may do.
func TestLook(t *testing.T) {
	const script = `<script src=a.js></script>`
	for _, c := range []struct {
		src                 string
		scripts, unfinished bool
	}{
		{"<p>text", false, false},
		{`<div id="app"></div>`, false, false}, // nothing will fill it in
		{script, true, false},
		{`<SCRIPT>x()</SCRIPT>`, true, false},
		{`<script type="application/ld+json">{}</script><div id=app></div>`, false, false},
		{`<script type="module">x()</script>`, true, false},
		{`<div id="app"></div>` + script, true, true},
		{`<div id='main-content' class=x>  </div>` + script, true, true},
		{`<div id=app>text</div>` + script, true, false},
		{`<div id="apparatus"></div>` + script, true, false},
		{`<div class="clear"></div>` + script, true, false},
		{`<my-list></my-list>` + script, true, true},
		{`<my-list>text</my-list>` + script, true, false},
		{`<div class="spinner"><b>x</b></div>` + script, true, true},
		{`<p aria-busy="true">x</p>` + script, true, true},
		{`<p>Loading…</p>` + script, true, true},
		{`<button>Load more</button>` + script, true, true},
		{`<noscript>Please enable JavaScript</noscript>` + script, true, true},
		{`<noscript><img src=pixel></noscript>` + script, true, false},
		{`<script>const s = "<div id=app></div>"</script><p>x`, true, false},
		{script + "<", true, false},
		{script + "<div", true, false},
		{"<script", false, false},
		{`<script src=a.js>`, true, false},
		{script + "<noscript>javascript", true, true},
	} {
		if h := look([]byte(c.src)); h.scripts != c.scripts || h.unfinished != c.unfinished {
			t.Errorf("%s: scripts %t, unfinished %t", c.src, h.scripts, h.unfinished)
		}
	}
}

// FuzzLook holds that any source is looked at, and says the same when it is looked at again.
func FuzzLook(f *testing.F) {
	f.Add([]byte(`<script></script><div id="app"></div>`))
	f.Fuzz(func(t *testing.T, src []byte) {
		h := look(src)
		if h.unfinished && !h.scripts {
			t.Error("unfinished without scripts")
		}
		if again := look(src); again != h {
			t.Errorf("%+v, and %+v the second time", h, again)
		}
	})
}
