package lab

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/waggle-crawler/waggle/eval/report"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/train"
)

// Example writes a lab file with everything that one can say: every scorer,
// every constant of it with its default, range and meaning.
func Example(w io.Writer) error {
	var judges []string
	for _, l := range Judges() {
		judges = append(judges, l.Name)
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, `# All that a lab file can say, with the defaults. Take out what is not wanted.
title: Strategies compared
notes: []                     # sentences for the head of the report
webs:
  - path: WEB                 # a recorded web, made by waggle web build
    # topics: [a, b, c]       # default: all that have a truth
    # dev: [a]                # those that settings were chosen on: reported apart
    # budgets: [100, 300]     # instead of those below, for a small web
    train: {folds: sites, targets: 20}  # each site is crawled with models taught on the others, from up to 20 relevant pages;
                              # also folds: 3, as many parts of the sites (of the hosts, where sites are fewer), or hosts: [a, b], that teach and are not crawled; for control, folds: same or same-but-hits teach where they crawl
budgets: [300, 1000, 3000]    # pages; every cell runs to the largest
repeats: 1                    # of each topic; after the first, with two thirds of its seeds and examples
seed: 0                       # of chance, in the first repeat
seeds: [near]                 # or far: some links from the next relevant page
hops: 0                       # 1…4: instead, pages exactly so many links from the next relevant page
truth: web                    # of the web; or read: what readers found by reading the pages of a pool, the rest estimated; or silver: the rest by a classifier
# silver: FILE                # grades by waggle lab pool extend, for truth: silver
examples: web                 # of the web; or read: those chosen in the pool's examples.tsv, with negative ones
# pool: DIR                   # folder of the pool (waggle lab pool draw), for truth: read or silver, and examples: read
# grade: 1                    # truth: read or silver: pages count from 1 (in part) or 2 (mainly) on
bad-examples: 0               # so many of the examples are exchanged for pages that are not about the topic
# example-count: 3            # so many examples of each topic, others in each repeat; 0 leaves its keywords alone; default: all
label-noise: 0                # share of pages of which scorers are told the verdict of another page
hide-half: false              # true hides half of the examples, for target recall
outside: drop                 # links outside the record: drop, fail, bounds
keep-runs: false              # true keeps the pages of each crawl in their order, in runs/: waggle lab pool draw needs them
ignore-directives: false      # true follows nofollow and counts noindex: it is the record that is asked
# fetch: {types: [html, pdf]} # documents that are taken, as in a job file (waggle crawl --example-job); default: pages in HTML
# links: {sources: [alternates, feeds]}  # where links come from, as in a job file
# topic: {want: documents}    # what counts of the truth: both (default), pages, documents
judges: [topic]               # of %s; the last for diagnosis only; one with settings of its own as {name: NAME, as: NAME, set: {…}}
# critic:                     # what the judges critic and critic-printed are taught, which is hits for nobody:
#   examples: 50              # pages of each topic, at most half of its relevant ones; default: its examples alone
#   background: 300           # pages drawn from the record for the class Other
baseline: breadth-first       # the scorer that all others are compared with
measures: []                  # of the main tables; waggle lab list names them
network: {workers: 1, delay: 0s, latency: 0s, spread: 0}   # simulated: delay between requests to a host, median latency;
                              # also wait-for-better: 5s, as budget.wait-for-better of a job file
thesaurus: {wordnet: /usr/share/wordnet}                   # for the semantic scorers; or {table: FILE}
scorers:                      # name:, and if need be as: NAME, queue: links that wait at most, similarity: judge|%s, set: {…}
                              # of apprentices also after: NAME, the scorer of this lab whose whole crawl teaches them first (with set: {online: 0}, all they know);
                              # of any within: NAME, whose pages alone can be fetched; and labels: {count: 20, every: 10, ask: uncertain},
                              # which a person gives during the crawl (ask: random; wrong: 0.1, the chance of a wrong one; more: true);
                              # together: {workers: 8, fetches: 1, delay: 100ms, every: 200ms, by: host|domain, own: [price, lessons]}: several
                              # workers do its crawls, with messages that take delay; own is what they do not share
`, strings.Join(judges, ", "), strings.Join(judge.SimilarityKinds(), "|"))
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, d := range score.Descriptions() {
		line := d.Line
		if d.Print != nil {
			line = "as printed in " + d.Print.Paper + ": " + line
		}
		fmt.Fprintf(tab, "  - name: %s\t# %s\n", d.Name, line)
		if len(d.Settings) > 0 {
			fmt.Fprintf(tab, "    set:\t\n")
		}
		for _, s := range d.Settings {
			fmt.Fprintf(tab, "      %s: %v\t# %s; %v…%v\n", s.Name, s.Default, s.Line, s.Min, s.Max)
		}
		if kind := score.ModelOf(d); kind != "" && d.Print == nil {
			lesson(tab, kind)
		}
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// lesson writes how models of a kind are taught, with its constants.
func lesson(w io.Writer, kind model.Kind) {
	i := slices.IndexFunc(train.Fitters(), func(f train.Fitter) bool { return f.Kind == kind })
	f := train.Fitters()[i]
	keys := []string{"sequences", "variance", "iterations"}
	switch {
	case f.Paths:
		keys = []string{"variance", "iterations", "wrong-turns", "milestones"}
	case f.Pages && f.Stateless:
		keys = nil
	case f.Pages:
		keys = []string{"states"}
	case f.Stateless:
	case kind == model.CRF || kind == model.MEMM:
		keys = append([]string{"states", "features"}, keys...)
	default:
		keys = []string{"states", "sequences", "iterations"}
	}
	fmt.Fprintf(w, "    # train:\t# how its model, of kind %s, is taught; beside set: %s\n", kind, cmp.Or(strings.Join(keys, ", "), "nothing"))
	fmt.Fprintf(w, "    #   set:\t\n")
	for _, s := range f.Settings {
		fmt.Fprintf(w, "    #     %s: %v\t# %s; %v…%v\n", s.Name, s.Default, s.Line, s.Min, s.Max)
	}
}

// judgeLines are Judges, and those of the program that a lab takes.
func (f *File) judgeLines() []judge.Line { return append(Judges(), topical(f.own.Judges)...) }

// topical names the judges that need nothing but the topic.
func topical(list []judge.Description) (out []judge.Line) {
	for _, d := range list {
		if _, critic := d.Uses(judge.InputCritic, nil); judge.Topical(d) && !critic {
			out = append(out, judge.Line{Name: d.Name, Line: d.Line})
		}
	}
	return out
}

// Judges names the judges that a lab takes: those that need nothing but the
// topic, critics, and at last the one that knows the truth.
func Judges() []judge.Line {
	list := append(topical(judge.Descriptions()),
		judge.Line{Name: criticJudge, Line: "naive Bayes over the web's topics and Other, of pages that critic: names"},
		judge.Line{Name: criticPrinted, Line: "the same as printed: nearly all of its probabilities are 0 or 1"})
	return append(list, judge.Line{Name: report.TruthJudge, Line: "the web's truth itself: for diagnosis, never in a headline table"})
}
