// Where the person is: #/CRAWL/SCREEN?PARAMETERS.
import { useEffect, useState } from "preact/hooks";
import { query } from "./api.js";

export function read(hash) {
  const [path, params] = hash.replace(/^#\/?/, "").split("?");
  const [crawl, screen] = path.split("/");
  return { crawl, screen: screen || "now", params: Object.fromEntries(new URLSearchParams(params || "")) };
}

export const to = (crawl, screen, params = {}) => `#/${crawl}/${screen}${query(params)}`;

export function go(crawl, screen, params, replace) {
  const hash = to(crawl, screen, params);
  if (replace) { history.replaceState(null, "", hash); dispatchEvent(new HashChangeEvent("hashchange")); } else location.hash = hash;
}

export function useRoute() {
  const [at, set] = useState(() => read(location.hash));
  useEffect(() => {
    const look = () => set(read(location.hash));
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  return at;
}
