// The controls of waggle lab read. All that comes from pages is put in place as
// text, never as markup. The server holds what is true; here it is only drawn.

import { $, ask, el } from "./controls.js";

const frame = $("page");

let reader = "";
let topics = [];
let topic = 0;
let view = null; // the topic as the reader sees it
let n = -1; // the page wanted; −1 = none is left
let shown = ""; // the page on display, as key() names it; "" = none yet
let again = false; // a second look
let archived = false; // the page as archived, not its text
let busy = false;
let entered = false; // into the frame, by key
const pages = new Map(); // what stands on pages, by topic and number

// tell shows what happened.
function tell(text, wrong = false) {
  $("notice").textContent = text;
  $("notice").classList.toggle("wrong", wrong);
}

// act asks the server for one thing at a time and tells what went wrong.
async function act(name, body) {
  if (busy) return null;
  busy = true;
  try {
    return await ask(name, { reader, ...body });
  } catch (e) {
    tell(e instanceof TypeError ? "waggle does not answer. Is it still running?" : e.message, true);
    return null;
  } finally {
    busy = false;
  }
}

// key names a page.
const key = (i) => topic + "/" + i;

// ready tells whether the page wanted is on display: only then it can be graded.
const ready = () => n >= 0 && shown === key(n);

// page brings what stands on a page, once.
function page(i) {
  const at = key(i);
  if (!pages.has(at)) {
    const p = ask("page", { reader, topic, n: i, round: 1 });
    pages.set(at, p);
    p.catch(() => pages.delete(at));
    if (pages.size > 40) pages.delete(pages.keys().next().value);
  }
  return pages.get(at);
}

// open tells whether a page waits for a grade: for the first, or for a second look.
const open = (i) => (again ? view.differ[i] && !view.second[i] : !view.grades[i]);

// following is the next page that waits, from i on and round; −1 = none.
function following(i) {
  const all = view.grades.length;
  for (let k = 0; k < all; k++) if (open((i + k) % all)) return (i + k) % all;
  return -1;
}

// beside is the page before or behind, of those that are looked at.
function beside(step) {
  for (let i = n + step; i >= 0 && i < view.grades.length; i += step) if (!again || view.differ[i]) return i;
  return -1;
}

async function begin(name) {
  $("wrong").textContent = "";
  try {
    const st = await ask("state", { reader: name });
    reader = name;
    topics = st.topics;
  } catch (e) {
    $("wrong").textContent = e.message;
    return;
  }
  sessionStorage.setItem("reader", name);
  const kept = topics.findIndex((t) => t.web + "/" + t.name === sessionStorage.getItem("topic"));
  const waiting = topics.findIndex((t) => t.read < t.pages);
  await choose(kept >= 0 ? kept : Math.max(0, waiting));
}

async function choose(i) {
  const v = await act("topic", { topic: i });
  if (!v) {
    if (!view) $("wrong").textContent = $("notice").textContent;
    return;
  }
  topic = i;
  sessionStorage.setItem("topic", topics[i].web + "/" + topics[i].name);
  view = v;
  again = false;
  tell("");
  what(view.read === 0);
  await show(following(0));
}

// what shows the sentences of the topic in a narrow window, where they stand in
// the way of the page once they are known.
function what(told) {
  $("panel").classList.toggle("told", told);
  $("what").setAttribute("aria-expanded", told);
}

// show shows a page, −1 for none. Until it is there nothing can be graded, and what
// was shown before is hidden.
async function show(i) {
  n = i;
  const at = key(i);
  shown = "";
  draw();
  if (n < 0) return;
  let p;
  try {
    p = await page(n);
  } catch (e) {
    if (at === key(n)) tell(e.message, true);
    return;
  }
  if (at !== key(n)) return; // the reader is elsewhere by now
  $("title").textContent = p.title || "(no title)";
  $("address").textContent = p.address;
  $("text").replaceChildren(...(p.parts ?? []).map((x) => el("p", { className: x.main ? "main" : "rest" }, x.text)));
  if (!p.parts?.length) $("text").replaceChildren(el("p", { className: "rest" }, "The page has no text. Look at it as archived."));
  $("text").scrollTop = 0;
  frame.dataset.src = p.src;
  shown = at;
  draw();
  place();
  const next = following(n + 1);
  if (next >= 0) page(next).catch(() => {}); // it will be told when it is shown
}

// place shows the text or the frame.
function place() {
  $("text").hidden = archived;
  frame.hidden = !archived;
  $("mode").setAttribute("aria-pressed", archived);
  // A new address in the same frame would be an entry in the browser's history.
  const src = archived && n >= 0 ? frame.dataset.src : "about:blank";
  if (frame.dataset.shown !== src) {
    frame.dataset.shown = src;
    frame.contentWindow.location.replace(src);
  }
  if (!entered) $("panel").focus({ preventScroll: true });
}

function draw() {
  $("welcome").hidden = true;
  $("reading").hidden = $("progress").hidden = $("topic").hidden = $("who").hidden = false;
  $("who").textContent = reader;
  topics[topic] = { ...topics[topic], read: view.read, again: view.again };
  $("topic").replaceChildren(...topics.map((t, i) => el("option", { value: i, selected: i === topic }, `${t.web}: ${t.name} (${t.read} of ${t.pages})`)));
  $("bar").max = view.pages;
  $("bar").value = view.read;
  $("count").textContent = `${view.read} of ${view.pages} read`;
  $("mainly").textContent = view.narrative.mainly;
  $("partly").textContent = view.narrative.partly;
  $("no").textContent = view.narrative.no;
  const given = n < 0 ? "" : again ? view.second[n] : view.grades[n];
  for (const b of document.querySelectorAll(".grade")) {
    b.disabled = !ready();
    b.setAttribute("aria-pressed", n >= 0 && b.dataset.grade === given);
  }
  $("undo").disabled = !view.undo;
  $("back").disabled = n < 0 || beside(-1) < 0;
  $("next").disabled = n < 0 || beside(1) < 0;
  $("unread").disabled = following(0) < 0;
  const differ = view.differ.filter(Boolean).length;
  $("again").hidden = !differ && !again;
  $("again").setAttribute("aria-pressed", again);
  $("again").replaceChildren(again ? "Back to reading " : `Look again: ${view.again} of ${differ} where readers differ `, el("kbd", { "aria-hidden": "true" }, "S"));
  $("others").hidden = true;
  if (again && ready()) others();
  for (const id of ["title", "address", "text", "page"]) $(id).style.visibility = ready() ? "" : "hidden";
  $("top").style.visibility = n < 0 ? "hidden" : "";
  $("loading").hidden = n < 0 || ready();
  $("end").hidden = n >= 0;
  if (n < 0) {
    frame.hidden = true;
    const rest = topics.filter((t) => t.read < t.pages).length;
    $("end").textContent = again
      ? "You have looked at all of them again. S goes back to reading."
      : "All pages of this topic are read. " + (view.again ? "On some of them readers differ: S shows them. " : "") + (rest ? "Choose another topic above." : "All topics are read: thank you.");
  }
}

// others tells, in a second look, what was said of the page.
async function others() {
  const i = n;
  try {
    const p = await ask("page", { reader, topic, n: i, round: 2 }); // anew: somebody may have read it since
    if (i !== n || !again) return;
    $("others").textContent = `You said ${view.grades[i]}. ${p.others?.length > 1 ? "Others" : "Another reader"} said ${(p.others ?? []).join(", ")}. What is right by the sentences above?`;
    $("others").hidden = false;
  } catch (e) {
    tell(e.message, true);
  }
}

async function grade(g) {
  if (!view || !ready()) return; // what is on display is not the page to be graded
  const at = shown;
  const changed = again ? view.second[n] : view.grades[n];
  const v = await act("label", { topic, n, grade: g, round: again ? 2 : 1 });
  if (!v) return;
  what(false);
  view = v;
  tell("");
  if (changed || at !== key(n)) draw(); // one that had a grade stays: its reader came back to it
  else await show(following(n + 1));
}

async function undo() {
  if (!view?.undo) return;
  const v = await act("undo", {});
  if (!v) return;
  const at = v.page;
  topic = v.topic;
  view = v;
  again = v.round === 2;
  tell("Undone. The page is shown again.");
  await show(at);
}

function toggleAgain() {
  if (!again && !view?.differ.some(Boolean)) return;
  again = !again;
  tell("");
  show(following(0));
}

function toggleMode() {
  archived = !archived;
  if (view && n >= 0) place();
}

$("name-form").addEventListener("submit", (e) => {
  e.preventDefault();
  begin($("name").value.trim().replace(/\s+/g, " "));
});
$("topic").addEventListener("change", () => choose(+$("topic").value));
$("who").addEventListener("click", () => {
  sessionStorage.clear();
  location.reload();
});
$("what").addEventListener("click", () => what(!$("panel").classList.contains("told")));
$("undo").addEventListener("click", undo);
$("mode").addEventListener("click", toggleMode);
$("again").addEventListener("click", toggleAgain);
$("back").addEventListener("click", () => beside(-1) >= 0 && show(beside(-1)));
$("next").addEventListener("click", () => beside(1) >= 0 && show(beside(1)));
$("unread").addEventListener("click", () => following(0) >= 0 && show(following(n < 0 ? 0 : n + 1)));
for (const b of document.querySelectorAll(".grade")) b.addEventListener("click", () => grade(b.dataset.grade));

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || !view || ["INPUT", "SELECT"].includes(e.target.tagName)) return;
  entered = false;
  const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
  const does = {
    0: () => grade("0"), 1: () => grade("1"), 2: () => grade("2"), c: () => grade("?"), "?": () => grade("?"),
    u: undo, t: toggleMode, s: toggleAgain,
    n: () => $("unread").click(), ArrowLeft: () => $("back").click(), ArrowRight: () => $("next").click(),
    p: () => { if (archived && n >= 0) { entered = true; frame.focus(); } else $("text").focus(); },
  }[key];
  if (does && !(e.repeat && key.length === 1)) {
    e.preventDefault();
    does();
  } else if (key === " " && e.target.tagName !== "BUTTON" && !archived) {
    e.preventDefault();
    $("text").scrollBy(0, $("text").clientHeight * (e.shiftKey ? -0.85 : 0.85));
  }
});
// A click into the page would take the keys away: they come back at once, unless
// the reader went there by key.
addEventListener("blur", () => {
  if (document.activeElement === frame && !entered) setTimeout(() => $("panel").focus({ preventScroll: true }));
});

// Begin: who reads is asked once.
(async () => {
  let st;
  try {
    st = await ask("state", { reader: "" });
  } catch (e) {
    $("wrong").textContent = e.message;
    return;
  }
  $("readers").replaceChildren(...st.readers.map((name) => el("option", { value: name })));
  const known = sessionStorage.getItem("reader") || st.reader;
  if (known) begin(known);
  else $("name").focus();
})();
