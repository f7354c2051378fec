import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import { useData, useSlow } from "./api.js";
import { colours, useScheme } from "./curve.jsx";
import { count, number, percent } from "./format.js";
import { Pager } from "./now.jsx";
import { to } from "./route.js";

// Links draws which hosts led to which.
export function Links({ at, state }) {
  const [n, setN] = useState(200);
  const stamp = useSlow(state.revision, state.running ? 30000 : 5000);
  const { data: g } = useData(`crawls/${at.crawl}/graph?n=${n}`, stamp);
  const [chosen, choose] = useState("");
  const pick = (host) => { choose(host); setFrom(0); };
  const [from, setFrom] = useState(0);
  const rows = useMemo(() => g?.links.filter((l) => !chosen || g.hosts[l.from].host === chosen || g.hosts[l.to].host === chosen)|| [], [g, chosen]);
  return (
    <div class="screen links-screen">
      <section class="card wide" aria-labelledby="graph-title">
        <div class="bar">
          <h1 id="graph-title">Which hosts led to which</h1>
          <label>Hosts drawn<select value={n} onChange={(e) => setN(Number(e.target.value))}>{[50, 200, 1000, 3000].map((v) => <option key={v} value={v}>{number(v)}</option>)}</select></label>
        </div>
        <p class="soft">A line from one host to another: pages of the second were fetched by links of the first. Size: pages. Colour: the share of relevant ones. {g && <>{number(g.hosts.length)} of {count(g.all, "host")}.</>}</p>
        {g && g.hosts.length > 0 ? <Graph g={g} chosen={chosen} choose={pick} crawl={at.crawl} name={state.figures.name} /> : <p class="soft empty">{g ? "No host has given a page yet." : "Reading …"}</p>}
      </section>
      <section class="card wide" aria-labelledby="leads-title">
        <div class="bar"><h2 id="leads-title">{chosen ? <>Links of {chosen}</> : rows.length > 0 && rows.every((l) => !l.relevant) ? "Links that led to most pages, none of them relevant" : "Links that led to most relevant pages"}</h2>{chosen && <button type="button" onClick={() => pick("")}>All hosts</button>}</div>
        {g && rows.length === 0 && <p class="soft empty">{chosen ? "No page of another host was fetched by its links, and none of its pages by links of another." : "No page was fetched by a link from another host."}</p>}
        {rows.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-labelledby="leads-title"><table class="leads">
          <thead><tr><th>From</th><th>To</th><th class="n">Relevant</th><th class="n">Pages</th><th class="n">Harvest</th></tr></thead>
          <tbody>{rows.slice(from, from + 20).map((l) => (
            <tr key={l.from + " " + l.to}><td class="text"><button class="sort" type="button" onClick={() => pick(g.hosts[l.from].host)}>{g.hosts[l.from].host}</button></td>
              <td class="text"><a href={to(at.crawl, "pages", { host: g.hosts[l.to].host })}>{g.hosts[l.to].host}</a></td><td class="n" data-name="Relevant">{number(l.relevant)}</td><td class="n" data-name="Pages">{number(l.pages)}</td><td class="n" data-name="Harvest">{percent(l.relevant / l.pages)}</td></tr>
          ))}</tbody>
        </table></div>}
        {rows.length > 20 && <Pager from={from} n={20} all={rows.length} set={setFrom} what="line" />}
      </section>
    </div>
  );
}

// mix is the colour between two, as #rrggbb.
function mix(a, b, t) {
  const part = (i) => Math.round(parseInt(a.slice(i, i + 2), 16) * (1 - t) + parseInt(b.slice(i, i + 2), 16) * t).toString(16).padStart(2, "0");
  return "#" + part(1) + part(3) + part(5);
}

// Layouts by the graphs that they are of: a screen that was left has its own again.
const layouts = new WeakMap();

// layout makes places of hosts; it is the same for the same graph.
function layout(g) {
  if (!layouts.has(g)) layouts.set(g, newLayout(g));
  return layouts.get(g);
}

function newLayout(g) {
  const most = Math.max(1, ...g.hosts.map((h) => h.pages));
  const nodes = g.hosts.map((h) => ({ ...h, r: 3 + 17 * Math.sqrt(h.pages / most) }));
  const links = g.links.map((l) => ({ ...l, source: l.from, target: l.to }));
  const run = forceSimulation(nodes)
    .force("link", forceLink(links).distance((l) => 30 + l.source.r + l.target.r).strength((l) => Math.min(0.7, 0.08 + 0.1 * Math.log1p(l.pages))))
    .force("charge", forceManyBody().strength((n) => -30 - 3 * n.r).distanceMax(500))
    .force("collide", forceCollide((n) => n.r + 3)).force("center", forceCenter(0, 0))
    .force("x", forceX(0).strength(0.06)).force("y", forceY(0).strength(0.09)).stop();
  return { nodes, links, run };
}

function Graph({ g, chosen, choose, crawl, name }) {
  const canvas = useRef();
  const drawn = useRef({});
  const [hover, setHover] = useState(null);
  const shape = useMemo(() => layout(g), [g]);
  const draw = (moving) => {
    const el = canvas.current;
    if (!el) return;
    const { clientWidth: w, clientHeight: h } = el;
    const dpr = devicePixelRatio || 1;
    if (el.width !== Math.round(w * dpr)) el.width = Math.round(w * dpr);
    if (el.height !== Math.round(h * dpr)) el.height = Math.round(h * dpr);
    const c = colours();
    const now = [shape, shape.run.alpha(), chosen, moving === true, w, h, dpr, ...Object.values(c)];
    if (drawn.current.of?.every((v, i) => v === now[i])) return; // it stands there
    const view = (drawn.current.view = fit(shape.nodes, w, h));
    drawn.current.of = now;
    const pen = el.getContext("2d");
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    pen.clearRect(0, 0, w, h);
    pen.font = `${view.font}px system-ui, sans-serif`;
    el.dataset.names = paint(shape, view, c, chosen, moving !== true, {
      line: (x1, y1, x2, y2, colour, width) => { pen.strokeStyle = colour; pen.lineWidth = width; pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); },
      dot: (x, y, r, fill, edge) => { pen.fillStyle = fill; pen.strokeStyle = edge; pen.lineWidth = 1; pen.beginPath(); pen.arc(x, y, r, 0, 7); pen.fill(); pen.stroke(); },
      text: (x, y, text, colour, back) => { pen.textAlign = "center"; pen.lineWidth = 3; pen.strokeStyle = back; pen.lineJoin = "round"; pen.strokeText(text, x, y); pen.fillStyle = colour; pen.fillText(text, x, y); },
      width: (text) => pen.measureText(text).width,
    });
  };
  useEffect(() => { // the layout is worked out a little in each frame, so nothing waits for it
    let frame;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const go = () => {
      const until = performance.now() + 8;
      while (shape.run.alpha() > shape.run.alphaMin()) {
        shape.run.tick();
        if (performance.now() >= until) break;
      }
      const over = shape.run.alpha() <= shape.run.alphaMin();
      if (!calm || over) draw(!over);
      canvas.current?.setAttribute("data-drawn", over);
      if (!over) frame = requestAnimationFrame(go);
    };
    go();
    return () => cancelAnimationFrame(frame);
  }, [shape]);
  useEffect(() => draw(shape.run.alpha() > shape.run.alphaMin()), [chosen]);
  useScheme(draw);
  useEffect(() => {
    const seen = new ResizeObserver(() => draw(shape.run.alpha() > shape.run.alphaMin()));
    seen.observe(canvas.current);
    return () => seen.disconnect();
  }, [shape, chosen]);
  const at = (e) => {
    const v = drawn.current.view;
    if (!v) return null;
    const off = (n) => Math.hypot(v.x + v.sx * n.x - e.offsetX, v.y + v.sy * n.y - e.offsetY);
    return shape.nodes.find((n) => off(n) < Math.max(2, n.r * v.scale) + 3) || null;
  };
  return (
    <>
      <div class="graph">
        <canvas ref={canvas} role="img" aria-label={`${count(g.hosts.length, "host")} and ${count(g.links.length, "line")} between them. The table has the same.`}
          onMouseMove={(e) => setHover(at(e))} onMouseLeave={() => setHover(null)} onClick={(e) => choose(at(e)?.host || "")} />
        <p class="hover" aria-live="off">{hover ? `${hover.host}: ${number(hover.relevant)} of ${count(hover.pages, "page")} are relevant; its links led to ${count(hover.led, "relevant page")} elsewhere` : " "}</p>
      </div>
      <p class="bar take"><span class="soft">Take it away (as GraphML: <a href={to(crawl, "collection")}>Collection</a>)</span>
        <button type="button" onClick={() => save((name || "hosts") + ".svg", "image/svg+xml", svg(shape, chosen))}>Picture (SVG)</button>
      </p>
    </>
  );
}

// fit is the scale and place at which all nodes are seen.
function fit(nodes, w, h) {
  const pad = 34;
  const xs = nodes.flatMap((n) => [n.x - n.r, n.x + n.r]), ys = nodes.flatMap((n) => [n.y - n.r, n.y + n.r]);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const em = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const wide = (w - 2 * pad) / Math.max(1, right - left), high = (h - 2 * pad) / Math.max(1, bottom - top);
  const scale = Math.min(wide, high, (1.6 * em) / 16);
  // Names stand side by side: they take what the window has beyond the circles.
  const sx = Math.min(wide, 3.2 * scale), sy = Math.min(high, 1.6 * scale);
  return { scale, sx, sy, x: w / 2 - (sx * (left + right)) / 2, y: h / 2 - (sy * (top + bottom)) / 2, font: 0.75 * em, w, h };
}

// paint draws a layout with a pen, while it moves with few names, and tells how many names it has.
function paint({ nodes, links }, view, c, chosen, names, pen) {
  const x = (n) => view.x + view.sx * n.x, y = (n) => view.y + view.sy * n.y;
  const most = Math.max(0.05, ...nodes.filter((n) => n.pages > 2).map((n) => n.relevant / n.pages));
  const near = new Set([chosen]);
  for (const l of links) if (l.source.host === chosen || l.target.host === chosen) near.add(l.source.host).add(l.target.host);
  for (const l of links) {
    const mine = !chosen || l.source.host === chosen || l.target.host === chosen;
    pen.line(x(l.source), y(l.source), x(l.target), y(l.target), mine ? mix(c.edge, c.accent, Math.min(1, (l.relevant / l.pages) / most) * 0.7 + (chosen ? 0.2 : 0)) : c.line, mine ? Math.min(4, 0.7 + Math.log1p(l.pages) / 2) : 0.4);
  }
  for (const n of nodes) {
    const on = !chosen || near.has(n.host);
    pen.dot(x(n), y(n), Math.max(2, n.r * view.scale), on ? mix(c.back, c.accent, 0.08 + 0.92 * Math.min(1, n.relevant / n.pages / most)) : c.back, on ? c.text : c.line);
  }
  // Names stand above or below their circles where they cover no other name and no other circle;
  // those of the largest ones also where they cover a circle.
  const over = (a, b) => b[0] < a[2] && a[0] < b[2] && b[1] < a[3] && a[1] < b[3];
  const taken = [], r = (n) => Math.max(2, n.r * view.scale);
  const list = nodes.filter((n) => !chosen || near.has(n.host)).sort((a, b) => (b.host === chosen) - (a.host === chosen) || b.pages - a.pages || b.relevant - a.relevant).slice(0, names ? 200 : largest);
  list.forEach((n, i) => {
    const half = pen.width(n.host) / 2, tx = Math.min(view.w - half - 2, Math.max(half + 2, x(n)));
    const places = [y(n) - r(n) - 4, y(n) + r(n) + view.font].map((ty) => [tx - half, ty - view.font, tx + half, ty + 3])
      .filter((box) => box[1] >= 0 && box[3] <= view.h && !taken.some((b) => over(b, box)));
    const free = places.find((box) => !nodes.some((m) => m !== n && over([x(m) - r(m), y(m) - r(m), x(m) + r(m), y(m) + r(m)], box)));
    const box = free || (i < largest && places[0]);
    if (!box) return;
    taken.push(box);
    pen.text(tx, box[3] - 3, n.host, c.ink, c.back);
  });
  return taken.length;
}

// largest is how many names of the largest hosts are drawn in any case that fits, also while the drawing moves.
const largest = 8;

const escape = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function svg(shape, chosen) {
  const w = 1200, h = 800, c = colours(), out = [];
  const view = { ...fit(shape.nodes, w, h), font: 12 };
  const f = (v) => v.toFixed(1);
  paint(shape, view, c, chosen, true, {
    line: (x1, y1, x2, y2, colour, width) => out.push(`<line x1="${f(x1)}" y1="${f(y1)}" x2="${f(x2)}" y2="${f(y2)}" stroke="${colour}" stroke-width="${f(width)}"/>`),
    dot: (x, y, r, fill, edge) => out.push(`<circle cx="${f(x)}" cy="${f(y)}" r="${f(r)}" fill="${fill}" stroke="${edge}"/>`),
    text: (x, y, text, colour, back) => out.push(`<text x="${f(x)}" y="${f(y)}" text-anchor="middle" fill="${colour}" stroke="${back}" stroke-width="3" paint-order="stroke">${escape(text)}</text>`),
    width: (text) => text.length * 6.2,
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" font-family="sans-serif" font-size="12"><rect width="${w}" height="${h}" fill="${c.back}"/>${out.join("")}</svg>\n`;
}

// save gives the person a file.
function save(name, type, text) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type }));
  a.download = name.replace(/[^\w.-]+/g, "-");
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}
