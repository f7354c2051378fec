// What the controls of all local pages share.

export const token = location.pathname.split("/")[1];

export const $ = (id) => document.getElementById(id);

// el makes an element; what it holds is text or elements.
export function el(name, props = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key in e && !key.includes("-")) e[key] = value;
    else if (value !== false && value != null) e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

// ask speaks to the server, and returns its new state.
export async function ask(name, body, signal) {
  const answer = await fetch("/do/" + name, {
    method: body ? "POST" : "GET",
    headers: { "Waggle-Token": token, ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
    signal,
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}
