import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { post, slowly } from "./api.js";
import { apart, count, decimal } from "./format.js";
import { tellPerson } from "./steer.jsx";

// kept is where the browser holds a draft until its tab is closed.
const kept = "waggle-draft";

const lists = new Set(["seeds", "topic.examples", "topic.negatives", "topic.keywords", "scope.include", "scope.exclude", "politeness.own-hosts"]);

// further are the settings that few need, with what they are called.
const further = {
  name: "Name", "judge.threshold": "Threshold", "scorer.name": "Order of links", "budget.until-gain": "Least gain", "scope.include": "Only addresses like", "scope.exclude": "No address like",
  "scope.max-depth": "Depth", "scope.max-host-pages": "Pages of a host", "fetch.workers": "Workers", "fetch.through": "Proxy", "politeness.own-hosts": "Your own hosts", "politeness.obey-rel-nofollow": "Obey rel=nofollow", "fetch.allow-private": "Private addresses",
};

// scorers are those that a beginner wants first.
const scorers = { waggle: "waggle: learns which links lead to relevant pages", "best-first": "best-first: links that look like the topic first", "breadth-first": "breadth-first: in the order in which they were found" };

function fresh(folder) {
  const blank = { values: { "budget.pages": "500" }, folder: folder || "", named: !!folder };
  try {
    const draft = JSON.parse(sessionStorage.getItem(kept));
    return { ...blank, ...draft, ...(folder && !draft?.named && { folder, named: true }) };
  } catch {
    return blank;
  }
}

// draftOf is what the server takes of a form.
function draftOf(form, files) {
  const values = {};
  for (const [path, text] of Object.entries(form.values)) {
    const all = lists.has(path) ? text.split(path === "topic.keywords" ? /[\n,]/ : /\n/).map((s) => s.trim()).filter(Boolean) : [text.trim()].filter(Boolean);
    if (all.length) values[path] = all;
  }
  return { folder: form.folder.trim(), values, files };
}

// folderOf makes the name of a folder of words.
const folderOf = (words) => words.split(/[\n,]/)[0].trim().toLowerCase().normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 40);

// Start prepares a crawl and begins it.
export function Start({ info, begun }) {
  const [form, setForm] = useState(() => fresh(info.folder));
  const [files, setFiles] = useState([]);
  const [asked, setAsked] = useState(false); // the person wanted to begin: all that is wrong is shown
  const [touched, setTouched] = useState({});
  const [checked, setChecked] = useState(null);
  const [busy, setBusy] = useState(""); // try, seeds or begin
  const [notes, setNotes] = useState([]);
  const [wrong, setWrong] = useState([]); // what the server said of what was wanted last
  const [wanted, setWanted] = useState(""); // that: try, seeds or begin
  const [tried, setTried] = useState(null);
  const stop = useRef(null);
  const draft = useMemo(() => draftOf(form, files), [form, files]);
  useEffect(() => { try { sessionStorage.setItem(kept, JSON.stringify(form)); } catch { /* it is only convenient */ } }, [form]);
  useEffect(() => {
    const over = new AbortController();
    const timer = setTimeout(() => post("start/check", draft, over.signal).then((got) => { if (!over.signal.aborted) setChecked(got); }, (err) => { if (err.name !== "AbortError") setChecked({ problems: [{ path: "", text: err.message }] }); }), 250);
    return () => { clearTimeout(timer); over.abort(); };
  }, [draft]);
  useEffect(() => () => stop.current?.abort(), []);
  const set = (path, text) => {
    setTouched((t) => ({ ...t, [path]: true }));
    setWrong([]);
    setForm((f) => {
      const next = { ...f, values: { ...f.values, [path]: text } };
      if (path === "topic.keywords" && !f.named) next.folder = folderOf(text);
      return next;
    });
  };
  const settings = Object.fromEntries(info.settings.map((s) => [s.path, s]));
  const problems = checked?.problems || [];
  const problem = (path) => (asked || touched[path] ? problems.find((p) => p.path === path || p.path.startsWith(path + "."))?.text : undefined);
  // run has the server do what takes time.
  const run = async (what, path, body, done) => {
    stop.current?.abort();
    const over = (stop.current = new AbortController());
    setBusy(what); setWanted(what); setNotes([]); setWrong([]);
    try {
      const got = await slowly(path, body, (note) => setNotes((n) => [...n.slice(-199), note]), over.signal);
      if (got.problems) setWrong(got.problems);
      else done(got);
    } catch (err) {
      if (err.name !== "AbortError") setWrong([{ path: "", text: err.message }]);
    }
    if (stop.current === over) setBusy("");
  };
  const attempt = () => run("try", "start/try", draft, (got) => setTried(got.tried));
  const begin = async (e) => {
    e.preventDefault();
    setAsked(true);
    const now = await post("start/check", draft).catch((err) => ({ problems: [{ path: "", text: err.message }] }));
    setChecked(now);
    if (now.problems.length) { setTimeout(() => document.querySelector(".problem")?.scrollIntoView({ block: "center" })); return; }
    run("begin", "start/begin", draft, (got) => { sessionStorage.removeItem(kept); begun(got.crawl); });
  };
  const text = (path, label, more = {}) => <Text key={path} of={settings[path]} label={label} value={form.values[path] || ""} set={(v) => set(path, v)} problem={problem(path)} {...more} />;
  const examples = (draft.values["topic.examples"]?.length || 0) + files.length;
  const working = <Working busy={busy} notes={notes} stop={() => { stop.current?.abort(); setBusy(""); }} />;
  return (
    <form class="screen start" onSubmit={begin} noValidate>
      {info.closed && <p class="notice" id="closed">No crawl can begin here: {info.closed}</p>}
      <div class="column">
        <section class="card" aria-labelledby="topic-title">
          <h1 id="topic-title">A new crawl</h1>
          <p class="soft">Say what you want in any of these ways; the more of them, the better pages are told apart.</p>
          {text("topic.keywords", "Words and phrases", { hint: "with commas between them", placeholder: "honey bee, waggle dance", autofocus: true })}
          {text("topic.description", "In a sentence or two", { rows: 2, hint: "", placeholder: settings["topic.description"].example })}
          <Examples files={files} setFiles={setFiles} text={text} problem={asked && problems.find((p) => p.path === "files")?.text} />
          {asked && problems.filter((p) => p.path === "topic").map((p) => <p key={p.text} class="problem" role="alert">{p.text}</p>)}
          <div class="bar take"><button type="button" disabled={!examples || !!busy} onClick={attempt}>Try the judge on the examples</button>{!examples && <span class="soft">Once there are examples, each is judged by the rest.</span>}</div>
          {wanted === "try" && <Wrong of={wrong} />}
          {busy === "try" && working}
          {tried && <Tried of={tried} />}
        </section>
        <section class="card" aria-labelledby="seeds-title">
          <h2 id="seeds-title">Where to start</h2>
          {text("seeds", "Addresses", { rows: 5, hint: examples ? "one a line; none: the example pages" : "one a line", placeholder: "https://example.org/bees/", spellcheck: false })}
          <Seeds info={info} draft={draft} run={run} busy={busy} working={working} wrong={wanted === "seeds" ? wrong : []} add={(urls) => {
            const there = new Set((form.values.seeds || "").split("\n").map((s) => s.trim()));
            set("seeds", [...[...there].filter(Boolean), ...urls.filter((u) => !there.has(u))].join("\n"));
          }} />
        </section>
      </div>
      <div class="column">
        <section class="card" aria-labelledby="bounds-title">
          <h2 id="bounds-title">How far</h2>
          {text("contact", "Your contact", { hint: "sent with every request, so that owners of sites can reach you: a mail or web address", placeholder: "you@example.org" })}
          <div class="fields">
            {text("budget.pages", "Pages", { hint: "0 for no limit" })}
            {text("budget.time", "Time", { hint: "such as 30m or 2h", placeholder: "no limit" })}
            {text("scope.reach", "Reach", { hint: "from the seeds", names: { any: "any host", domain: "the seeds' domains", host: "the seeds' hosts" } })}
            {text("politeness.delay", "Delay", { hint: "between two requests to a host" })}
          </div>
          <details class="more"><summary>More</summary>
            <div class="fields">
              {Object.entries(further).map(([path, label]) => text(path, label, path === "scorer.name" ? { names: scorers } : {}))}
            </div>
          </details>
        </section>
        <section class="card" aria-labelledby="go-title">
          <h2 id="go-title">Go</h2>
          <label class="field">Folder<span class="soft">{info.folder ? "" : "a new one "}in {info.dir}</span>
            <input type="text" value={form.folder} spellcheck={false} autocapitalize="off" aria-invalid={!!problem("folder")} onInput={(e) => { setTouched((t) => ({ ...t, folder: true })); setForm((f) => ({ ...f, folder: e.target.value, named: true })); }} /></label>
          {problem("folder") && <p class="problem" role="alert">{problem("folder")}</p>}
          {asked && checked?.problems.length > 0 && <p class="problem" role="alert">{count(checked.problems.length, "thing is", "things are")} to be mended before it can begin.</p>}
          <Wrong of={[...(asked ? problems.filter((p) => p.path === "") : []), ...(wanted === "begin" ? wrong : [])]} />
          <div class="bar take"><button class="strong" disabled={!!busy || !!info.closed} aria-describedby={info.closed ? "closed" : undefined}>Begin the crawl</button></div>
          {busy === "begin" && working}
          <details class="more"><summary>The job file</summary>
            <p class="soft">The same crawl, begun in a shell{checked?.command && <>: <code>{checked.command}</code></>}</p>
            <pre class="file lines" tabIndex={0} aria-label="The job file">{checked?.job}</pre>
          </details>
        </section>
      </div>
    </form>
  );
}

// Text is a setting: a field, a box of lines or a choice.
function Text({ of, label, value, set, problem, hint = of.line, rows, placeholder = of.default || "", names = {}, autofocus, spellcheck }) {
  const same = { value, "aria-invalid": !!problem, onInput: (e) => set(e.target.value) };
  let field;
  if (of.kind === "true or false") {
    return <label class="field check"><input type="checkbox" checked={value === "true"} onChange={(e) => set(e.target.checked ? "true" : "")} /><span>{label}<span class="soft">{hint !== label && hint}</span></span></label>;
  } else if (of.choices?.length) {
    const option = (c) => <option key={c} value={c === of.default ? "" : c}>{names[c] || c}</option>;
    const others = of.choices.filter((c) => c !== of.default && !(c in names));
    field = <select {...same}>{[of.default, ...Object.keys(names).filter((c) => c !== of.default && of.choices.includes(c))].map(option)}{others.length > 0 && <optgroup label="Others, for research">{others.map(option)}</optgroup>}</select>;
  } else if (rows || (of.kind === "list" && of.path !== "topic.keywords")) {
    field = <textarea {...same} rows={rows || 2} placeholder={placeholder} spellcheck={spellcheck} />;
  } else {
    field = <input type="text" {...same} placeholder={placeholder} autofocus={autofocus} inputMode={of.kind === "whole number" ? "numeric" : undefined} spellcheck={of.path.startsWith("topic")} />;
  }
  return (
    <div class="field">
      <label>{label}{hint && hint !== label && <span class="soft">{hint}{of.kind === "list" && of.path.startsWith("scope") ? "; one a line" : ""}</span>}{field}</label>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </div>
  );
}

// Examples are pages like those wanted, and unlike them.
function Examples({ files, setFiles, text, problem }) {
  const take = async (list, negative) => {
    const read = await Promise.all([...list].map(async (f) => ({ name: f.name.replace(/^\.+/, ""), negative, text: await f.text() })));
    setFiles((old) => [...old.filter((o) => !read.some((r) => r.name === o.name)), ...read]);
  };
  const box = (negative) => (
    <>
      <label class="field choose-file">Files{!negative && <span class="soft">saved pages, or texts</span>}<input type="file" multiple accept=".html,.htm,.xhtml,.txt" onChange={(e) => { take(e.target.files, negative); e.target.value = ""; }} /></label>
      {files.some((f) => f.negative === negative) && <ul class="chips">{files.filter((f) => f.negative === negative).map((f) => (
        <li key={f.name}><bdi>{f.name}</bdi> <button type="button" class="quiet" aria-label={`Leave out ${f.name}`} onClick={() => setFiles((old) => old.filter((o) => o !== f))}>×</button></li>
      ))}</ul>}
    </>
  );
  return (
    <>
      {text("topic.examples", "Pages like those you want", { rows: 4, hint: "addresses, one a line", placeholder: "https://example.org/waggle-dance", spellcheck: false })}
      {box(false)}
      <details class="more"><summary>Pages unlike those you want</summary>
        {text("topic.negatives", "Pages that look alike, and are not wanted", { rows: 2, hint: "addresses, one a line", spellcheck: false })}
        {box(true)}
      </details>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </>
  );
}

// Wrong tells what is wrong, with the setting.
const Wrong = ({ of }) => of.map((p) => <p key={p.path + p.text} class="problem" role="alert">{p.path && p.path !== "sources" && <><code>{p.path}</code>: </>}{p.text}</p>);

// Working tells how far something is that takes time.
function Working({ notes, stop }) {
  return (
    <div class="working">
      <div class="bar take"><span class="busy-mark" aria-hidden="true" /><bdi role="status">{notes.at(-1) || "…"}</bdi><button type="button" onClick={stop}>Stop</button></div>
      {notes.length > 1 && <details><summary>All of {count(notes.length, "line")}</summary><ul class="plain log">{notes.map((n, i) => <li key={i}><bdi>{n}</bdi></li>)}</ul></details>}
    </div>
  );
}

// Tried shows what the judge says of the examples.
function Tried({ of }) {
  const judged = of.trials.filter((t) => !t.missing);
  const right = judged.filter((t) => t.right).length;
  const doubts = of.notes.filter((n) => !n.startsWith("example ")); // those are the progress
  return (
    <div class="tried" role="region" aria-label="What the judge says of the examples">
      <p><strong>{judged.length ? `${right} of ${count(judged.length, "page")} judged as you do` : "No page could be judged"}</strong>{judged.length > 0 && <span class="soft">, each by a judge that does not know it; relevant from {decimal(of.threshold)} on.</span>}</p>
      {judged.length > 0 && right < judged.length && <p class="soft">More examples, or words that those pages use, make it better. A page that is not like the others may not belong here.</p>}
      {doubts.length > 0 && <ul class="plain notice">{doubts.map((n) => <li key={n}>{n}</li>)}</ul>}
      <ul class="trials">{of.trials.map((t) => (
        <li key={t.source} class={t.missing || t.right ? "" : "off"}>
          <span class="sign" aria-hidden="true">{t.missing ? "–" : t.right ? "✓" : "✗"}</span>
          <span class="target"><bdi>{t.title || t.source}</bdi>{t.title && <bdi class="address">{t.source}</bdi>}</span>
          <span class="end">{t.missing ? <span class="wrap">{t.missing}</span> : <>{apart(t.relevance, of.threshold)[0]} <span class="soft">{t.relevant ? "relevant" : "not relevant"}{t.negative ? ", not wanted" : ""}{t.knows ? ", known to the judge" : ""}</span></>}</span>
        </li>
      ))}</ul>
    </div>
  );
}

// Seeds looks for pages to start from.
function Seeds({ info, draft, run, busy, working, wrong, add }) {
  const [kind, setKind] = useState("openalex");
  const [where, setWhere] = useState("");
  const [sources, setSources] = useState([]);
  const [files, setFiles] = useState([]);
  const [rounds, setRounds] = useState("1");
  const [pages, setPages] = useState("20");
  const [found, setFound] = useState(null);
  const [left, setLeft] = useState([]); // judged not relevant
  const [chosen, setChosen] = useState({});
  const of = info.sources.find((s) => s.name === kind);
  const needs = !of.where.startsWith("[");
  const file = of.where === "FILE";
  const put = () => { setSources([...sources.filter((s) => s !== kind + (where && "=" + where)), kind + (where && "=" + where.trim())]); setWhere(""); };
  const take = async (list) => {
    const read = await Promise.all([...list].map(async (f) => ({ kind, name: f.name, body: await base64(f) })));
    setFiles((old) => [...old, ...read]);
  };
  const look = () => run("seeds", "start/seeds", { ...draft, sources, lists: files, rounds: Number(rounds), pages: Number(pages) }, (got) => {
    setFound(got.seeds);
    setLeft(got.left_out || []);
    setChosen(Object.fromEntries(got.seeds.slice(0, 20).map((s) => [s.url, true])));
  });
  const leftOut = left.length > 0 && (
    <details><summary>{count(left.length, "page was", "pages were")} left out as not relevant</summary>
      <ul class="trials">{left.map((s) => <li key={s.url}><span class="sign" aria-hidden="true">–</span><span class="target"><bdi>{s.title || s.url}</bdi>{s.title && <bdi class="address">{s.url}</bdi>}</span><span class="end">{decimal(s.relevance)} <span class="soft">{s.source}</span></span></li>)}</ul>
    </details>
  );
  return (
    <details class="more"><summary>Find some</summary>
      <p class="soft">Search interfaces and lists that you have are asked for your words, and the likeliest pages are judged.</p>
      <div class="fields">
        <div class="field"><label>Source<span class="soft">{of.line}</span><select value={kind} onChange={(e) => { setKind(e.target.value); setWhere(""); }}>{info.sources.map((s) => <option key={s.name}>{s.name}</option>)}</select></label></div>
        {file ? <label class="field choose-file">File<span class="soft">read on this machine alone</span><input type="file" onChange={(e) => { take(e.target.files); e.target.value = ""; }} /></label>
          : <div class="field"><label>Where<span class="soft">{of.where.replace(/[[\]]/g, "")}{needs ? "" : ", or nothing"}</span><input type="text" value={where} spellcheck={false} onInput={(e) => setWhere(e.target.value)} onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); if (!needs || where) put(); } }} /></label></div>}
      </div>
      {!file && <div class="bar take"><button type="button" disabled={needs && !where} onClick={put}>Add this source</button></div>}
      {sources.length + files.length > 0 && <ul class="chips">
        {sources.map((s) => <li key={s}><bdi>{s}</bdi> <button type="button" class="quiet" aria-label={`Leave out ${s}`} onClick={() => setSources(sources.filter((x) => x !== s))}>×</button></li>)}
        {files.map((f) => <li key={f.name}><bdi>{f.kind}: {f.name}</bdi> <button type="button" class="quiet" aria-label={`Leave out ${f.name}`} onClick={() => setFiles(files.filter((x) => x !== f))}>×</button></li>)}
      </ul>}
      <div class="fields">
        <div class="field"><label>Rounds<span class="soft">later ones ask with words of relevant pages</span><input type="number" min="1" max="5" value={rounds} onInput={(e) => setRounds(e.target.value)} /></label></div>
        <div class="field"><label>Pages to judge<span class="soft">in each round</span><input type="number" min="0" max="200" value={pages} onInput={(e) => setPages(e.target.value)} /></label></div>
      </div>
      <div class="bar take"><button type="button" disabled={!!busy || sources.length + files.length === 0} onClick={look}>Look for seeds</button></div>
      <Wrong of={wrong} />
      {busy === "seeds" && working}
      {found && (found.length === 0 ? <><p class="soft">No page was found that is likely enough.</p>{leftOut}</> : (
        <>
          <ul class="trials">{found.map((s) => (
            <li key={s.url}>
              <input type="checkbox" aria-label={s.title || s.url} checked={!!chosen[s.url]} onChange={(e) => setChosen({ ...chosen, [s.url]: e.target.checked })} />
              <span class="target"><bdi>{s.title || s.url}</bdi>{s.title && <bdi class="address">{s.url}</bdi>}</span>
              <span class="end">{s.judged ? decimal(s.relevance) : "not judged"} <span class="soft">{s.source}</span></span>
            </li>
          ))}</ul>
          {leftOut}
          <div class="bar take"><button type="button" onClick={() => add(found.filter((s) => chosen[s.url]).map((s) => s.url))}>Add the {count(found.filter((s) => chosen[s.url]).length, "chosen page")}</button></div>
        </>
      ))}
    </details>
  );
}

// base64 is the content of a file.
function base64(file) {
  return new Promise((done, fail) => {
    const r = new FileReader();
    r.onload = () => done(r.result.slice(r.result.indexOf(",") + 1));
    r.onerror = () => fail(r.error);
    r.readAsDataURL(file);
  });
}

// GoOn goes on with a crawl that does not run, where the server can; why names the notice that says why it cannot.
export function GoOn({ crawl, can, why }) {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  if (!can) return null;
  const on = async () => {
    setBusy(true); setWrong("");
    try {
      const notes = [];
      const got = await slowly(`crawls/${crawl}/go-on`, {}, (note) => notes.push(note));
      if (notes.length) tellPerson(notes.slice(-4).join(" "), true);
      if (got.problems) setWrong(got.problems.map((p) => p.text).join("; "));
    } catch (err) { setWrong(err.message); }
    setBusy(false);
  };
  return <><button type="button" class="go-on" disabled={busy || !!why} aria-describedby={why || undefined} onClick={on}>Go on</button>{wrong && <span class="problem" role="alert">{wrong}</span>}</>;
}
