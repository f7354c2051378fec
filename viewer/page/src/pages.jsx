import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { post, query, useData, useSlow } from "./api.js";
import { count, decimal, moment, number, percent, quoted, size } from "./format.js";
import { Pager } from "./now.jsx";
import { go, read, to } from "./route.js";
import { tellPerson, useLabels } from "./steer.jsx";

const perPage = 50;

// Pages lists the pages of a crawl; what is chosen stands in the address.
export function Pages({ at, state }) {
  const p = at.params;
  const present = useSlow(state.revision, 5000);
  const [held, hold] = useState(null); // the list as it was when one of its rows was selected, which keeps it
  const stamp = held ? held.stamp : present;
  const newer = held ? state.figures.pages - held.pages : 0;
  const [said, setSaid] = useState({}); // labels that were given on a list that is held
  const release = () => { hold(null); setSaid({}); };
  const set = (change) => {
    const { focus, ...kept } = p;
    go(at.crawl, "pages", { ...kept, from: "", ...change }, true);
  };
  const choices = useData(`crawls/${at.crawl}/choices`, useSlow(state.revision, 20000));
  const { index } = state;
  const searching = index.there && !!(p.text || p.copies);
  const order = p.order || (searching ? "match" : "fetched");
  const down = p.down !== undefined ? p.down === "1" : order !== "match";
  const fold = p.fold !== "0" && !p.copies;
  const moments = { since: instant(p.since), until: instant(p.until) };
  const { data, error, old } = useData(`crawls/${at.crawl}/pages` + query({
    text: p.text, host: p.host, verdict: p.verdict, language: p.language, type: p.type, least: p.least, copies: p.copies, fold, ...moments, order, down, from: p.from, n: perPage,
  }), stamp);
  const search = useRef();
  useLayoutEffect(() => { if (p.focus) search.current?.focus(); }, [p.focus]); // before anything is typed
  useEffect(() => { if (search.current && document.activeElement !== search.current) search.current.value = p.text || ""; }, [p.text]);
  const typed = useRef(0);
  useEffect(() => () => clearTimeout(typed.current), []); // who has left is not brought back
  const later = (change) => { clearTimeout(typed.current); typed.current = setTimeout(() => { if (read(location.hash).screen === "pages") set(change); }, 150); }; // not where another screen was just chosen
  const table = useRows((row) => row.querySelector("a")?.click());
  useLabels(at.crawl, focused, (url, label) => setSaid((was) => ({ ...was, [url]: label })), state.closed);
  const leave = (e) => { // from the words to the rows, or to nothing
    if (e.isComposing) return;
    const row = (e.key === "Enter" || e.key === "ArrowDown") && table.current?.querySelector("tbody tr a");
    if (row) { e.preventDefault(); row.focus(); row.scrollIntoView({ block: "nearest" }); }
    if (e.key === "Escape" && !e.target.value) e.target.blur();
  };
  const select = (name, label, list) => (
    <label>{label}<select value={p[name] || ""} onChange={(e) => set({ [name]: e.target.value })}>
      <option value="">any</option>
      {p[name] && !list.some(([v]) => v === p[name]) && <option value={p[name]}>{p[name]}</option>}
      {list.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
    </select></label>
  );
  const [unfolded, unfold] = useState(false); // in a narrow window
  const narrowed = ["host", "verdict", "language", "type", "least", "since", "until"].filter((k) => p[k]).length;
  const chosen = ["text", "host", "verdict", "language", "type", "least", "since", "until", "copies"].some((k) => p[k]);
  return (
    <div class="screen">
      <h1 class="hidden">Pages</h1>
      <form class="filters card" role="search" onSubmit={(e) => e.preventDefault()}>
        <label class="grow">{index.there ? "Words of the page" : "Title or address holds"}<input id="search" ref={search} type="search" defaultValue={p.text} placeholder={index.there ? 'dance "honey bee" -robot' : ""} onInput={(e) => later({ text: e.target.value })} onKeyDown={leave} /></label>
        <button type="button" class="unfold" aria-expanded={unfolded} onClick={() => unfold(!unfolded)}>{unfolded ? "Fewer filters" : narrowed ? `Filters (${narrowed})` : "More filters"}</button>
        <div class={"further" + (unfolded ? " open" : "")}>
        {select("verdict", "Verdict", [["relevant", "relevant"], ["other", "not relevant"], ["left-out", "copies and not to be kept"]])}
        <label>Relevance from<input type="number" min="0" max="1" step="0.05" defaultValue={p.least} onInput={(e) => later({ least: e.target.value })} /></label>
        <label>Host<input type="text" value={p.host || ""} placeholder="any" onChange={(e) => set({ host: e.target.value.trim() })} /></label>
        {select("language", "Language", (choices.data?.languages || []).map((c) => [c.word, `${c.word} (${number(c.pages)})`]))}
        {select("type", "Type", (choices.data?.types || []).map((c) => [c.word, `${c.word} (${number(c.pages)})`]))}
        <label class="time">Fetched since<input type="datetime-local" value={p.since || ""} onChange={(e) => set({ since: e.target.value })} /></label>
        <label class="time">until<input type="datetime-local" value={p.until || ""} onChange={(e) => set({ until: e.target.value })} /></label>
        <label>Order<select value={order + (down ? "-down" : "")} onChange={(e) => set({ order: e.target.value.replace("-down", ""), down: e.target.value.endsWith("-down") ? "1" : "0" })}>
          {(searching || order === "match") && <option value="match">best match first</option>}
          <option value="fetched-down">latest first</option><option value="fetched">as fetched</option><option value="relevance-down">most relevant first</option>
          <option value="relevance">least relevant first</option><option value="similarity-down">most similar first</option><option value="host">by host</option><option value="address">by address</option><option value="bytes-down">largest first</option><option value="took-down">slowest first</option><option value="depth">nearest to a seed first</option>
        </select></label>
        </div>
        {!p.copies && <label class="check"><input type="checkbox" checked={fold} onChange={(e) => set({ fold: e.target.checked ? "" : "0" })} />Fold near-copies</label>}
        {chosen && <button type="button" onClick={(e) => { e.target.form.reset(); go(at.crawl, "pages", {}, true); }}>All pages</button>}
        <IndexLine index={index} dir={state.dir} crawl={at.crawl} />
      </form>
      {p.copies && <p class="notice">Near-copies of <a href={to(at.crawl, "page", { url: p.copies })}><bdi>{p.copies}</bdi></a>, itself among them.</p>}
      {data?.matches > 10000 && <p class="notice">{number(data.matches)} pages match. The best 10,000 of them are looked at: another word makes them fewer.</p>}
      {error && <p class="notice" role="alert">{error}</p>}
      <section class="card" aria-label="Pages" aria-busy={old} onFocusOut={(e) => { if (document.activeElement !== e.target && !e.currentTarget.contains(e.relatedTarget)) release(); /* not where the window lost it */ }}>
        {newer > 0 && <p class="newer soft bar" role="status"><span>{count(newer, "newer page")}; the list stands still while a row is selected.</span>
          <button type="button" onClick={(e) => { release(); e.currentTarget.closest("section").querySelector(".scroll").focus(); }}>Show them</button></p>}
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of pages"><table class="pages" ref={table}>
          <thead><tr><th class="rel">Relevance</th><th>Page</th><th>Host</th><th>Language</th><th class="n">Size</th><th class="n">Depth</th><th>Fetched</th></tr></thead>
          <tbody onFocusIn={() => hold((was) => was || { stamp: present, pages: state.figures.pages })}>{data?.pages.map((x) => (said[x.url] ? { ...x, label: said[x.url], relevant: said[x.url] !== "irrelevant" } : x)).map((x) => (
            <tr key={x.number} class={x.relevant ? "yes" : ""} data-url={x.url}>
              <td class="rel"><Relevance of={x} /></td>
              <td class="title"><a href={to(at.crawl, "page", { url: x.url })}><bdi>{x.marked ? <Marked spans={x.marked} /> : x.title || "(no title)"}</bdi></a><bdi class="address">{x.url}</bdi>
                {x.snippet && <bdi class="snippet"><Marked spans={x.snippet} /></bdi>}
                {x.copies > 0 && !p.copies && <a class="copies" href={to(at.crawl, "pages", { copies: x.url })}>{count(x.copies, "near-copy", "near-copies")}</a>}</td>
              <td class="text" title={x.host}>{x.host}</td><td>{x.language || "–"}</td><td class="n">{size(x.bytes)}</td><td class="n">{x.depth}</td><td class="time">{moment(x.at)}</td>
            </tr>
          ))}</tbody>
        </table></div>
        {data && data.all === 0 && <p class="soft empty">{chosen ? "No page is like that." : "No page has been fetched yet."}</p>}
        {data && <Pager from={Number(p.from || 0)} n={perPage} all={data.all} more={data.more} note={fold ? ", near-copies folded" : ""} set={(from) => { go(at.crawl, "pages", { ...p, focus: "", from: from || "" }); }} what="page" />}
      </section>
    </div>
  );
}

// focused is the address of the page in whose row the focus is.
const focused = () => document.activeElement?.closest?.("tr[data-url]")?.dataset.url;

// Marked is text of a page with the words that were looked for marked. It is never markup.
function Marked({ spans }) {
  return spans.map((s, i) => (s.marked ? <mark key={i}>{s.text}</mark> : s.text));
}

// IndexLine says how the index comes to be, or how far it is.
function IndexLine({ index, dir, crawl }) {
  const [asked, setAsked] = useState(false);
  const make = () => { setAsked(true); post(`crawls/${crawl}/index`, {}).catch((err) => { setAsked(false); tellPerson(err.message, true); }); };
  const far = index.pages ? `${number(index.indexed)} of ${count(index.pages, "page")}` : "";
  if (index.making && index.there && index.pages > 0 && index.indexed >= index.pages) return <p class="index soft" role="status">The index has all {count(index.pages, "page")} so far, and grows with the crawl.</p>;
  if (index.making) return <p class="index soft" role="status">The index is being made{far && `: ${far}`}.{!index.there && " Until then titles and addresses are searched."}</p>;
  if (index.there) return index.error ? <p class="index soft" role="status">The index is not whole: {index.error}</p> : null;
  if (index.closed) return (
    <p class="index soft" role="status">Titles and addresses are searched. To search the text of pages too an index is needed, and none can be made here: {index.closed}. Open a copy of the crawl, or open it as a user who may. Or in a shell: <code>waggle index {quoted(dir)} --index FOLDER</code>, then <code>waggle search {quoted(dir)} --index FOLDER WORDS</code></p>
  );
  return (
    <p class="index soft" role="status">{index.error ? `The index: ${index.error} ` : "Titles and addresses are searched; with an index, the text of pages too. "}
      <button type="button" disabled={asked && !index.error} onClick={make}>Make the index</button> or in a shell: <code>waggle index {quoted(dir)}</code></p>
  );
}

// instant is what a field of date and time holds, as the server reads it.
function instant(local) {
  const t = local ? new Date(local) : NaN;
  return isNaN(t) ? "" : t.toISOString();
}

// Relevance of a page as a bar and a number, which text writes where it is given.
export function Relevance({ of, text }) {
  return (
    <span class={"relevance" + (of.relevant ? " yes" : "")} title={of.brief ? `no harvest: ${of.brief}` : of.relevant ? "relevant" : "not relevant"}>
      <span class="track" aria-hidden="true"><i style={{ width: 100 * Math.min(1, Math.max(0, of.relevance)) + "%" }} /></span>
      <span>{text || decimal(of.relevance)}</span><span class="hidden">{of.relevant ? "relevant" : "not relevant"}</span>
      {of.label && <em>{labelled(of)}</em>}
      {of.brief && <em>{of.brief}</em>}
    </span>
  );
}

// labelled says that a person decided, and not the judge.
export const labelled = (of) => ({ relevant: "called relevant by a person", irrelevant: "called not relevant by a person", more: "a person wants more like it" })[of.label];

// useRows lets J and K go through the rows of a table, and Enter open one.
export function useRows(open) {
  const table = useRef();
  useEffect(() => {
    const press = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
      const step = { j: 1, k: -1 }[e.key.toLowerCase()];
      if (!step || !table.current) return;
      const links = [...table.current.querySelectorAll("tbody tr a")];
      const i = links.indexOf(document.activeElement);
      const next = links[i < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, i + step))];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return table;
}
