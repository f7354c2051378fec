import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { tell, useData, useSlow } from "./api.js";
import { moment, number } from "./format.js";

// said tells the page what became of an act; useSaid hears it.
const said = new EventTarget();

// say gives the crawl an act, and tells what became of it.
export async function say(crawl, act) {
  let text, bad = false;
  try {
    const { number, replaced, unmatched, unfetched } = await tell(crawl, act); // 0 where several workers number it later
    text = `${number ? `Act ${number}` : "For all workers"}: ${[act.do, act.url, act.place, act.pages, act.delay, act.keywords?.join(", "), act.act].filter((x) => x !== undefined).join(" ")}${replaced ? `; nothing changes: act ${replaced} had replaced it` : ""}${unmatched ? "; " + noMatch : ""}${unfetched ? "; " + noPage : ""}`;
  } catch (err) {
    text = err.message;
    bad = true;
  }
  tellPerson(text, bad);
  return !bad;
}

// tellPerson shows a line for a moment, one of trouble for longer.
export const tellPerson = (text, bad) => said.dispatchEvent(new CustomEvent("said", { detail: { text, bad } }));

const noMatch = "nothing that is known matches it now";
const noPage = "no page of this address has been fetched yet: it is done only if one has when the crawl takes it in";

// Said shows for a moment what became of the last act.
export function Said() {
  const [last, set] = useState(null);
  useEffect(() => {
    let timer;
    const hear = (e) => { clearTimeout(timer); set(e.detail); timer = setTimeout(() => set(null), e.detail.bad ? 12000 : 4000); };
    said.addEventListener("said", hear);
    return () => { clearTimeout(timer); said.removeEventListener("said", hear); };
  }, []);
  return <p class={"said" + (last?.bad ? " bad" : "")} role={last?.bad ? "alert" : "status"} hidden={!last}><bdi>{last?.text}</bdi></p>;
}

const labels = [["relevant", "Relevant", "R"], ["irrelevant", "Not relevant", "I"], ["more", "More like this", "M"]];

// useLabels gives each label of the page at url() a key, from the moment on at which the page is shown.
// done, where it is given, hears of labels that the crawl was told.
export function useLabels(crawl, url, done, closed) {
  useLayoutEffect(() => {
    const press = (e) => {
      if (e.repeat || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
      const label = labels.find(([, , key]) => key === e.key.toUpperCase());
      const of = label && url();
      if (of && closed) { e.preventDefault(); tellPerson(closed, true); return; }
      if (of) { e.preventDefault(); say(crawl, { do: label[0], url: of }).then((ok) => ok && done?.(of, label[0])); }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [crawl, url, closed]);
}

// Labels are the buttons by which a page is labelled.
export function Labels({ crawl, url, done, closed }) {
  return (
    <div class="bar take" role="group" aria-label="What you say of this page">
      {labels.map(([word, name, key]) => <button key={word} type="button" aria-keyshortcuts={key} disabled={!!closed} aria-describedby={closed ? "closed" : undefined} onClick={() => say(crawl, { do: word, url }).then((ok) => ok && done?.())}>{name} <kbd aria-hidden="true">{key}</kbd></button>)}
    </div>
  );
}

// seconds of a time as Go writes it, such as 1m0.5s.
const seconds = (text) => String([...text.matchAll(/([\d.]+)(ms|[µu]s|ns|h|m|s)/g)].reduce((sum, [, n, unit]) => sum + Number(n) * { h: 3600, m: 60, s: 1, ms: 1e-3 }[unit] || 0, 0));

// Steer tells the crawl what to do, and shows what it was told.
export function Steer({ at, state }) {
  const [told, setTold] = useState(0);
  const stamp = useSlow(state.revision, 1000);
  const { data, error } = useData(`crawls/${at.crawl}/acts`, `${stamp} ${told}`);
  const [place, setPlace] = useState(at.params.place || "");
  const [pages, setPages] = useState("");
  const [delay, setDelay] = useState("");
  const [words, setWords] = useState(null); // null: those of the crawl
  const act = async (a) => { await say(at.crawl, a); setTold((n) => n + 1); };
  const acts = (data?.acts || []).toReversed();
  const last = acts.find((a) => a.number > 0 && !a.undone && !a.refused && a.do !== "undo");
  const budget = state.figures.budget;
  const closed = !!state.closed; // the notice above all screens says why
  return (
    <div class="screen">
      <section class="card" aria-labelledby="steer-title">
        <h1 id="steer-title">Steer the crawl</h1>
        <p class="soft">{closed ? "Nothing can be told to it here, as is said above." : state.running ? "It takes in what you say within a second." : "It does not run: it takes in what you say when it goes on."}{!closed && <> Pages are labelled where they are listed, with <kbd>R</kbd> <kbd>I</kbd> <kbd>M</kbd>.</>}</p>
        <fieldset class="steer" disabled={closed} aria-describedby={closed ? "closed" : undefined}>
          <div><h2>Fetching</h2>
            <div class="bar take">{data?.paused
              ? <button type="button" onClick={() => act({ do: "continue" })}>Continue</button>
              : <button type="button" disabled={!state.running} onClick={() => act({ do: "pause" })}>Pause</button>}</div>
          </div>
          <form onSubmit={(e) => { e.preventDefault(); act({ do: "budget", pages: Number(pages) }); setPages(""); }}>
            <h2>Budget</h2>
            <div class="bar take"><label>pages of all runs, 0 for no limit<input type="number" min="0" step="1" required value={pages} placeholder={budget ? number(budget) : "no limit"} onInput={(e) => setPages(e.target.value)} /></label><button>Set</button></div>
          </form>
          <form onSubmit={(e) => { e.preventDefault(); act({ do: "delay", delay: `${delay}s` }); setDelay(""); }}>
            <h2>Delay</h2>
            <div class="bar take"><label>seconds between two requests to a host<input type="number" min="0" max="3600" step="any" required value={delay} placeholder={data?.delay ? seconds(data.delay) : ""} onInput={(e) => setDelay(e.target.value)} /></label><button>Set</button></div>
          </form>
          <form class="place" onSubmit={(e) => { e.preventDefault(); act({ do: e.submitter?.value || "mute", place: place.trim() }); }}>
            <h2>A place</h2>
            <div class="bar take"><label>host, or host and beginning of a path<input type="text" required value={place} placeholder="example.org/forum/" spellcheck={false} autocapitalize="off" onInput={(e) => setPlace(e.target.value)} /></label>
              <button value="mute">Mute</button><button value="boost">Boost</button></div>
          </form>
          <form class="wide" onSubmit={async (e) => { e.preventDefault(); await act({ do: "keywords", keywords: (words ?? "").split(",").map((w) => w.trim()).filter(Boolean) }); setWords(null); }}>
            <h2>Keywords</h2>
            <div class="bar take"><label>with commas between them; all pages are judged anew by them<input type="text" required value={words ?? (data?.keywords || []).join(", ")} onInput={(e) => setWords(e.target.value)} /></label><button disabled={words === null}>Set</button></div>
          </form>
        </fieldset>
      </section>
      <section class="card" aria-labelledby="acts-title">
        <div class="bar"><h2 id="acts-title">What it was told</h2>{last && <button type="button" disabled={closed} onClick={() => act({ do: "undo", act: last.number })}>Undo the last</button>}</div>
        {error && <p class="notice" role="alert">{error}</p>}
        {data && acts.length === 0 && <p class="soft empty">Nothing yet.</p>}
        {acts.length > 0 && <div class="scroll" tabIndex={0} role="region" aria-labelledby="acts-title"><table class="acts">
          <thead><tr><th class="n">Act</th><th>What</th><th>Taken in</th><th><span class="hidden">Undo</span></th></tr></thead>
          <tbody>{acts.map((a, i) => (
            <tr key={a.number || `waits ${acts.length - i}`} class={a.undone || a.refused ? "gone" : ""}>
              <td class="n">{a.number || "–"}</td>
              <td class="text"><bdi class="wrap">{a.words}</bdi>{a.refused && <span class="soft"> not done: {a.refused}</span>}{a.unfound && <span class="soft"> not done: no worker that was heard of has a page of this address</span>}{a.unmatched && <span class="soft"> {noMatch}</span>}{a.unfetched && <span class="soft"> {noPage}</span>}{a.undone && <span class="soft"> undone</span>}{a.replaced > 0 && <span class="soft"> nothing changes: act {a.replaced} had replaced it</span>}</td>
              <td>{a.at ? moment(a.at) : "waits"}</td>
              <td>{a.number > 0 && !a.undone && !a.refused && a.do !== "undo" && <button type="button" disabled={closed} aria-label={`Undo act ${a.number}`} onClick={() => act({ do: "undo", act: a.number })}>Undo</button>}</td>
            </tr>
          ))}</tbody>
        </table></div>}
      </section>
    </div>
  );
}
