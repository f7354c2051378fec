import { query, useData } from "./api.js";
import { useState } from "preact/hooks";
import { moment, quoted } from "./format.js";

// Export says what is wrong with the last one: a browser shows no reason of a file that did not come.
function Export({ of, dir }) {
  return (
    <p class="notice" role="alert"><strong>{of.partial ? `${of.form} of ${moment(of.at)} holds what can be read, and not all.` : `${of.form} was not given at ${moment(of.at)}, or broke off.`}</strong> <bdi>{of.why.replace(/\.$/, "")}</bdi>.
      {!of.partial && !of.refused && <> “What can be read, where files of the crawl are damaged” gives the rest.</>}{!of.refused && !of.why.includes("waggle verify") && <> <code>waggle verify {quoted(dir)}</code> tells what is damaged.</>}</p>
  );
}

// Collection shows what can be taken away, and what the crawl was told.
export function Collection({ at, state }) {
  const { data, error } = useData(`crawls/${at.crawl}/job`, state.figures.runs);
  const forms = useData("exports", "");
  const [without, setWithout] = useState(false);
  const [partial, setPartial] = useState(false);
  return (
    <div class="screen">
      <section class="card" aria-labelledby="take-title">
        <h1 id="take-title">Take it away</h1>
        <p class="soft">The crawl as it is now, in a file. The same as <code>waggle export {state.dir} FORM</code>.</p>
        <label class="check"><input type="checkbox" checked={without} onChange={(e) => setWithout(e.target.checked)} /> Without pages that ask not to be kept, or not to be used for AI or data mining</label>
        <label class="check"><input type="checkbox" checked={partial} onChange={(e) => setPartial(e.target.checked)} /> What can be read, where files of the crawl are damaged</label>
        <ul class="forms">{forms.data?.map((f) => (
          <li key={f.name}><a class="button" href={`api/crawls/${at.crawl}/exports/${f.name}${query({ "without-opt-outs": without, partial })}`} download={f.file}>{f.name}</a><span>{f.line}</span></li>
        ))}</ul>
        {state.export && <Export of={state.export} dir={state.dir} />}
        {forms.error && <p class="soft">{forms.error}</p>}
      </section>
      <section class="card" aria-labelledby="job-title">
        <h2 id="job-title">What the crawl was told</h2>
        {error ? <p class="soft">{error}</p> : <p class="soft">This is <code>job.yaml</code> in <code>{state.dir}</code>, with every value in force. The same file begins the same crawl: <code>waggle crawl -f job.yaml -o DIR</code>.</p>}
        {data?.changes.length > 0 && (
          <>
            <h3>Told otherwise later</h3>
            <ul class="plain">{data.changes.map((c) => <li key={c.at + c.setting + c.new}>{moment(c.at)}: <code>{c.setting}</code> from {c.old || "nothing"} to {c.new || "nothing"}</li>)}</ul>
          </>
        )}
        {data && <pre class="file lines" tabIndex={0} aria-label="The job file">{data.job}</pre>}
      </section>
    </div>
  );
}
