import { count, number, percent, span } from "./format.js";

// Activity shows what a crawl that runs does at the moment: its fetches, by what each waits for.
export function Activity({ of }) {
  const words = new Map(of.stages.map((s) => [s.stage, s.words]));
  const idle = of.fetches - of.busy;
  const late = of.age >= 5;
  const longest = of.longest.filter((f) => f.for >= 1).slice(0, 5);
  return (
    <section class="card" aria-labelledby="activity-title">
      <h2 id="activity-title">What the fetches wait for</h2>
      {late && <p class="notice">The crawl has told nothing for {span(of.age)}: it is busy with its disk, or was suspended. This is what it told then.</p>}
      <ul class="bars wordy">
        {of.stages.map((s) => <li key={s.stage}><span class="label">{s.words}</span><span class="track"><i style={{ width: (100 * s.count) / of.fetches + "%" }} /></span><span class="n">{number(s.count)}</span></li>)}
        {idle > 0 && <li key="idle"><span class="label">idle</span><span class="track idle"><i style={{ width: (100 * idle) / of.fetches + "%" }} /></span><span class="n">{number(idle)}</span></li>}
      </ul>
      <p class="soft">{of.busy} of {count(of.fetches, "fetch", "fetches")} under way.{idle > 0 && of.idle && <> The others are idle: {of.idle}.</>}{of.due > 0 && !late && <> The next host is due in {span(Math.max(1, of.due))}.</>}{of.writing >= 0.2 && <> {percent(of.writing)} of the time is spent writing to the disk.</>}</p>
      {longest.length > 0 && <>
        <h3>For the longest time</h3>
        <ul class="plain inline">{longest.map((f, i) => <li key={i}><bdi class="address">{f.host}</bdi> <span class="soft">{words.get(f.stage) || f.stage}, {span(f.for)}</span></li>)}</ul>
      </>}
    </section>
  );
}
