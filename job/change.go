package job

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/waggle-crawler/waggle/collection"
	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/web"
)

// A crawl that goes on is held against what it was told before: by its job file,
// which a person may have edited, as by flags. The log knows what that was, see
// event.Started.Settings and event.Changed.

// maxValue is the most of a value that the log holds, in bytes.
const maxValue = 1 << 10

// Text is the value in a line of text, as the log holds it: a list or a
// structure is JSON, and what is longer than 1 KiB its beginning with a digest.
// "" if the job has none.
func (s Setting) Text(j *Job) string {
	if !s.Given(j) {
		return ""
	}
	b, err := yaml.Marshal(s.field(j).Interface())
	if err != nil {
		panic(err) // plain values
	}
	var v any
	if err := yaml.Unmarshal(b, &v); err != nil {
		panic(err) // it was written a moment ago
	}
	text, ok := v.(string)
	if !ok {
		var line strings.Builder
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			panic(err) // keys of mappings are texts
		}
		text = strings.TrimSuffix(line.String(), "\n")
	}
	if len(text) > maxValue {
		text = fmt.Sprintf("%s… (%d bytes, sha256 %x)", strings.ToValidUTF8(text[:maxValue/2], ""), len(text), sha256.Sum256([]byte(text)))
	}
	return text
}

// texts are the values of a job, by path.
func (j *Job) texts() map[string]string {
	out := map[string]string{}
	for _, s := range Settings() {
		if text := s.Text(j); text != "" {
			out[s.Path] = text
		}
	}
	return out
}

// Diff tells in what a job differs from what a crawl was told before. Both have
// their defaults filled in; a setting that the crawl did not know, and that has
// its default now, is no difference.
func (j *Job) Diff(was map[string]string) (out []event.Changed) {
	for _, s := range Settings() {
		now := s.Text(j)
		if old, known := was[s.Path]; old != now && (known || !s.isDefault(now)) {
			out = append(out, event.Changed{Setting: s.Path, Old: old, New: now})
		}
	}
	return out
}

// isDefault tells whether a text is that of the setting's default.
func (s Setting) isDefault(text string) bool {
	j := &Job{}
	j.setDefaults()
	return text == s.Text(j)
}

// Unjudged are the settings, by path, by which pages are judged and that a job file
// gives otherwise than the log of its crawl: the pages are not judged by it.
func (j *Job) Unjudged(c collection.Collection) (paths []string) {
	was := event.ReadHistory(c.EventLog()).Settings
	if was == nil {
		return nil
	}
	own := *j
	own.setDefaults()
	for _, change := range own.Diff(was) {
		if s, _ := Lookup(change.Setting); s.Resume == Verdicts {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// Otherwise are the settings, by path, that a job file gives otherwise than the log of a crawl has
// them, or its own job file where the log has none: lasting are those that tell that it is the job of another crawl, as no crawl that goes on
// changes them or as it has none of the crawl's seeds.
func (j *Job) Otherwise(c collection.Collection) (lasting, others []string) {
	own := *j
	own.setDefaults()
	was := event.ReadHistory(c.EventLog()).Settings
	if was == nil { // repaired where the log was lost: the job file of the crawl has them
		kept, err := In(c)
		if err != nil {
			return nil, nil // who goes on with the crawl is told
		}
		kept.setDefaults()
		was = kept.texts()
	}
	named := []string{"topic.examples", "topic.negatives", "scorer.model", "scorer.wordnet", "scorer.thesaurus", "judge.critic"}
	for _, change := range own.Diff(was) {
		s, _ := Lookup(change.Setting)
		switch {
		case s.isDefault(change.New), slices.Contains(named, s.Path) && sameFiles(change.Old, change.New):
			// the file need not give what a flag gave, nor does it name files from the same folder
		case s.Resume >= Verdicts, s.Path == "seeds" && !slices.ContainsFunc(j.Seeds, func(seed string) bool { return strings.Contains(change.Old, strconv.Quote(seed)) }):
			lasting = append(lasting, s.Path)
		default:
			others = append(others, s.Path)
		}
	}
	return lasting, others
}

// SaysNothing tells whether a job has no value but defaults, as an empty file gives.
func (j *Job) SaysNothing() bool {
	own := *j
	own.setDefaults()
	return !slices.ContainsFunc(Settings(), func(s Setting) bool { return !s.isDefault(s.Text(&own)) })
}

// sameFiles tells whether two texts of a setting name the same files, wherever they are looked for from.
func sameFiles(a, b string) bool {
	bases := func(text string) (names []string) {
		for name := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
			names = append(names, path.Base(strings.Trim(name, `"`)))
		}
		return names
	}
	return slices.Equal(bases(a), bases(b))
}

// refuse says which of the changes cannot be made; nil if all can. dir is the
// folder of the crawl.
func refuse(changes []event.Changed, dir string) error {
	var errs []error
	for _, c := range changes {
		s, _ := Lookup(c.Setting)
		if s.Resume < Verdicts {
			continue
		}
		errs = append(errs, &Error{s.Path, fmt.Errorf("%s was %s and is %s now, which cannot be when a crawl goes on: %s; or set it back",
			s.Path, quoted(c.Old), quoted(c.New), strings.ReplaceAll(s.Why, "DIR", dir))})
	}
	return errors.Join(errs...)
}

func quoted(value string) string {
	if value == "" {
		return "nothing"
	}
	return event.Line(value)
}

// checkChanges refuses what cannot change, before anything else is done.
func (m *Maker) checkChanges() error {
	if m.Begun == nil {
		return nil
	}
	return refuse(m.committedDiff(), m.Begun.Dir())
}

// committedDiff is what of the job differs from what the log tells, before the stores are open: what they
// will cut off the log does not count. It is nil where the log does not say what the crawl was told.
func (m *Maker) committedDiff() []event.Changed {
	var history event.History
	for e, err := range m.Begun.CommittedKinds(event.Started{}.Kind(), event.Changed{}.Kind()) {
		if err == nil {
			history.Add(e)
		}
	}
	if history.Settings == nil {
		return nil
	}
	return m.Job.Diff(history.Settings)
}

// change tells a crawl that goes on what of its job has changed; its stores are
// open. What is spent of the budget bounds what it may be.
func (m *Maker) change(ctx context.Context, c *crawl.Crawl) error {
	history, acts := m.told()
	if history.Settings == nil { // of an earlier waggle, or repaired where the log was lost
		c.Settings = m.Job.texts()
		lost := true
		for range event.ReadKinds(m.Begun.EventLog(), event.Seeded{}.Kind()) {
			lost = false
			break
		}
		c.Changes.Links, c.Changes.Seeds, c.Changes.Shares = lost, lost, lost
	} else {
		c.Changes.Settings = m.Job.Diff(history.Settings)
	}
	waiting, err := m.waiting(acts)
	if err != nil {
		return err
	}
	c.Changes.Settings = slices.DeleteFunc(c.Changes.Settings, func(e event.Changed) bool {
		return e.Setting == "budget.pages" && m.kept(acts, waiting)
	})
	if err := refuse(c.Changes.Settings, m.Begun.Dir()); err != nil {
		return err
	}
	changed := map[string]bool{}
	var notes []string
	for _, e := range c.Changes.Settings {
		changed[e.Setting] = true
		s, _ := Lookup(e.Setting)
		switch {
		case s.Path == "seeds":
			c.Changes.Seeds = true
		case s.Path == event.SettingHostPages:
			c.Changes.Shares = true
		case s.Resume == AllLinks:
			c.Changes.Links = true
		}
		notes = append(notes, fmt.Sprintf("Changed: %s from %s to %s; %s", s.Path, clip(quoted(e.Old)), clip(quoted(e.New)), s.effect()))
	}
	if c.Changes.Seeds {
		names, err := m.Begun.Lost()
		if err != nil {
			return err
		}
		for _, name := range names {
			if u, err := web.Parse(name); err == nil {
				c.Changes.Lost = append(c.Changes.Lost, u)
			}
		}
	}
	threshold, judged := history.Threshold()
	if changed[event.SettingThreshold] {
		threshold, judged = c.Threshold, true
	}
	if judged {
		c.History = event.Under(threshold, c.History)
	}
	spent, err := m.checkBudget(ctx, changed, append(acts, waiting...))
	if err != nil {
		return err
	}
	for _, note := range append(notes, spent...) {
		m.Note(note)
	}
	return nil
}

// effect is what a change does, in a clause.
func (s Setting) effect() string {
	if s.Resume == Anytime || s.Why == "" {
		return "it " + s.Resume.String()
	}
	return s.Why
}

// clip keeps the beginning of a value that is shown.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// told is what the log tells of the settings: what a job said, and after it what acts made of the
// budget and the delay. acts are those of the log.
func (m *Maker) told() (h event.History, acts []event.Act) {
	own := *m.Job
	for e, err := range event.ReadKinds(m.Begun.EventLog(), event.Started{}.Kind(), event.Changed{}.Kind(), event.Act{}.Kind()) {
		if err != nil {
			continue
		}
		h.Add(e)
		a, is := e.(event.Act)
		if !is {
			continue
		}
		if acts = append(acts, a); h.Settings == nil {
			continue
		}
		switch own.told(acts) {
		case event.Budget:
			h.Settings["budget.pages"] = textOf("budget.pages", &own)
		case event.Delay:
			h.Settings["politeness.delay"] = textOf("politeness.delay", &own)
		}
	}
	return h, acts
}

// told has the job as the last of acts leaves it, and tells what that set or undid.
func (j *Job) told(acts []event.Act) (of event.Verb) {
	last := &acts[len(acts)-1]
	if last.Refused != "" {
		return ""
	}
	if of = last.Do; of == event.Undo && last.Act > 0 && last.Act < len(acts) {
		of = acts[last.Act-1].Do
	}
	switch of {
	case event.Budget:
		j.Budget.Pages, _ = event.BudgetAfter(acts)
	case event.Delay:
		delay, _ := event.DelayAfter(acts)
		j.Politeness.Delay = (*Duration)(&delay)
	case event.Keywords:
		j.Topic.Keywords, _ = event.KeywordsAfter(acts)
	}
	return of
}

// InForce is the job as the acts leave it that a crawl takes in before it fetches anything: what it was told while it
// did not run, and what other workers of it were told.
func (m *Maker) InForce(c *crawl.Crawl) *Job {
	own := *m.Job
	if c.Acts == nil {
		return &own
	}
	acts := slices.Clip(c.Told)
	waiting, err := c.Acts.After(len(acts))
	if err != nil {
		return &own // which the crawl tells
	}
	for _, a := range waiting {
		a.Was, a.Before, a.KeywordsBefore = own.Budget.Pages, own.delay().String(), own.Topic.Keywords
		acts = append(acts, a)
		own.told(acts)
	}
	return &own
}

func textOf(path string, j *Job) string {
	s, _ := Lookup(path)
	return s.Text(j)
}

// waiting are the acts that wait for the crawl behind those of the log, none where several workers
// do it: those take in what others were told as well. An act that sets the budget has what it will
// find.
func (m *Maker) waiting(acts []event.Act) ([]event.Act, error) {
	if m.Begun.OfSeveral() {
		return nil, nil
	}
	waiting, err := m.Begun.Waiting(acts)
	pages := m.Job.Budget.Pages
	for i := range waiting {
		waiting[i].Was = pages
		if then, ok := event.BudgetAfter(append(slices.Clip(acts), waiting[:i+1]...)); ok {
			pages = then
		}
	}
	return waiting, err
}

// kept tells whether the job has the budget of the next act that waits: a run that died may have
// kept it before the log had the act.
func (m *Maker) kept(acts, waiting []event.Act) bool {
	if len(waiting) == 0 {
		return false
	}
	pages, ok := event.BudgetAfter(append(slices.Clip(acts), waiting[0]))
	return ok && (waiting[0].Do == event.Budget || waiting[0].Do == event.Undo) && pages == m.Job.Budget.Pages
}

// checkBudget refuses a new budget below what is spent. acts are all that people told the crawl:
// what waits of them may set another budget before anything is fetched. The note says so, and where
// nothing is left of what holds then.
func (m *Maker) checkBudget(ctx context.Context, changed map[string]bool, acts []event.Act) (note []string, err error) {
	pages, took, forecast, err := crawl.Spent(func(name string) ([]byte, error) { return m.Frontier.State(ctx, name) })
	if err != nil {
		return nil, err
	}
	took = took.Round(time.Second)
	b := &m.Job.Budget
	limit, most := time.Duration(b.Time), b.Pages
	if n := len(acts); n > 0 && acts[n-1].At.At.IsZero() {
		if then, ok := event.BudgetAfter(acts); ok {
			most = then
		}
	}
	was, is := count(b.Pages, "page"), count(most, "page")
	switch {
	case most == b.Pages:
	case most == 0:
		note = append(note, fmt.Sprintf("What it was told meanwhile lifts the budget of %s.", was))
	case b.Pages == 0:
		note = append(note, fmt.Sprintf("What it was told meanwhile sets a budget of %s.", is))
	default:
		note = append(note, fmt.Sprintf("What it was told meanwhile sets the budget from %s to %s.", number(float64(b.Pages)), is))
	}
	grant := func(flag string) string {
		if m.OnPage {
			if flag == "--pages" {
				return "grant more on Steer"
			}
			return "grant more in the job file"
		}
		return flag + " grants more"
	}
	switch {
	case changed["budget.pages"] && b.Pages > 0 && b.Pages < pages:
		return nil, &Error{"budget.pages", belowSpent(pages, b.Pages)}
	case changed["budget.time"] && limit > 0 && limit < took:
		return nil, &Error{"budget.time", fmt.Errorf("the crawl has run for %v already, and %v is its budget over all runs: give more, or 0 for no limit", took, limit)}
	case most > 0 && pages >= most:
		note = append(note, fmt.Sprintf("The budget of %s is spent: %s, as the total over all runs.", is, grant("--pages")))
	case limit > 0 && took >= limit:
		note = append(note, fmt.Sprintf("The budget of %v is spent: %s, as the total over all runs.", limit, grant("--time")))
	case forecast.Enough(b.UntilGain) && m.OnPage:
		note = append(note, fmt.Sprintf("Fewer than %g relevant pages are expected among the next %d, by the verdicts with which the last ones came: a smaller number of budget.until-gain in the job file goes on, and 0 to the end.", b.UntilGain, event.GainPages))
	case forecast.Enough(b.UntilGain):
		note = append(note, fmt.Sprintf("Fewer than %g relevant pages are expected among the next %d, by the verdicts with which the last ones came: --until-gain with a smaller number goes on, and 0 to the end.", b.UntilGain, event.GainPages))
	}
	return note, nil
}

// ResumeGroup is settings of which the same is said.
type ResumeGroup struct {
	Settings []string // paths
	Change   string   // what a change does when a crawl goes on, beginning with a verb
}

// ResumeGroups tell of all settings what a change does when a crawl goes on.
func ResumeGroups() (out []ResumeGroup) {
	at := map[string]int{}
	for _, s := range Settings() {
		text := s.Resume.String()
		if s.Why != "" {
			text += ": " + s.Why
		}
		i, ok := at[text]
		if !ok {
			i = len(out)
			at[text] = i
			out = append(out, ResumeGroup{Change: text})
		}
		out[i].Settings = append(out[i].Settings, s.Path)
	}
	return out
}

// ResumeTable is ResumeGroups as a table in Markdown.
func ResumeTable() string {
	var b strings.Builder
	b.WriteString("| setting | a change |\n|---|---|\n")
	for _, g := range ResumeGroups() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(g.Settings, "`, `"), strings.ReplaceAll(g.Change, "waggle judge DIR", "`waggle judge DIR`"))
	}
	return b.String()
}

// ResumeHelp is ResumeGroups as text for a terminal, in lines of 80 characters at most.
func ResumeHelp() string {
	var b strings.Builder
	b.WriteString(`waggle crawl -o DIR --resume goes on by DIR/job.yaml, which holds every value in
force. To change one, give its flag, or edit the file. A change
`)
	for _, g := range ResumeGroups() {
		b.WriteString("\n")
		for _, line := range terminal.Wrap(strings.Join(g.Settings, ", "), 78) {
			b.WriteString("  " + line + "\n")
		}
		for _, line := range terminal.Wrap(g.Change, 74) {
			b.WriteString("      " + line + "\n")
		}
	}
	return b.String()
}
