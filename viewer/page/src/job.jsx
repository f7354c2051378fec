import { useData } from "./api.js";
import { moment } from "./format.js";

// Job shows what the crawl was told.
export function Job({ at, state }) {
  const { data, error } = useData(`crawls/${at.crawl}/job`, state.figures.runs);
  return (
    <section class="card" aria-labelledby="job-title">
      <h1 id="job-title">What the crawl was told</h1>
      <p class="soft">This is <code>job.yaml</code> in <code>{state.dir}</code>, with every value in force. The same file begins the same crawl: <code>waggle crawl -f job.yaml -o DIR</code>.</p>
      {error && <p class="soft">{error}</p>}
      {data?.changes.length > 0 && (
        <>
          <h2>Told otherwise later</h2>
          <ul class="plain">{data.changes.map((c) => <li key={c.at + c.setting}>{moment(c.at)}: <code>{c.setting}</code> from {c.old || "nothing"} to {c.new || "nothing"}</li>)}</ul>
        </>
      )}
      {data && <pre class="file" tabIndex={0} aria-label="The job file">{data.job}</pre>}
    </section>
  );
}
