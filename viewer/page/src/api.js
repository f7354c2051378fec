// What the page asks the server for, and how it hears of changes.
import { useEffect, useRef, useState } from "preact/hooks";

// get asks for api/PATH and gives its JSON, or what read makes of an answer that is right.
// What went wrong is thrown in words.
export async function get(path, signal, read = (answer) => answer.json()) {
  let answer;
  try {
    answer = await fetch("api/" + path, { signal });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Error("waggle does not answer. Was it ended? Start it again, and open the address that it prints.");
  }
  const got = await (answer.ok ? read(answer) : answer.json()).catch((err) => {
    if (err.name === "AbortError") throw err; // who asked has left: this is no answer
    return {};
  });
  if (!answer.ok) throw new Error(answer.status === 403 ? "This page has no key: open the address that waggle printed." : got.error || `The server answered ${answer.status}.`);
  return got;
}

// tell gives the crawl an act and returns what is answered: its number. What went wrong is thrown in words.
export async function tell(crawl, act) {
  let answer;
  try {
    answer = await fetch(`api/crawls/${crawl}/acts`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(act) });
  } catch {
    throw new Error("waggle does not answer: the crawl was told nothing.");
  }
  const got = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(got.error || `The server answered ${answer.status}.`);
  return got;
}

// post sends JSON to api/PATH and gives what is answered.
export async function post(path, body, signal) {
  const answer = await send(path, body, signal);
  const got = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(got.error || `The server answered ${answer.status}.`);
  return got;
}

// slowly does the same where it takes time: note hears what happens meanwhile, and what
// came of it is given.
export async function slowly(path, body, note, signal) {
  const answer = await send(path, body, signal);
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || `The server answered ${answer.status}.`);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "", last;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) {
      const got = JSON.parse(line);
      if (got.note !== undefined) note(got.note);
      else last = got;
    }
  }
  if (!last) throw new Error("waggle does not answer any more. Was it ended?");
  return last;
}

async function send(path, body, signal) {
  try {
    return await fetch("api/" + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Error("waggle does not answer. Was it ended? Start it again, and open the address that it prints.");
  }
}

// query writes parameters; those that are empty are left out.
export function query(of) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(of)) if (v !== "" && v !== undefined && v !== null && v !== false) q.set(k, v === true ? "1" : v);
  const text = q.toString();
  return text && "?" + text;
}

// Answers by path, with their text, the latest last: a screen that was left shows at once
// what it showed.
const kept = new Map();

// answered is what was answered for path. The same text is the same object as before, so
// that what was made of it, such as a drawing, is not made again.
async function answered(path, signal) {
  const text = await get(path, signal, (answer) => answer.text());
  if (typeof text !== "string") throw new Error("waggle broke off its answer. Was it ended? Start it again, and open the address that it prints.");
  const last = kept.get(path);
  const now = last?.text === text ? last : { text, data: JSON.parse(text) };
  kept.delete(path);
  kept.set(path, now);
  if (kept.size > 60) kept.delete(kept.keys().next().value);
  return now.data;
}

// useData asks for path, and again whenever it or stamp changes. While the next answer
// is awaited the last one stays. null asks for nothing.
export function useData(path, stamp) {
  const [last, set] = useState({});
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    answered(path, stop.signal).then(
      (data) => set((was) => (was.path === path && was.data === data && !was.error ? was : { path, data })),
      (err) => { if (err.name !== "AbortError") set((was) => ({ path, data: was.path === path ? was.data : undefined, error: err.message })); },
    );
    return () => stop.abort();
  }, [path, stamp]);
  const got = last.path !== path && kept.has(path) ? { path, data: kept.get(path).data } : last;
  return { data: got.data, error: got.error, old: got.path !== path };
}

// useState of a crawl as the server tells it, as long as the page can be seen.
export function useChanges(id) {
  const [state, set] = useState(null);
  const [lost, setLost] = useState(false);
  useEffect(() => {
    if (!id) return;
    let source;
    const listen = () => {
      source?.close();
      source = undefined;
      if (document.hidden) return;
      source = new EventSource(`api/crawls/${id}/changes`);
      source.onmessage = (m) => { setLost(false); set(JSON.parse(m.data)); };
      source.onerror = () => setLost(true);
    };
    listen();
    document.addEventListener("visibilitychange", listen);
    return () => { source?.close(); document.removeEventListener("visibilitychange", listen); };
  }, [id]);
  return { state: state?.id === id ? state : null, lost };
}

// useSlow is value, at most once in a time: what is costly to show follows it.
export function useSlow(value, ms = 2000) {
  const [slow, set] = useState(value);
  const last = useRef(0);
  useEffect(() => {
    const wait = Math.max(0, last.current + ms - performance.now());
    const timer = setTimeout(() => { last.current = performance.now(); set(value); }, wait);
    return () => clearTimeout(timer);
  }, [value]);
  return slow;
}
