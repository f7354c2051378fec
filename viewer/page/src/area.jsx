import { useEffect, useRef, useState } from "preact/hooks";
import { number, percent } from "./format.js";
import { go } from "./route.js";

// squares divides a box among items in proportion to their values, as squares as can be.
// Items are sorted, the largest first.
//
// Source: Bruls, Huizing, van Wijk (2000), Squarified Treemaps.
export function squares(items, x, y, w, h) {
  const out = [];
  let rest = items.filter((i) => i.value > 0);
  let sum = rest.reduce((s, i) => s + i.value, 0);
  while (rest.length && w > 0 && h > 0) {
    const side = Math.min(w, h);
    const scale = (w * h) / sum;
    let row = 0, n = 0, worst = Infinity;
    while (n < rest.length) {
      const next = row + rest[n].value;
      const s2 = (next * scale) ** 2, w2 = side ** 2;
      const ratio = Math.max((w2 * rest[0].value * scale) / s2, s2 / (w2 * rest[n].value * scale));
      if (ratio > worst) break;
      worst = ratio; row = next; n++;
    }
    const thick = (row * scale) / side;
    let at = 0;
    for (const item of rest.slice(0, n)) {
      const long = (item.value * scale) / thick;
      out.push(w >= h ? { item, x, y: y + at, w: thick, h: long } : { item, x: x + at, y, w: long, h: thick });
      at += long;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    rest = rest.slice(n);
    sum -= row;
  }
  return out;
}

// clip is a name in so many characters: what most have in common at its beginning goes first.
function clip(host, chars) {
  const name = host.length > chars ? host.replace(/^www\./, "") : host;
  return name.length > chars ? name.slice(0, chars - 1) + "…" : name;
}

// Area draws hosts as an area each: pages fetched; the colour is the share of relevant ones.
export function Area({ hosts, crawl }) {
  const box = useRef();
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const seen = new ResizeObserver(() => box.current && setWidth(box.current.clientWidth));
    seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  const em = width ? parseFloat(getComputedStyle(box.current).fontSize) : 16;
  const height = Math.round(Math.min(30 * em, Math.max(18 * em, width * 0.42)));
  const items = hosts.filter((h) => h.pages > 0).sort((a, b) => b.pages - a.pages).slice(0, 80).map((h) => ({ ...h, value: h.pages, rate: h.relevant / h.pages }));
  const most = Math.max(0.05, ...items.filter((h) => h.pages > 2).map((h) => h.rate));
  return (
    <>
      <div ref={box} class="area">
        {width > 0 && (
          <svg width={width} height={height} role="img" aria-label={`Map of ${items.length} hosts. The table has the same figures.`}>
            {squares(items, 0, 0, width, height).map(({ item, x, y, w, h }) => {
              const level = Math.round(10 * Math.min(1, item.rate / most));
              const chars = Math.floor((w - 0.8 * em) / (0.5 * em));
              return (
                <g key={item.host} class={`tile rate${level}`} onClick={() => go(crawl, "pages", { host: item.host })}>
                  <title>{`${item.host}: ${number(item.relevant)} of ${number(item.pages)} pages are relevant (${percent(item.rate)})`}</title>
                  <rect x={x + 1} y={y + 1} width={Math.max(0, w - 2)} height={Math.max(0, h - 2)} rx="3" />
                  {chars > 4 && h > 1.7 * em && <text x={x + 0.45 * em} y={y + 1.2 * em}>{clip(item.host, chars)}</text>}
                  {chars > 6 && h > 3 * em && <text class="small" x={x + 0.45 * em} y={y + 2.4 * em}>{percent(item.rate)}{chars > 16 ? ` of ${number(item.pages)}` : ""}</text>}
                </g>
              );
            })}
          </svg>
        )}
      </div>
      <p class="key" aria-hidden="true"><span>0 %</span>{Array.from({ length: 11 }, (_, i) => <i key={i} class={"rate" + i} />)}<span>{percent(most)} relevant{items.some((h) => h.rate > most) && ", or more"}</span><span class="soft">Area: pages fetched</span></p>
    </>
  );
}
