// Figures as people read them, as waggle writes them elsewhere.
// toLocaleString took a third of the time in which a screen of figures is made.
export const number = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
export const percent = (share) => (100 * share - ((100 * share) % 1 === 0.25 ? 0.01 : 0)).toFixed(1) + "\u00a0%"; // 5.25 is 5.2, as Go has it
export const decimal = (v) => (v < 0.0005 && v > 0 ? "< 0.001" : v.toFixed(3));

// apart are two numbers with as many decimals, from three on, as tell which is greater.
export function apart(a, b) {
  if (a === b || decimal(a) !== decimal(b)) return [decimal(a), decimal(b)];
  let digits = 4;
  while (digits < 17 && a.toFixed(digits) === b.toFixed(digits)) digits++;
  return [a.toFixed(digits), b.toFixed(digits)];
}

export function size(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 999.5 && i < units.length - 1) { n /= 1000; i++; }
  return (i ? n.toFixed(1) : n) + "\u00a0" + units[i];
}

export function span(seconds) {
  const s = Math.round(seconds);
  const two = (n) => String(n).padStart(2, "0");
  if (s < 60) return s + " s";
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  return `${Math.floor(s / 86400)} d ${two(Math.floor((s % 86400) / 3600))} h`;
}

// priority of a link: that of a seed is beyond any that a scorer gives.
export function priority(v) {
  if (v >= 1e29) return "a seed's";
  const a = Math.abs(v);
  return a >= 1000 || (a > 0 && a < 0.001) ? v.toExponential(1) : v.toFixed(a < 1 ? 3 : 2);
}

const two = (n) => String(n).padStart(2, "0");

// moment in the time of this machine, as 2026-03-01 12:00:05.
export function moment(text) {
  const t = new Date(text);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

export function count(n, one, many = one + "s") {
  return number(n) + " " + (n === 1 ? one : many);
}

// quoted is a word as a shell takes it.
export const quoted = (word) => (/^[\w./:~+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
