// What waggle does within a page, in a world of its own. It may be run more than once.
globalThis.waggle ??= (() => {
	// Words of controls that load more of what a page lists.
	const words = new RegExp([
		"(load|show|see|view|display) (me )?(\\d+ )?more", "more (results|articles|posts|items|news|stories|entries)",
		"mehr (laden|anzeigen|zeigen)", "weitere .{0,20}(laden|anzeigen)",
		"(charger|afficher|voir) (la suite|plus)", "(cargar|ver|mostrar) más", "(carregar|ver|mostrar) mais",
		"(carica|mostra|vedi) (altr[oi]|di più)", "(meer (laden|tonen)|toon meer|laad meer)", "(pokaż|załaduj|zobacz) więcej",
		"(visa|ladda) fler", "(показать|загрузить) (ещё|еще|больше)", "もっと(見る|読む)|さらに(表示|読み込む)", "(加载|载入|查看|显示|載入|顯示)更多", "더 ?보기",
	].join("|"), "i");
	const named = /(load|show)[-_]?more/i;
	const pressed = new Map(); // control → how often
	const kept = []; // [route, HTML] of what routes showed
	let first; // the document before its routes were opened, without shadows

	const visible = e => e.getClientRects().length > 0 && !e.disabled;

	// control is the next one that loads more, undefined where there is none.
	const control = () => {
		for (const e of document.querySelectorAll("button, [role=button], input[type=button], a:not([href]), a[href=''], a[href^='#'], a[href^='javascript:']")) {
			const text = (e.innerText || e.value || e.getAttribute("aria-label") || "").trim();
			if (text.length > 60 || e.closest("form") && e.type === "submit") continue;
			if ((words.test(text) || named.test(e.id) || named.test(e.className)) && visible(e) && (pressed.get(e) ?? 0) < 100) return e;
		}
	};

	// size grows with what the page shows.
	const size = () => document.getElementsByTagName("*").length;

	const more = () => {
		const before = size();
		const e = control();
		if (e) {
			pressed.set(e, (pressed.get(e) ?? 0) + 1);
			e.scrollIntoView();
			e.click ? e.click() : e.dispatchEvent(new MouseEvent("click", {bubbles: true})); // a drawing has no click
			return {clicked: true, size: before};
		}
		scrollTo(0, document.documentElement?.scrollHeight ?? 0);
		let scrollers = 0;
		for (const e of document.querySelectorAll("main, section, div, ul, ol, table")) {
			if (e.scrollHeight > e.clientHeight + 40 && e.clientHeight > 100 && /auto|scroll/.test(getComputedStyle(e).overflowY)) {
				e.scrollTop = e.scrollHeight;
				if (++scrollers === 3) break;
			}
		}
		return {clicked: false, size: before};
	};

	// routes are the fragments by which the page leads to other views of itself, the first so many.
	const routes = most => {
		const list = new Set();
		for (const e of document.querySelectorAll("a[href*='#/'], a[href*='#!']")) {
			if (list.size >= most) break;
			// Of an address that cannot be read the parts are empty.
			if (e.origin === location.origin && e.pathname === location.pathname && e.search === location.search && e.hash !== location.hash) list.add(e.hash);
		}
		return [...list];
	};

	const open = route => {
		first ??= plain(document.documentElement);
		location.hash = route;
	};

	// copy is a node without shadows: what stands in a shadow root stands in its host.
	const copy = (node, to) => {
		if (node.nodeType !== Node.ELEMENT_NODE) return to.importNode(node, false);
		const own = to.importNode(node, false);
		if (node.localName === "template") return own;
		const into = (parent, children) => {
			for (const c of children) {
				if (c.localName === "slot" && c.getRootNode() instanceof ShadowRoot) {
					const given = c.assignedNodes();
					into(parent, given.length ? given : c.childNodes);
				} else {
					parent.append(copy(c, to));
				}
			}
		};
		into(own, node.shadowRoot ? node.shadowRoot.childNodes : node.childNodes);
		return own;
	};

	const plain = node => {
		const doc = document.implementation.createHTMLDocument();
		return copy(node, doc);
	};

	// keep keeps what a route shows, unless another, or the document before, has shown the same.
	const keep = (route, most) => {
		const html = document.body ? plain(document.body).innerHTML : "";
		const known = html === first?.querySelector("body")?.innerHTML || kept.some(k => k[1] === html);
		if (html.length < most && !known) kept.push([route, html]);
	};

	// take is the document as HTML, at most so many characters.
	const take = (most, moved) => {
		let root = first ?? document.documentElement;
		if (!root) return {html: "", cut: false};
		const shadows = [...document.querySelectorAll("*")].some(e => e.shadowRoot);
		if (shadows || kept.length || moved) {
			root = plain(root);
			const doc = root.ownerDocument;
			if (moved) {
				const meta = doc.createElement("meta");
				meta.httpEquiv = "refresh";
				meta.content = "0; url=" + moved;
				(root.querySelector("head") ?? root).append(meta);
			}
			const body = root.querySelector("body") ?? root;
			for (const [route, html] of kept) {
				const section = doc.createElement("section");
				section.setAttribute("data-waggle-route", route);
				section.innerHTML = html;
				body.append(section);
			}
		}
		const html = "<!DOCTYPE html>\n" + root.outerHTML;
		return html.length > most ? {html: html.slice(0, most), cut: true} : {html, cut: false};
	};

	return {more, size, routes, open, keep, take};
})();
