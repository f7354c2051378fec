"use strict";
// The values of charts of lines, under the pointer and by the arrow keys: left
// and right along a chart, up and down from panel to panel, Escape to leave.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const make = (name, props, parent) => {
    const e = document.createElementNS(NS, name);
    for (const [k, v] of Object.entries(props)) e.setAttribute(k, v);
    return parent.appendChild(e);
  };
  const put = (name, text, parent) => {
    const e = parent.appendChild(document.createElement(name));
    e.textContent = text;
    return e;
  };
  const figures = (v, percent) => {
    if (percent) return (100 * v).toLocaleString("en", { maximumFractionDigits: 1 }) + "%";
    const size = Math.abs(v);
    return v.toLocaleString("en", { maximumFractionDigits: size >= 10 ? 1 : size >= 1 ? 2 : 3 });
  };

  for (const svg of document.querySelectorAll("svg[data-panels]")) {
    const panels = JSON.parse(svg.dataset.panels).filter((p) => p.at.length);
    const figure = svg.parentElement;
    const tip = put("div", "", figure);
    tip.className = "tip";
    tip.setAttribute("role", "status");
    tip.hidden = true;
    const marks = make("g", { "aria-hidden": "true" }, svg);
    let panel = 0, place = 0;

    const across = (p, v) => p.box[0] + ((v - p.x[0]) / (p.x[1] - p.x[0])) * (p.box[2] - p.box[0]);
    const up = (p, v) => p.box[3] - (Math.min(Math.max(v, p.y[0]), p.y[1]) - p.y[0]) / (p.y[1] - p.y[0]) * (p.box[3] - p.box[1]);
    const hide = () => { tip.hidden = true; marks.replaceChildren(); };

    const show = () => {
      const p = panels[panel], at = p.at[place], x = across(p, at);
      marks.replaceChildren();
      tip.replaceChildren();
      make("line", { class: "s-muted", x1: x, x2: x, y1: p.box[1], y2: p.box[3] }, marks);
      const head = panels.length > 1 && p.title ? p.title + ", " : "";
      put("b", head + figures(at) + (p.xLabel ? " " + p.xLabel : ""), tip);
      const rows = put("table", "", tip);
      for (const s of [...p.series].sort((a, b) => b.values[place] - a.values[place])) {
        const v = s.values[place];
        if (v === null) continue;
        make("circle", { class: "f-" + s.ink, cx: x, cy: up(p, v), r: 3 }, marks);
        const row = put("tr", "", rows), name = put("td", "", row);
        make("rect", { class: "f-" + s.ink, width: 10, height: 10 }, make("svg", { class: "wp", viewBox: "0 0 10 10", "aria-hidden": "true" }, name));
        name.append(s.name);
        put("td", figures(v, p.percent), row);
      }
      tip.hidden = false;
      // Beside the line, on the side that has room.
      const k = svg.clientWidth / svg.viewBox.baseVal.width;
      const left = x * k + 14, width = tip.offsetWidth;
      tip.style.left = (left + width > svg.clientWidth ? Math.max(0, x * k - 14 - width) : left) + "px";
      tip.style.top = p.box[1] * k + "px";
    };

    const nearest = (p, x) => p.at.reduce((best, v, i) => (Math.abs(across(p, v) - x) < Math.abs(across(p, p.at[best]) - x) ? i : best), 0);

    svg.addEventListener("pointermove", (e) => {
      const r = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / r.width;
      const x = (e.clientX - r.left) * k, y = (e.clientY - r.top) * k;
      const at = panels.findIndex((p) => x >= p.box[0] - 8 && x <= p.box[2] + 8 && y >= p.box[1] && y <= p.box[3] + 8);
      if (at < 0) return hide();
      panel = at;
      place = nearest(panels[at], x);
      show();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.tabIndex = 0;
    svg.setAttribute("aria-description", "The arrow keys read its values.");
    svg.addEventListener("keydown", (e) => {
      const last = panels[panel].at.length - 1;
      const to = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -last], End: [0, last] }[e.key];
      if (e.key === "Escape") return hide();
      if (!to || e.ctrlKey || e.altKey || e.metaKey) return;
      if (to[0] && panels.length === 1) return; // the page scrolls
      e.preventDefault();
      if (!tip.hidden) { // the first key shows where one is
        const x = across(panels[panel], panels[panel].at[place]) - panels[panel].box[0];
        panel = Math.min(Math.max(panel + to[0], 0), panels.length - 1);
        const p = panels[panel];
        place = to[0] ? nearest(p, p.box[0] + x) : Math.min(Math.max(place + to[1], 0), last);
      }
      show();
    });
  }
})();
