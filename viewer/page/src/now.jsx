import { useEffect, useState } from "preact/hooks";
import { get, query, useData, useSlow } from "./api.js";
import { Activity } from "./activity.jsx";
import { Area } from "./area.jsx";
import { Curve } from "./curve.jsx";
import { count, decimal, moment, number, percent, priority, size, span } from "./format.js";
import { go, to } from "./route.js";
import { Workers } from "./workers.jsx";

// Now shows how the crawl goes.
export function Now({ at, state }) {
  const f = state.figures;
  const stamp = useSlow(state.revision, state.reading < 1 ? 3000 : 2000);
  const base = `crawls/${at.crawl}/`;
  const curve = useData(base + "curve?points=400", stamp);
  const failures = useData(base + "failures", stamp);
  const frontier = useData(base + "frontier?bins=24", stamp);
  const areas = useData(base + "hosts?order=pages&n=80", stamp);
  return (
    <div class="screen now">
      <h1 class="hidden">How the crawl goes</h1>
      <Figures f={f} crawl={at.crawl} />
      {f.doubts?.length > 0 && <div class="notice"><strong>{f.doubts_at && f.doubts_at < f.pages ? `The judge had doubts after ${count(f.doubts_at, "page")}:` : "The judge has doubts:"}</strong><ul class="plain">{f.doubts.map((d) => <li key={d}>{d}</li>)}</ul></div>}
      {state.workers > 0 && <Workers crawl={at.crawl} stamp={stamp} now={state.now} />}
      <section class="card wide" aria-labelledby="harvest-title">
        <h2 id="harvest-title">Harvest</h2>
        {f.pages ? <Harvest crawl={at.crawl} figures={f} curve={curve.data} /> : <p class="soft">{f.ended ? "The crawl ended without a page. What did not come, and why, stands below." : "The first page has not come yet."}</p>}
      </section>
      <section class="card" aria-labelledby="map-title">
        <h2 id="map-title">Hosts, as a map</h2>
        {areas.data?.hosts.some((h) => h.pages) ? <Area hosts={areas.data.hosts} crawl={at.crawl} /> : <p class="soft">{f.ended ? "No host gave a page." : "No host has given a page yet."}</p>}
      </section>
      {state.activity && <Activity of={state.activity} />}
      <Frontier frontier={frontier.data} waiting={f.waiting} wide={!!state.activity} />
      <Hosts crawl={at.crawl} stamp={stamp} />
      <Failures failures={failures.data} figures={f} crawl={at.crawl} />
    </div>
  );
}

// Harvest draws the curve, beside that of breadth-first in a lab where that is known, or that of another crawl which
// is shown here: one of the same name, judge and threshold that was breadth-first, such as that of waggle demo, unless
// another is chosen.
function Harvest({ crawl, figures, curve }) {
  const [others, setOthers] = useState([]);
  const [chosen, choose] = useState(null); // null = nobody has chosen
  useEffect(() => {
    get("crawls").then((list) => setOthers(list.filter((c) => c.id !== crawl && c.figures.pages)), () => setOthers([]));
  }, [crawl]);
  const alike = ["name", "judge", "threshold"];
  const plain = figures.scorer !== "breadth-first" && others.find((c) => c.figures.scorer === "breadth-first" && alike.every((k) => c.figures[k] === figures[k]));
  const lab = useData(`crawls/${crawl}/lab`).data;
  const known = lab?.pages.length > 0;
  const id = chosen ?? (plain ? plain.id : known ? "lab" : "");
  const other = others.find((c) => c.id === id);
  const data = useData(other ? `crawls/${id}/curve?points=400` : null).data;
  const beside = id === "lab" ? lab : other && data;
  const name = id === "lab" ? "breadth-first in the lab" : other ? other.figures.scorer || other.dir : "";
  return (
    <>
      {(others.length > 0 || known) && (
        <label class="beside">Beside <select value={id} onChange={(e) => choose(e.target.value)}>
          <option value="">no other crawl</option>
          {known && <option value="lab">breadth-first in the lab: {lab.web}</option>}
          {others.map((c) => <option key={c.id} value={c.id}>{c.figures.scorer}: {c.figures.name || c.dir} – {c.dir}</option>)}
        </select></label>
      )}
      <Curve key={id} curve={curve} beside={beside} name={name} />
      {id === "lab" && known && <p class="soft">The lab counts pages that its truth calls relevant (mean of {count(lab.crawls, "crawl", "crawls")}), this crawl those that its judge does.</p>}
      {lab?.why && <p class="soft">Nothing to compare with: {lab.why}.</p>}
    </>
  );
}

function Figures({ f, crawl }) {
  const share = f.budget ? Math.min(1, f.pages / f.budget) : 0;
  return (
    <dl class="figures">
      <div class="main"><dt>Relevant pages</dt><dd>{number(f.relevant)}</dd><dd class="note">{f.judge && <>relevance {decimal(f.threshold)} or more, by the judge {f.judge}</>}</dd></div>
      <div><dt>Pages fetched</dt><dd>{number(f.pages)}</dd><dd class="note">{f.budget && f.pages > f.budget ? `${number(f.pages - f.budget)} more than the budget, ${number(f.budget)}` : f.budget ? <>of {number(f.budget)}<progress value={share} max="1" aria-label="Part of the budget that is spent" /></> : "no limit"}</dd></div>
      <div><dt>Harvest</dt><dd>{f.pages ? percent(f.harvest) : "–"}</dd><dd class="note">{f.pages ? `of the last 200: ${percent(f.recent)}` : "relevant pages of those fetched"}</dd></div>
      {f.next && <div><dt>Among the next 100</dt><dd>about {f.next.mean < 10 ? Math.floor(10 * f.next.mean) / 10 : Math.floor(f.next.mean)}</dd><dd class="note">{f.next.low} to {f.next.high} in nine crawls of ten</dd></div>}
      {f.next?.least > 0 && <div><dt>Still in reach</dt><dd>at least {number(f.next.least)}</dd><dd class="note">relevant pages, in nineteen crawls of twenty</dd></div>}
      <div><dt>Links that wait</dt><dd>{number(f.waiting)}</dd><dd class="note">{number(f.queued)} {f.queued === 1 ? "was" : "were"} queued{f.muted > 0 && <>; {number(f.muted)} set aside by mutes, which <a href={to(crawl, "steer")}>Steer</a> can undo</>}</dd></div>
      <div><dt>Hosts</dt><dd>{number(f.hosts)}</dd><dd class="note">gave a page; {number(f.known)} {f.known === 1 ? "is" : "are"} known</dd></div>
      <div><dt>Speed</dt><dd>{f.speed.toFixed(f.speed < 10 ? 2 : 1)}<small> pages/s</small></dd><dd class="note">over the last minute; {span(f.elapsed)}, {f.workers === 1 ? "one fetch" : `${f.workers} fetches`} at a time</dd></div>
      <div><dt>Received</dt><dd>{size(f.bytes)}</dd><dd class="note">{count(f.requests, "request")}, {number(f.failed)} failed{f.unrecorded ? `, ${number(f.unrecorded)} not in the record` : ""}</dd></div>
    </dl>
  );
}

const columns = [
  ["host", "Host", (h) => h.host],
  ["relevant", "Relevant", (h) => number(h.relevant)],
  ["pages", "Pages", (h) => number(h.pages)],
  ["rate", "Harvest", (h) => (h.pages ? percent(h.relevant / h.pages) : "–")],
  ["waiting", "Waiting", (h) => number(h.waiting)],
  ["failed", "Failed", (h) => number(h.failed)],
  ["bytes", "Received", (h) => size(h.bytes)],
  ["took", "A page takes", (h) => (h.took ? h.took.toFixed(2) + " s" : "–")],
];

const perPage = 12;

function Hosts({ crawl, stamp }) {
  const [order, setOrder] = useState("relevant");
  const [from, setFrom] = useState(0);
  const [holds, setHolds] = useState("");
  const { data } = useData(`crawls/${crawl}/hosts` + query({ order, holds, from, n: perPage }), stamp);
  const all = data?.all || 0;
  return (
    <section class="card wide" aria-labelledby="hosts-title">
      <div class="bar">
        <h2 id="hosts-title">Hosts</h2>
        <input type="search" placeholder="Name holds …" aria-label="Hosts whose name holds" value={holds} onInput={(e) => { setHolds(e.target.value); setFrom(0); }} />
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="hosts-title"><table class="hosts">
        <thead><tr>{columns.map(([key, name]) => (
          <th key={key} class={key === "host" ? "" : "n"} aria-sort={key === order ? (key === "host" ? "ascending" : "descending") : undefined}>
            <button type="button" class="sort" onClick={() => { setOrder(key); setFrom(0); }}>{name}{key === order && <span aria-hidden="true"> ↓</span>}</button>
          </th>
        ))}</tr></thead>
        <tbody>{data?.hosts.map((h) => (
          <tr key={h.host}>{columns.map(([key, name, show]) => (
            <td key={key} class={key === "host" ? "text" : "n"} data-name={key === "host" ? undefined : name}>{key === "host" ? <><a href={to(crawl, "pages", { host: h.host })}>{h.host}</a>{h.down && <em class="down"> does not answer</em>} <a class="soft" href={to(crawl, "steer", { place: h.host })} aria-label={`steer ${h.host}`} title="mute or boost it">steer</a></> : show(h)}</td>
          ))}</tr>
        ))}</tbody>
      </table></div>
      <Pager from={from} n={perPage} all={all} set={setFrom} what="host" />
    </section>
  );
}

// Pager goes through a long list.
export function Pager({ from, n, all, more = from + n < all, note = "", set, what }) {
  if (!more && from === 0) return <p class="pager soft">{count(all, what)}{note}</p>;
  return (
    <p class="pager">
      <button type="button" disabled={from === 0} onClick={() => set(Math.max(0, from - n))}>Previous</button>
      <span>{number(Math.min(from + 1, all))} to {number(Math.min(from + n, all))} of {count(all, what)}{note}</span>
      <button type="button" disabled={!more} onClick={() => set(from + n)}>Next</button>
    </p>
  );
}

// Frontier shows the links that wait. It is wide where it would stand alone in its row.
function Frontier({ frontier, waiting, wide }) {
  const card = wide ? "card wide" : "card";
  if (!frontier) return <section class={card} aria-busy="true"><h2>Links that wait</h2></section>;
  const most = Math.max(1, ...frontier.bins.map((b) => b.count));
  const hosts = frontier.hosts.filter((h) => h.waiting > 0);
  const mostHost = Math.max(1, ...hosts.map((h) => h.waiting));
  return (
    <section class={card} aria-labelledby="frontier-title">
      <h2 id="frontier-title">Links that wait</h2>
      {waiting === 0 ? <p class="soft">No link waits.</p> : (
        <div class="twin">
          <div>
            <h3>By priority, as they were found</h3>
            {frontier.bins.length > 0 && <div class="bins" role="img" aria-label={`${count(waiting - frontier.boosted - frontier.seeds, "link")} wait, with priorities from ${priority(frontier.bins[0].from)} to ${priority(frontier.bins.at(-1).to)}.`}>
              {frontier.bins.map((b) => (
                <div key={b.from} class="bin" title={`${count(b.count, "link")} of priority ${priority(b.from)} to ${priority(b.to)}`}><i style={{ height: (100 * b.count) / most + "%" }} /></div>
              ))}
            </div>}
            {frontier.bins.length > 0 && <p class="scale"><span>{priority(frontier.bins[0].from)}</span><span>later ← → sooner</span><span>{priority(frontier.bins.at(-1).to)}</span></p>}
            {frontier.boosted > 0 && <p class="soft">And {count(frontier.boosted, "boosted link")}, before all others.</p>}
            {frontier.seeds > 0 && <p class="soft">And {count(frontier.seeds, "seed")}, before all others.</p>}
          </div>
          <div>
            <h3>By host</h3>
            <ul class="bars">{hosts.map((h) => <li key={h.host}><span class="label" title={h.host}>{h.host}</span><span class="track"><i style={{ width: (100 * h.waiting) / mostHost + "%" }} /></span><span class="n">{number(h.waiting)}</span></li>)}</ul>
          </div>
        </div>
      )}
    </section>
  );
}

function Failures({ failures, figures, crawl }) {
  const lists = failures ? [["Fetches that brought no page", failures.failed], ["Links that were not queued", failures.skipped]] : [];
  return (
    <section class="card wide" aria-labelledby="failures-title">
      <h2 id="failures-title">What did not come</h2>
      {figures.logins > 0 && <p>{count(figures.logins, "page")} {figures.logins_help}.</p>}
      <div class="twin">{lists.map(([title, causes]) => (
        <div key={title}>
          <h3>{title}</h3>
          {causes.length === 0 && <p class="soft">None.</p>}
          {causes.map((c) => (
            <details key={c.reason} class="cause">
              <summary><span class="n">{number(c.count)}</span><span>{c.brief}</span></summary>
              <p class="soft">Why: {c.meaning}. The last of them:</p>
              <ul class="plain">{c.examples.map((x) => (
                <li key={x.url + x.at}><bdi class="address">{x.url}</bdi>{x.detail && <span class="soft"> {x.detail}</span>}
                  {x.from && <span class="soft"> found on <a href={to(crawl, "page", { url: x.from })}><bdi class="address">{x.from}</bdi></a></span>}
                  <span class="soft"> {moment(x.at)}</span></li>
              ))}</ul>
            </details>
          ))}
        </div>
      ))}</div>
    </section>
  );
}
