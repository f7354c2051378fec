import { useData } from "./api.js";
import { count, moment, number, span } from "./format.js";

// Words for the states of a worker, in the order in which they are counted.
const states = ["running", "idle", "waiting", "paused", "leaving", "left", "lost"];

// quiet is after how many seconds without a word the engine is said not to answer.
const quiet = 10;

// Workers shows all workers of the crawl, as the one of this folder heard of them last.
export function Workers({ crawl, stamp, now }) {
  const { data } = useData(`crawls/${crawl}/workers`, stamp);
  if (!data) return <section class="card wide" aria-busy="true"><h2>Workers</h2></section>;
  const of = (s) => data.workers.filter((w) => w.state === s).length;
  const ago = (at) => (new Date(now) - new Date(at)) / 1000;
  const free = data.shards - data.held;
  return (
    <section class="card wide" aria-labelledby="workers-title">
      <h2 id="workers-title">Workers</h2>
      <p>
        {count(data.workers.length, "worker")}: {states.filter(of).map((s) => `${of(s)} ${s}`).join(", ")}.{" "}
        {number(data.relevant)} relevant among {count(data.pages, "page")} of all workers{data.left !== undefined ? `; ${number(data.left)} of the budget of ${number(data.budget)} are left` : ", without a limit"}.
        {data.over && <> The crawl is over: {data.over_words}.</>}
      </p>
      {!data.running && data.at && <p class="soft">The worker of this folder does not run: this is what it heard last, {moment(data.at)}. Others may crawl on.</p>}
      {data.running && data.at && ago(data.at) > quiet && <p class="notice">The engine has not been heard for {span(ago(data.at))}: this is from before.</p>}
      {data.running && !data.over && free > 0 && <p class="soft">{free} of {count(data.shards, "shard")} have no worker at present.</p>}
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="workers-title"><table class="workers">
        <thead><tr><th>Worker</th><th>Machine</th><th>State</th><th class="n">Relevant</th><th class="n">Pages</th><th class="n">Pages/s</th><th class="n">Shards</th><th class="n">Waiting</th><th class="n">Under way</th><th>Last heard</th></tr></thead>
        <tbody>{data.workers.map((w, i) => (
          <tr key={i} class={w.state === "left" || w.state === "lost" ? "gone" : ""}>
            <td class="text"><bdi>{w.name}</bdi>{w.own && <span class="soft"> this folder</span>}</td>
            <td class="text"><bdi>{w.machine}</bdi></td>
            <td class={w.state === "lost" ? "down" : ""}>{w.state}{w.ended && <span class="soft">: {w.ended_words}</span>}</td>
            <td class="n">{number(w.relevant)}</td>
            <td class="n">{number(w.pages)}</td>
            <td class="n">{w.speed.toFixed(w.speed < 10 ? 2 : 1)}</td>
            <td class="n">{number(w.shards)}</td>
            <td class="n">{number(w.waiting)}</td>
            <td class="n">{number(w.in_flight)}</td>
            <td>{w.heard && (data.running && w.state !== "left" && w.state !== "lost" && ago(w.heard) < 3600 ? `${span(Math.max(0, ago(w.heard)))} ago` : moment(w.heard))}</td>
          </tr>
        ))}</tbody>
        <tfoot><tr><td class="text">all</td><td /><td /><td class="n">{number(data.relevant)}</td><td class="n">{number(data.pages)}</td><td class="n">{data.speed.toFixed(data.speed < 10 ? 2 : 1)}</td><td class="n">{number(data.held)}</td><td class="n">{number(data.workers.reduce((n, w) => n + w.waiting, 0))}</td><td class="n">{number(data.workers.reduce((n, w) => n + w.in_flight, 0))}</td><td /></tr></tfoot>
      </table></div>
    </section>
  );
}
