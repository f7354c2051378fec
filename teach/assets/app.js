// The controls of waggle teach. All that comes from pages is put in place as
// text, never as markup. The server holds what is true; here it is only drawn.

import { $, ask, el, token } from "./controls.js";

const frame = $("page");

let state = null;
let inFrame = 0; // the view that the frame shows
let acting = 0; // actions that fetch
let handled = 0; // the last view of its own doing that was told to the server
let deaf = false; // the server did not answer
let noticed; // what the server told last

// act does something and draws what came of it; while pages are fetched the
// page is dimmed.
async function act(name, body = {}, slow = false) {
  acting += slow;
  busy();
  try {
    draw(await ask(name, body));
    tell(state.notice ?? ""); // what was told before is of an earlier action
    return true;
  } catch (e) {
    tell(e.message, true);
    return false;
  } finally {
    acting -= slow;
    busy();
  }
}

function busy() {
  $("busy").hidden = !acting && !state?.loading;
}

function tell(text, wrong = false) {
  $("notice").textContent = text;
  $("notice").classList.toggle("wrong", wrong);
}

// unlabelable says why no page can be labelled now.
function unlabelable() {
  tell(state?.steps.length ? "The page shown is not on your path, so it cannot be named. Go back to the path first (B)." : "Open a page first, then name it.", true);
}

// label is the one click of a label.
function label(name) {
  if (!state?.labelable) return unlabelable();
  act("label", { label: name, url: state.steps[state.step].url });
}

function again() {
  if (state?.steps.length) act("open", { url: state.steps[0].url }, true);
}

function back() {
  if (state?.framed !== state?.current) act("go", { path: state.path, step: state.step }, true);
  else if (state?.step > 0) act("go", { path: state.path, step: state.step - 1 }, true);
}

// colour of a milestone, by its place among them.
function colour(name) {
  if (name === "Goal") return "goal";
  if (name === "Fail") return "fail";
  return "c" + (Math.max(0, state.labels.findIndex((l) => l.name === name)) % 6);
}

function chip(name) {
  return el("span", { className: "chip " + colour(name) }, name);
}

// drawn is what each list was made of, as text: a list that stays as it is is
// not made anew, so that nobody's click, focus or reading is lost on it.
const drawn = {};

function list(id, things, make) {
  const now = JSON.stringify(things);
  if (drawn[id] === now) return;
  drawn[id] = now;
  const box = $(id);
  const at = box.contains(document.activeElement) ? [...box.querySelectorAll("button")].indexOf(document.activeElement) : -1;
  box.replaceChildren(...things.map(make));
  if (at >= 0) ([...box.querySelectorAll("button")].at(at) ?? $("panel")).focus({ preventScroll: true });
}

function draw(next) {
  if (state && next.version <= state.version) return;
  state = next;

  const here = state.path >= 0 ? state.steps[state.step] : null;
  const seen = here && state.labelable;
  $("page-title").textContent = !here ? "No page yet." : seen ? here.title || here.short : "The page shown is not on your path. Go back with B.";
  $("page-title").title = here?.url ?? "";
  if (document.activeElement !== $("url")) $("url").value = here?.url ?? "";
  $("keeper").textContent = state.keeper;

  // Labels.
  const labels = [["Goal", "G"], ["Fail", "F"], ...state.labels.map((l, i) => [l.name, i < 9 ? String(i + 1) : ""])];
  list("labels", labels.map(([name, key]) => ({ name, key, colour: colour(name) })), ({ name, key, colour }) =>
    el("button", { type: "button", className: "label " + colour, "aria-keyshortcuts": key || null, onclick: () => label(name) },
      el("span", {}, name), key ? el("kbd", { "aria-hidden": "true" }, key) : ""));
  for (const [i, b] of [...$("labels").children].entries()) {
    b.disabled = !seen;
    b.setAttribute("aria-pressed", String(here?.label === labels[i][0]));
  }
  // The box for a name is never disabled: letters typed there would run as keys.
  $("milestone").classList.toggle("off", !seen);
  $("back").disabled = !(here && (state.framed !== state.current || state.step > 0));

  // The path.
  list("trail", state.steps.map((s, i) => ({ ...s, i, path: state.path, here: i === state.step, colour: s.label ? colour(s.label) : "" })), (s) =>
    el("li", { className: s.label ? s.colour + " labelled" : s.state ? "before" : "after" },
      s.anchor ? el("span", { className: "via" }, "“" + s.anchor + "”") : "",
      el("button", {
        type: "button", title: s.url, "aria-current": s.here ? "step" : false,
        onclick: () => act("go", { path: s.path, step: s.i }, true),
      }, el("span", { className: "name" }, s.title || s.short), s.label ? chip(s.label) : s.state ? el("span", { className: "state" }, s.state) : "")));
  $("again").hidden = !here;
  $("no-trail").hidden = !!here;

  // All paths.
  $("count").textContent = state.total ? String(state.total) : "";
  $("no-paths").hidden = state.total > 0;
  list("paths", state.paths.toReversed().map((p) => ({ ...p, here: p.number === state.path, colours: state.labels.length })), (p) =>
    el("li", {},
      el("button", {
        type: "button", className: "path", "aria-current": p.here ? "true" : false,
        onclick: () => act("go", { path: p.number, step: p.pages - 1 }, true),
      },
        el("span", { className: "number" }, String(p.number + 1)),
        el("span", { className: "name" }, p.last),
        el("span", { className: "site" }, p.site),
        el("span", { className: "chips" }, ...(p.ending ? [...p.labels.filter((l) => l !== p.ending), p.ending].map(chip) : [el("span", { className: "state" }, "no label yet")])),
      ),
      el("button", { type: "button", className: "remove", title: "Remove this path", "aria-label": `Remove path ${p.number + 1}`, onclick: () => act("remove", { path: p.number }, true) }, "×"),
    ));

  // What is wrong, and what to ask.
  $("mend").hidden = state.problems.length === 0;
  list("problems", state.problems, (p) => el("li", {}, p));
  $("asks").hidden = !state.canSuggest;
  list("suggestions", state.suggestions.map((s) => ({ ...s, colour: s.guess ? colour(s.guess) : "" })), (s) =>
    el("li", {}, el("button", { type: "button", title: s.url, onclick: () => act("take", { path: state.suggestions.findIndex((x) => x.url === s.url) }, true) },
      el("span", { className: "name" }, s.last), s.guess ? chip(s.guess) : "",
      s.from ? el("span", { className: "why" }, "on “" + s.from + "”") : "", el("span", { className: "why" }, s.why))));

  // Where to begin.
  drawStarts();
  list("known", state.starts, (s) => el("option", { value: s.url, label: s.title || null }));
  $("begin").textContent = state.starts.length ? "Where shall we begin?" : "Type an address above to begin.";
  $("undo").disabled = !state.undo;
  $("undo").title = state.undo ? "Take back: " + state.undo : "";
  $("redo").disabled = !state.redo;
  $("redo").title = state.redo ? "Do again: " + state.redo : "";
  // What was told here stays until there is something new to tell.
  if (noticed !== state.notice) tell(state.notice ?? "");
  noticed = state.notice;

  // The frame.
  busy();
  $("welcome").hidden = state.current > 0;
  frame.hidden = state.current === 0;
  if (state.framed !== state.current) {
    inFrame = state.framed;
    if (state.framed !== handled) {
      handled = state.framed;
      arrived();
    }
  } else if (inFrame !== state.current) {
    inFrame = handled = state.current;
    frame.src = state.src || "about:blank";
  }
}

// arrived tells the server which view the frame shows. What was told before is of an earlier page; what
// the person is told until the server answers is of this one, and stays.
async function arrived() {
  tell(state.notice ?? "");
  try {
    draw(await ask("arrived", { view: state.framed }));
  } catch (e) {
    tell(e.message, true);
  }
  controls();
}

// drawStarts lists the start pages that hold all words of the filter, which is
// there where they are many.
function drawStarts() {
  const words = $("filter").value.toLowerCase().split(/\s+/);
  const found = state.starts.filter((s) => words.every((w) => (s.title + " " + s.url).toLowerCase().includes(w)));
  list("starts", found, (s) => el("li", {}, el("button", { type: "button", onclick: () => act("open", { url: s.url }, true) },
    s.title ? el("span", { className: "name" }, s.title) : "", el("span", { className: s.title ? "why" : "name" }, s.url))));
  $("filter").hidden = state.starts.length < 8;
  $("filter").placeholder = `Find one of ${state.starts.length} start pages`;
  $("no-starts").hidden = found.length > 0 || state.starts.length === 0;
}

// controls takes the keys back from the page.
function controls() {
  if (document.activeElement === frame || document.activeElement === document.body) $("panel").focus({ preventScroll: true });
}

// A click into the page would take the keyboard along; a person who went there
// by Tab or P wants it there.
let intoPage = false;
addEventListener("keydown", (e) => { intoPage = e.key === "Tab"; }, true);
addEventListener("pointerdown", () => { intoPage = false; }, true);
addEventListener("blur", () => setTimeout(() => { if (!intoPage) controls(); }, 200));

addEventListener("keydown", (e) => {
  if (e.target.matches("input, textarea, select")) {
    if (e.key === "Escape") controls(e.target.blur());
    return;
  }
  if ((e.ctrlKey || e.metaKey) && /^[zy]$/i.test(e.key)) {
    e.preventDefault();
    return void $(e.key === "z" ? "undo" : "redo").click(); // Z is with Shift
  }
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const key = e.key.toLowerCase();
  const does = {
    g: () => label("Goal"), f: () => label("Fail"), u: () => $("undo").click(), r: () => $("redo").click(), n: again, b: back,
    m: () => $("name").focus(), "/": () => ($("filter").checkVisibility() ? $("filter") : $("url")).focus(), s: () => $("suggest").click(),
    p: () => { intoPage = true; frame.focus(); },
    "?": () => { $("help").open = !$("help").open; },
  }[key] ?? (/^[1-9]$/.test(key) && state?.labels[key - 1] ? () => label(state.labels[key - 1].name) : null);
  if (does) {
    e.preventDefault();
    does();
  }
});

$("undo").addEventListener("click", () => act("undo", {}, true));
$("redo").addEventListener("click", () => act("redo", {}, true));
$("back").addEventListener("click", back);
$("again").addEventListener("click", again);
$("filter").addEventListener("input", drawStarts);
$("filter").addEventListener("keydown", (e) => {
  if (e.key === "Enter") $("starts").querySelector("button")?.click();
});
$("suggest").addEventListener("click", () => act("suggest", {}, true));
$("address").addEventListener("submit", (e) => {
  e.preventDefault();
  $("url").blur();
  act("open", { url: $("url").value }, true);
});
$("milestone").addEventListener("submit", async (e) => {
  e.preventDefault();
  const name = $("name").value.trim();
  if (name && !state?.labelable) return unlabelable();
  if (name && await act("label", { label: name, url: state.steps[state.step].url })) {
    $("name").value = "";
    $("name").blur();
    controls();
  }
});
for (const b of document.querySelectorAll("[data-export]")) {
  b.addEventListener("click", async () => {
    const form = b.dataset.export;
    const answer = await fetch("/do/export?form=" + form, { headers: { "Waggle-Token": token } });
    const link = el("a", { href: URL.createObjectURL(await answer.blob()), download: form === "json" ? "paths.jsonl" : "paths.tsv" });
    link.click();
    URL.revokeObjectURL(link.href);
    $("save").open = false;
  });
}

// listen waits for news, for ever.
async function listen() {
  for (;;) {
    try {
      draw(await ask("state?after=" + (state?.version ?? 0)));
      if (deaf) tell(state.notice ?? "");
      deaf = false;
    } catch {
      deaf = true;
      tell("waggle does not answer. If it was ended, start it again and open the address it prints: all paths are kept.", true);
      await new Promise((r) => setTimeout(r, 2000));
    }
  }
}

await act("resume", {}, true);
listen();
