import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, useChanges } from "./api.js";
import { count, number } from "./format.js";
import { go, to, useRoute } from "./route.js";
import { Now } from "./now.jsx";
import { Pages } from "./pages.jsx";
import { Page } from "./page.jsx";
import { Links } from "./links.jsx";
import { Collection } from "./collection.jsx";
import { Said, Steer } from "./steer.jsx";
import { GoOn, Start } from "./start.jsx";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const screens = [
  ["now", "Now", Now],
  ["pages", "Pages", Pages],
  ["links", "Links", Links],
  ["steer", "Steer", Steer],
  ["collection", "Collection", Collection],
];

// starting stands in the address, in place of a crawl, where one is begun.
const starting = "new";

function App() {
  const at = useRoute();
  const [crawls, setCrawls] = useState(null);
  const [error, setError] = useState("");
  const [info, setInfo] = useState(null); // of the start of a crawl; false = none can be begun
  const [shown, setShown] = useState(0); // grows when there are other crawls
  useEffect(() => {
    get("crawls").then((list) => {
      const here = crawls?.find((c) => c.id === at.crawl); // one whose folder is gone stays until it is left: it says so
      setCrawls(here && !list.some((c) => c.id === at.crawl) ? [...list, { ...here, gone: true }] : list);
      setError("");
      if (crawls === null && list.length === 0) go(starting, "start", {}, true); // others may come while one is prepared
      if (at.crawl !== starting && !here && !list.some((c) => c.id === at.crawl) && list.length) go(list[0].id, "now", {}, true);
    }, (err) => setError(err.message));
  }, [shown, at.crawl === starting]);
  useEffect(() => { get("start").then(setInfo, () => setInfo(false)); }, []);
  useEffect(() => { // no crawl is listened to then, which would tell of others
    if (at.crawl !== starting && crawls?.length) return;
    const timer = setInterval(() => { if (!document.hidden) setShown((n) => n + 1); }, 2000);
    return () => clearInterval(timer);
  }, [at.crawl === starting, crawls?.length === 0]);
  const start = info && (at.crawl === starting || crawls?.length === 0);
  const { state, lost } = useChanges(crawls?.some((c) => c.id === at.crawl) ? at.crawl : "");
  useEffect(() => { // one that began meanwhile is among those to choose from, one that is gone is not
    if (state && crawls && state.crawls !== crawls.filter((c) => !c.gone).length) setShown((n) => n + 1);
  }, [state?.crawls]);
  const main = useRef();
  const first = useRef(true);
  useEffect(() => { // a new screen is read out from its beginning
    if (first.current) { first.current = false; return; }
    scrollTo(0, 0);
    if (!at.params.focus) main.current?.focus({ preventScroll: true }); // else the search is focused
  }, [at.crawl, at.screen, at.params.url]);
  const [page, setPage] = useState(null); // the page that is shown, and its title
  const crawl = state || crawls?.find((c) => c.id === at.crawl);
  useEffect(() => {
    const name = at.screen !== "page" ? screens.find(([s]) => s === at.screen)?.[1] || "Now" : page?.url === at.params.url ? page.title.slice(0, 200) : at.params.url || "Page";
    document.title = start ? "A new crawl – waggle" : [name, crawl && nameOf(crawl), "waggle"].filter(Boolean).join(" – ");
  }, [at.screen, at.params.url, page, crawl && nameOf(crawl), start]);
  useKeys(at);
  const gone = !!state?.closed && state.error?.startsWith(state.closed); // the folder of the crawl is
  if (error) return <Message title="Nothing can be shown" text={error} />;
  if (!crawls || info === null) return <p class="first">waggle</p>;
  if (start) {
    return (
      <>
        <header class="top"><div class="who"><img class="mark" src="icon.svg" alt="" />
          {crawls.length > 0 ? <Choose crawls={crawls} value={starting} choose={(id) => go(id, "now")} /> : <strong class="name">waggle</strong>}</div></header>
        <main id="main" ref={main} tabIndex={-1}><Start info={info} begun={(id) => { setShown((n) => n + 1); go(id, "now"); }} /></main>
      </>
    );
  }
  if (!crawls.length) return <Message title="There is no crawl here" text="Give waggle open the folder of one." />;
  const Screen = at.screen === "page" ? Page : (screens.find(([s]) => s === at.screen) || screens[0])[2];
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current.focus(); }}>To the content</a>
      <header class="top">
        <div class="who">
          <img class="mark" src="icon.svg" alt="" />
          {crawls.length > 1 ? <Choose crawls={crawls} value={at.crawl} choose={(id) => go(id, at.screen === "page" ? "pages" : at.screen)} /> : <strong class="name"><bdi>{nameOf(state || crawls[0])}</bdi></strong>}
          {state && <Status state={state} lost={lost} />}
          {state && !lost && !state.running && state.reading === 1 && !state.cut && <GoOn crawl={at.crawl} can={info} why={state.closed ? "closed" : state.job ? "job" : state.joins ? "joins" : ""} />}
          {info && (info.closed ? <button type="button" class="new" disabled aria-describedby="no-start">New crawl</button> : <a class="new" href={to(starting, "start")}>New crawl</a>)}
        </div>
        {crawls.some((c) => c.id === at.crawl) && <nav aria-label="Screens">
          {screens.map(([s, name]) => (
            <a key={s} href={to(at.crawl, s)} aria-current={s === at.screen || (s === "pages" && at.screen === "page") ? "page" : undefined}>{name}</a>
          ))}
        </nav>}
      </header>
      {state?.error && <p class="notice" role="alert" id={gone ? "closed" : undefined}>{state.error}</p>}
      {state?.cut && <p class="notice" role="alert">The end of the event log is missing; the figures are those of what is there. <code>waggle repair</code> mends what it can. <bdi>{state.cut}</bdi></p>}
      {state?.damaged > 0 && <p class="notice">{count(state.damaged, "line")} of the event log cannot be read; the figures are those of the others. <code>waggle verify</code> tells what is damaged.</p>}
      {state?.job && !state.error && <p class="notice" id="job">The crawl can be looked at, but cannot go on: {state.job}</p>}
      {state?.closed && !gone && <p class="notice" id="closed">This crawl can be looked at; it can be told nothing and cannot go on: {state.closed}</p>}
      {state?.joins && !state.closed && !state.job && !state.error && !state.running && <p class="notice" id="joins">This crawl cannot go on here: {state.joins}</p>}
      {info?.closed && <p class="soft no-start" id="no-start">No crawl can begin here: {info.closed}</p>}
      <main id="main" ref={main} tabIndex={-1}>
        {state ? <Screen key={at.crawl} at={at} state={state} titled={(title) => setPage({ url: at.params.url, title })} /> : crawls.some((c) => c.id === at.crawl) ? <p class="first">Reading …</p> : <NoCrawl crawls={crawls} />}
      </main>
      <footer><span><kbd>1</kbd>–<kbd>5</kbd> screens · <kbd>/</kbd> search, <kbd>Enter</kbd> to its rows, <kbd>Esc</kbd> out of it · <kbd>J</kbd> <kbd>K</kbd> next and previous row · <kbd>Enter</kbd> opens it · <kbd>R</kbd> relevant <kbd>I</kbd> not <kbd>M</kbd> more like this</span></footer>
      <Said />
    </>
  );
}

// NoCrawl is shown at an address of a crawl that is not here, such as an old bookmark.
function NoCrawl({ crawls }) {
  return (
    <section role="alert">
      <h1>There is no such crawl here</h1>
      <p>The address names a crawl that is not shown. Those that are:</p>
      <ul>{crawls.filter((c) => !c.gone).map((c) => <li key={c.id}><a href={to(c.id, "now")}><bdi>{titleOf(c)}</bdi></a></li>)}</ul>
    </section>
  );
}

// nameOf is the name of a crawl, its folder where it was given none.
const nameOf = (c) => (c.figures.name && c.figures.name !== unnamed ? c.figures.name : c.dir);

// titleOf is a crawl's folder, with its name where it was given one.
const titleOf = (c) => (nameOf(c) === c.dir ? c.dir : `${nameOf(c)} – ${c.dir}`);

// unnamed is the name of a crawl that was given none.
const unnamed = "crawl";

// Choose gives the choice of the crawls that are shown; one that is begun is among them, and one
// that is gone as long as it is looked at.
function Choose({ crawls, value, choose }) {
  return (
    <label class="choose"><span class="hidden">Crawl</span>
      <select value={value} onChange={(e) => choose(e.target.value)}>
        {value === starting && <option value={starting}>A new crawl</option>}
        {value !== starting && !crawls.some((c) => c.id === value) && <option value={value}>No such crawl</option>}
        {crawls.filter((c) => !c.gone || c.id === value).map((c) => <option key={c.id} value={c.id}>{c.gone && "Gone: "}{titleOf(c)}</option>)}
      </select>
    </label>
  );
}

// Status says in a few words what the crawl does.
function Status({ state, lost }) {
  const f = state.figures;
  let text = "has not begun";
  let kind = "still";
  if (lost) [text, kind] = ["waggle does not answer", "bad"];
  else if (state.reading < 1) [text, kind] = [`reading the log, ${Math.floor(100 * state.reading)} %`, "busy"];
  else if (state.running && state.paused) text = "paused";
  else if (state.running) [text, kind] = ["running", "busy"];
  else if (state.cut) [text, kind] = ["its event log is damaged", "bad"];
  else if (f.ended) text = "ended: " + f.ended_words;
  else if (f.pages) text = "broke off; it can go on with --resume";
  return <span class={"status " + kind} role="status">{text}</span>;
}

function Message({ title, text }) {
  return <main class="message"><h1>{title}</h1><p>{text}</p></main>;
}

// useKeys gives each screen a digit.
function useKeys(at) {
  useEffect(() => {
    const press = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
      const n = Number(e.key) - 1;
      if (screens[n]) { e.preventDefault(); go(at.crawl, screens[n][0]); }
      if (e.key === "/") {
        e.preventDefault();
        const field = document.getElementById("search");
        if (field) field.focus();
        else go(at.crawl, "pages", { focus: true });
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [at.crawl]);
}

// The key has become a cookie: the address need not show it.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
render(<App />, document.getElementById("app"));
