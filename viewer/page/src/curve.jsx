import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { moment, number, percent } from "./format.js";

// colours are those of the style sheet, for what is drawn on a canvas.
export function colours() {
  const css = getComputedStyle(document.documentElement);
  const of = (name) => css.getPropertyValue("--" + name).trim();
  return { text: of("soft"), line: of("line"), edge: of("edge"), accent: of("accent"), second: of("second"), back: of("card"), ink: of("ink") };
}

// dark is one list for all: a new one that is made while the scheme changes hears nothing of it.
const dark = matchMedia("(prefers-color-scheme: dark)");

// useScheme calls f, as the last drawing gave it, when light and dark change places.
export function useScheme(f) {
  const latest = useRef();
  latest.current = f;
  useEffect(() => {
    const hear = () => latest.current();
    dark.addEventListener("change", hear);
    return () => dark.removeEventListener("change", hear);
  }, []);
}

// at is what a curve has after so many pages, between its points in a straight line; null
// beyond its end.
export function at(curve, pages) {
  const i = curve.pages.findIndex((p) => p >= pages);
  if (i < 0) return null;
  const from = i ? curve.pages[i - 1] : 0, low = i ? curve.relevant[i - 1] : 0;
  return low + ((curve.relevant[i] - low) * (pages - from)) / Math.max(1, curve.pages[i] - from);
}

// Curve draws the relevant pages over the pages fetched, and the share of the last 200;
// beside them the relevant pages of another crawl, which has a name.
export function Curve({ curve, beside, name }) {
  const columns = () => [curve.pages, curve.relevant, curve.recent, ...(beside ? [curve.pages.map((n) => at(beside, n))] : [])];
  const other = useRef(); // of the legend, which is asked later
  other.current = beside;
  const ended = () => (other.current?.pages.length ? `${number(other.current.relevant.at(-1))} in its ${number(other.current.pages.at(-1))} pages` : "");
  const box = useRef();
  const chart = useRef();
  const draw = () => {
    if (!box.current || !curve?.pages.length) return;
    chart.current?.destroy();
    const c = colours();
    const width = () => Math.max(200, box.current.clientWidth);
    const em = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const font = `${0.78 * em}px system-ui, sans-serif`;
    const axis = { stroke: c.text, font, grid: { stroke: c.line, width: 1 }, ticks: { show: false } };
    const narrow = width() < 30 * em;
    chart.current = new uPlot({
      width: width(), height: Math.round(Math.min(26 * em, Math.max(15 * em, width() * 0.3))),
      hooks: { setCursor: [(u) => { if (u.cursor.idx === null) u.setLegend({ idx: u.data[0].length - 1 }, false); }], ready: [(u) => u.setLegend({ idx: u.data[0].length - 1 }, false)], setData: [(u) => { if (u.cursor.idx == null) u.setLegend({ idx: u.data[0].length - 1 }, false); }] },
      cursor: { y: false, points: { size: 7 } }, legend: { live: true, markers: { width: 3 } },
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, Math.max(1, high * 1.05)] }, share: { range: (u, low, high) => [0, Math.max(0.1, Math.min(1, high * 1.15))] } },
      axes: [
        { ...axis, space: 4.5 * em, size: 2.4 * em, values: (u, all) => all.map((v) => (Number.isInteger(v) ? number(v) : "")) },
        { ...axis, space: 2.4 * em, size: 3.6 * em, values: (u, all) => all.map((v) => (Number.isInteger(v) ? number(v) : "")) },
        { ...axis, space: 2.4 * em, side: 1, scale: "share", size: narrow ? 3 * em : 3.2 * em, grid: { show: false }, values: (u, all) => all.map((v) => +(100 * v).toFixed(1) + " %") },
      ],
      series: [
        { label: "Pages", value: (u, v) => (v === null ? "" : number(v)) },
        { label: "Relevant", stroke: c.accent, width: 2.5, fill: c.accent + "22", value: (u, v) => (v === null ? "" : number(v)) },
        { label: "Of the last 200", scale: "share", stroke: c.second, width: 1.5, value: (u, v) => (v === null ? "" : percent(v)) },
        ...(beside ? [{ label: "Relevant, " + name, stroke: c.text, width: 2, dash: [6, 4], value: (u, v) => (v === null ? ended() : number(Math.round(v))) }] : []),
      ],
    }, columns(), box.current);
  };
  const latest = useRef(); // what listens for long draws what there is then
  latest.current = draw;
  useEffect(() => {
    if (chart.current && curve && chart.current.data.length === columns().length) chart.current.setData(columns());
    else draw();
  }, [curve, beside]);
  useScheme(draw);
  useEffect(() => {
    let last = 0;
    const seen = new ResizeObserver(() => {
      const width = box.current?.clientWidth;
      if (width && width !== last) { last = width; latest.current(); }
    });
    seen.observe(box.current);
    return () => { seen.disconnect(); chart.current?.destroy(); };
  }, [!curve]);
  const n = curve?.pages.length || 0;
  const rows = n ? [...new Set(Array.from({ length: Math.min(10, n) }, (_, i, k = Math.min(10, n)) => (k < 2 ? 0 : Math.round((i * (n - 1)) / (k - 1)))))] : [];
  return (
    <>
      <div ref={box} class="curve" role="img" aria-label={n ? `Relevant pages over pages fetched: ${curve.relevant[n - 1]} of ${curve.pages[n - 1]}; of the last 200, ${percent(curve.recent[n - 1])}.${beside ? ` ${name}: ${beside.relevant.at(-1) ?? 0} of ${beside.pages.at(-1) ?? 0}.` : ""}` : "No page yet."} />
      {n > 0 && (
        <details class="astable"><summary>As a table</summary>
          <div class="scroll" tabIndex={0} role="region" aria-label="The curve as a table"><table>
            <thead><tr><th class="n">Pages</th><th class="n">Relevant</th><th class="n">Of the last 200</th>{beside && <th class="n">Relevant, {name}</th>}<th>Until</th></tr></thead>
            <tbody>{rows.map((i) => <tr key={i}><td class="n">{number(curve.pages[i])}</td><td class="n">{number(curve.relevant[i])}</td><td class="n">{percent(curve.recent[i])}</td>{beside && <td class="n">{at(beside, curve.pages[i]) === null ? "–" : number(Math.round(at(beside, curve.pages[i])))}</td>}<td>{moment(1000 * curve.at[i])}</td></tr>)}</tbody>
          </table></div>
        </details>
      )}
    </>
  );
}
