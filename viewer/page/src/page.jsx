import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, post, query, useData, useSlow } from "./api.js";
import { apart, count, decimal, moment, number, priority, size } from "./format.js";
import { labelled, Relevance } from "./pages.jsx";
import { to } from "./route.js";
import { Labels, say, useLabels } from "./steer.jsx";

// textStep is how much of a text is shown, in characters, and how much more at a time: a browser lays a
// million out for seconds.
const textStep = 50000;

// Page shows one page: as archived, its text, the way to it, and its links. titled hears its title.
export function Page({ at, state, titled }) {
  const url = at.params.url || "";
  const { data: p, error, old } = useData(`crawls/${at.crawl}/page` + query({ url }), useSlow(state.revision, 1000));
  const [taken, setTaken] = useState(0); // grows when other fields were taken
  const [most, setMost] = useState(textStep); // characters of its text
  const body = useData(`crawls/${at.crawl}/body` + query({ url, text: most }), taken);
  const last = useRef(); // more of the text is awaited with what there is
  const b = body.old ? (last.current?.url === url ? last.current.body : undefined) : body.data;
  last.current = { url, body: b };
  useEffect(() => setMost(textStep), [url]);
  useEffect(() => { if (p && !old) titled(p.title || p.url); }, [p?.title, p?.url, old]);
  const [said, setSaid] = useState(0); // grows with each label that is given here
  const again = useCallback(() => setSaid((n) => n + 1), []);
  const waits = useWaitingLabel(at.crawl, p?.url, `${state.revision} ${said}`);
  useLabels(at.crawl, useCallback(() => p?.url, [p?.url]), again, state.closed);
  if (error) return <section class="card"><h1>This page is not here</h1><p><bdi class="address">{url}</bdi></p><p class="soft">{error}</p><Why crawl={at.crawl} url={url} key={url} /></section>;
  if (!p || old) return <section class="card" aria-busy="true"><p class="soft">Looking it up in the log …</p></section>;
  const [relevance, threshold] = apart(p.relevance, p.threshold);
  const wishes = Object.entries({ noindex: "not to be kept", nofollow: "not to be followed", noarchive: "not to be archived", noai: "not for AI", noimageai: "no image for AI", tdm_reservation: "text and data mining reserved" }).filter(([k]) => p.directives[k]).map(([, v]) => v);
  return (
    <div class="screen page" key={url}>
      <section class="card head">
        <h1><bdi>{p.title || "(no title)"}</bdi></h1>
        <p class="copyable"><bdi class="address">{p.url}</bdi><Copy text={p.url} /></p>
        <p><Relevance of={p} text={relevance} /> <span class="soft">{!p.label && (p.relevant ? "relevant; " : p.brief ? "no harvest; " : "not relevant; ")}relevant from {threshold} on</span></p>
        <Labels crawl={at.crawl} url={p.url} done={again} closed={state.closed} />
        {p.label && <p class="bar take labelled"><span>{labelled(p)[0].toUpperCase() + labelled(p).slice(1)}, by act {p.act}.</span><button type="button" disabled={!!state.closed} onClick={() => say(at.crawl, { do: "undo", act: p.act }).then(again)}>Undo</button></p>}
        {waits && <p class="bar take labelled" role="status"><span>{labelled({ label: waits.do })[0].toUpperCase() + labelled({ label: waits.do }).slice(1)}{waits.number > 0 && `, by act ${waits.number}`}: it waits until the crawl {state.running ? "takes it in" : "goes on"}.</span>{waits.number > 0 && <button type="button" disabled={!!state.closed} onClick={() => say(at.crawl, { do: "undo", act: waits.number }).then(again)}>Undo</button>}</p>}
        <dl class="facts">
          <div><dt>Fetched</dt><dd>{moment(p.at)}</dd></div>
          <div><dt>Page</dt><dd>{number(p.number)} of the crawl</dd></div>
          <div><dt>From a seed</dt><dd>{count(p.depth, "link")}</dd></div>
          <div><dt>Status</dt><dd>{p.status}</dd></div>
          <div><dt>Type</dt><dd>{p.mime}</dd></div>
          <div><dt>Language</dt><dd>{p.language || "not known"}</dd></div>
          <div><dt>Size</dt><dd>{size(p.bytes)}{p.cut_by && `; its end is missing: ${p.cut_by}`}</dd></div>
          <div><dt>Took</dt><dd>{p.took.toFixed(2)} s</dd></div>
          {wishes.length > 0 && <div><dt>Wishes</dt><dd>{wishes.join(", ")}{p.directives.tdm_policy && <>; its terms: <bdi class="terms">{p.directives.tdm_policy}</bdi></>}</dd></div>}
        </dl>
      </section>
      <div class="column">
        <Body p={b} error={body.error} more={() => setMost((n) => n + textStep)} />
        <Fields p={b} crawl={at.crawl} taken={() => setTaken((n) => n + 1)} />
        <LinkList p={b} crawl={at.crawl} />
      </div>
      <div class="column">
        <Way p={p} crawl={at.crawl} />
        <section class="card"><h2>Why</h2><Why crawl={at.crawl} url={url} /></section>
        {b?.headers?.length > 0 && (
          <section class="card"><h2>What the server said</h2>
            <details><summary>{b.proto}, {count(b.headers.length, "line")}</summary>
              <div class="scroll" tabIndex={0} role="region" aria-label="Headers"><table class="headers"><tbody>{b.headers.map(([k, v], i) => <tr key={i}><th scope="row">{k}</th><td>{v}</td></tr>)}</tbody></table></div>
            </details>
          </section>
        )}
      </div>
    </div>
  );
}

// useWaitingLabel is the last label of a page that the crawl has not taken in, undefined where there is none.
function useWaitingLabel(crawl, url, stamp) {
  const { data } = useData(`crawls/${crawl}/acts`, useSlow(stamp, 1000));
  return data?.acts.findLast((a) => !a.at && !a.undone && !a.refused && a.url === url && ["relevant", "irrelevant", "more"].includes(a.do));
}

function Copy({ text }) {
  const [done, set] = useState(false);
  return <button type="button" class="quiet" onClick={() => navigator.clipboard?.writeText(text).then(() => { set(true); setTimeout(() => set(false), 1500); })}>{done ? "Copied" : "Copy"}</button>;
}

// Body is the page as text or as archived.
function Body({ p, error, more }) {
  const [mode, set] = useState("text");
  if (!p) return <section class="card body" aria-busy={!error}><h2>The page</h2><p class="soft">{error || "Looking it up in the archive …"}</p></section>;
  return (
    <section class="card body" aria-label="The page">
      <div class="bar">
        <h2>The page</h2>
        <div class="switch" role="group" aria-label="How it is shown">
          <button type="button" aria-pressed={mode === "text"} onClick={() => set("text")}>Text</button>
          <button type="button" aria-pressed={mode === "archived"} disabled={!p.archived} onClick={() => set("archived")}>As archived</button>
        </div>
      </div>
      {!p.archived && <p class="soft">The archive does not give it: {p.missing}</p>}
      {mode === "archived" && p.src ? (
        <>
          <p class="soft">Without scripts, and with nothing loaded from elsewhere. Pictures and style sheets are shown where the archive holds them.</p>
          <iframe class="shown" src={p.src} sandbox="" title="The page as archived" referrerpolicy="no-referrer" />
        </>
      ) : (
        <div class="parts" tabIndex={0} aria-label="Text of the page">
          {(p.parts || []).map((x, i) => <p key={i} class={x.main ? "" : "aside"} dir="auto">{x.text}</p>)}
          {p.rest > 0 && <p class="soft">The text goes on for {count(p.rest, "character")}. <button type="button" onClick={more}>Show {number(Math.min(p.rest, textStep))} more</button></p>}
          {p.archived && !p.parts?.length && <p class="soft">It has no text.</p>}
        </div>
      )}
    </section>
  );
}

// Fields are the values of the fields that a person wants of the pages.
function Fields({ p, crawl, taken }) {
  if (!p?.archived) return null;
  return (
    <section class="card" aria-labelledby="fields-title">
      <h2 id="fields-title">Fields</h2>
      {p.fields && <p class="notice">They give no values: {p.fields}</p>}
      {p.values?.length > 0 && <div class="scroll values" tabIndex={0} role="region" aria-label="Values of the fields"><table class="headers"><tbody>{p.values.map((f) => (
        <tr key={f.field}><th scope="row">{f.field}</th><td>{f.values.length === 0 ? <span class="soft">none</span> : f.values.length === 1 ? <bdi>{f.values[0]}</bdi> : <ul class="plain">{f.values.map((v, i) => <li key={i}><bdi>{v}</bdi></li>)}</ul>}</td></tr>
      ))}</tbody></table></div>}
      <OtherFields crawl={crawl} some={p.values?.length > 0} taken={taken} />
    </section>
  );
}

const fieldsExample = `fields:
  - {name: heading, css: h1}
  - {name: links, many: true, css: a, take: "@href"}`;

// OtherFields takes a file of fields that is pasted.
function OtherFields({ crawl, some, taken }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState(null); // null: as it is
  const [told, tell] = useState({ n: 0, error: "" });
  const { data, error } = useData(open ? `crawls/${crawl}/fields` : null, told.n);
  const take = (text) => post(`crawls/${crawl}/fields`, { text }).then(
    () => { setText(null); tell((was) => ({ n: was.n + 1, error: "" })); taken(); },
    (err) => tell((was) => ({ ...was, error: err.message })),
  );
  return (
    <details class="more" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{some ? "Other fields" : "Values of fields, such as the first heading of each page"}</summary>
      {open && <form onSubmit={(e) => { e.preventDefault(); take(text ?? data?.text ?? ""); }}>
        <label class="pasted">A file of fields, as <code>waggle extract table --help</code> describes it and <code>waggle extract learn</code> writes it. It is used for all pages of the crawl and in exported tables of pages until waggle ends.
          <textarea rows={8} spellcheck={false} autocapitalize="off" placeholder={fieldsExample} value={text ?? data?.text ?? ""} onInput={(e) => setText(e.target.value)} /></label>
        <div class="bar take"><button>Show their values</button>{data?.given && <button type="button" onClick={() => take("")}>Those of the folder again</button>}</div>
        {(told.error || error) && <p class="notice" role="alert">{told.error || error}</p>}
      </form>}
    </details>
  );
}

// Way draws the path to the page.
function Way({ p, crawl }) {
  const [whole, setWhole] = useState(false);
  // Of a long way the beginning and the end are shown.
  const cut = whole || p.way.length <= 14 ? 0 : p.way.length - 12;
  return (
    <section class="card" aria-labelledby="way-title">
      <h2 id="way-title">The way to it</h2>
      <ol class="way">
        {p.way.map((s, i) => (i >= 4 && i < 4 + cut ? i === 4 && <li key="cut" class="redirect"><button type="button" onClick={() => setWhole(true)}>{count(cut, "step")} between</button></li> : (
          <li key={s.url} class={s.relevant ? "yes" : s.page ? "" : "redirect"}>
            {i > 0 && <p class="step">{p.way[i - 1].failed ? "asked for by http instead" : s.link === "redirect" ? "moved to" : <>{s.meaning}{s.anchor?.trim() && <> <q><bdi>{s.anchor}</bdi></q></>}</>}{s.queued !== undefined && <>, priority {priority(s.queued)}</>}{s.leased < 1e29 && (s.queued === undefined || priority(s.leased) !== priority(s.queued)) && <> ({priority(s.leased)} when it was taken)</>}</p>}
            {i === 0 && <p class="step">{s.link === "seed" || !s.link ? "seed" : s.link === "again" ? s.meaning : "the way before this is not in the log"}</p>}
            <p class="stop">
              {i < p.way.length - 1 && s.page ? <a href={to(crawl, "page", { url: s.url })}><bdi>{s.title || s.url}</bdi></a> : <strong><bdi>{s.title || s.url}</bdi></strong>}
              {s.page ? <Relevance of={s} /> : <span class="soft">{s.failed || "a redirect"}</span>}
            </p>
            <bdi class="address">{s.url}</bdi>
          </li>
        )))}
      </ol>
    </section>
  );
}

const fates = { fetched: "fetched", waiting: "waits", dropped: "left unfetched", failed: "failed", moved: "moved", skipped: "not queued", unseen: "never queued" };

// LinkList tells what became of the links of the page.
function LinkList({ p, crawl }) {
  const [only, set] = useState("");
  const [more, setMore] = useState(false);
  if (!p) return null;
  const counts = {};
  for (const l of p.links) counts[l.fate] = (counts[l.fate] || 0) + 1;
  const list = p.links.filter((l) => !only || l.fate === only);
  const shown = more ? list : list.slice(0, 25);
  return (
    <section class="card last" aria-labelledby="links-title">
      <h2 id="links-title">What it links to</h2>
      {p.links.length === 0 ? <p class="soft">Nothing.</p> : (
        <>
          <div class="switch" role="group" aria-label="Which links">
            <button type="button" aria-pressed={!only} onClick={() => set("")}>all {number(p.links.length)}</button>
            {Object.entries(counts).map(([f, n]) => <button key={f} type="button" aria-pressed={only === f} onClick={() => set(f)}>{fates[f] || f} {number(n)}</button>)}
          </div>
          <ul class="links">{shown.map((l) => (
            <li key={l.url}>
              <span class={"fate " + l.fate}>{fates[l.fate] || l.fate}</span>
              <span class="target">
                {l.fate === "fetched" ? <a href={to(crawl, "page", { url: l.url })}><bdi>{l.anchor || l.title || l.url}</bdi></a> : <bdi>{l.anchor || "(no text)"}</bdi>}
                <bdi class="address">{l.url}</bdi>
              </span>
              <span class="end">{l.fate === "fetched" ? <Relevance of={{ relevance: 0, relevant: false, ...l }} /> : l.brief ? <span class="soft">{l.brief}</span> : l.priority !== undefined ? <span class="soft">priority {priority(l.priority)}</span> : null}</span>
            </li>
          ))}</ul>
          {list.length > shown.length && <button type="button" onClick={() => setMore(true)}>Show all {number(list.length)}</button>}
          {p.more > 0 && <p class="soft">{count(p.more, "further link")} of the page are not listed.</p>}
        </>
      )}
    </section>
  );
}

// Why asks for what waggle explain tells.
function Why({ crawl, url }) {
  const [got, set] = useState(null);
  const ask = () => {
    set({ busy: true });
    get(`crawls/${crawl}/explain` + query({ url })).then(set, (err) => set({ error: err.message }));
  };
  if (!got) return <button type="button" onClick={ask}>Why was it fetched, or not?</button>;
  if (got.busy) return <p class="soft" role="status">Reading the log …</p>;
  if (got.error) return <p class="notice" role="alert">{got.error}</p>;
  return <>{got.doubts.map((d) => <p class="soft" key={d}>{d}</p>)}<pre class="file" tabIndex={0}>{got.text}</pre></>;
}
