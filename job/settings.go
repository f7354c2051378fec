package job

import (
	"fmt"
	"math"
	"strings"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/judge"
)

// DefaultScorer is what a crawl goes by unless told otherwise.
const DefaultScorer = "waggle"

// Reasons for which a setting cannot change, with what to do instead, and what a
// change of others does.
const (
	newScorer    = "waiting links carry what the scorer made of them; begin a new crawl"
	newAddresses = "all addresses were written by these rules; begin a new crawl"
	newVerdicts  = "the pages were judged by it; waggle judge DIR judges them anew, and then the crawl can go on"

	newSeeds  = "new ones enter, also those that failed or were left out before; of those taken out, what still waits leaves"
	newScope  = "waiting links outside leave; what the scope left out before enters where it is found again"
	newDepth  = "waiting links that are too deep leave; what was too deep before enters where it is found again"
	newShares = "hosts that have had their share are closed, others opened again to links found from then on"
	newBudget = "the total over all runs; not less than is spent"
	newBound  = "the harvest is made anew by it; links keep their priorities, and what a scorer has learnt stays"
)

// Settings are the settings of a job, in the order of the example file.
func Settings() []Setting {
	return []Setting{
		{
			Path: "name", Line: "Name of the crawl", Form: "NAME", Default: "crawl", Example: "honey-bees", Shown: true,
			Resume: Never, Why: "the files of the archive are named by it; begin a new crawl",
		},
		{
			Path: "contact", Line: "Where site owners reach you; sent with every request", Form: "MAIL|URL", Flag: "contact",
			Example: "you@example.org", Shown: true, check: checkContact,
		},
		{
			Path: "seeds", Line: "Addresses to start from (default: the example pages)", Form: "URL", Flag: "seed",
			Example: "[https://en.wikipedia.org/wiki/Beekeeping]", Shown: true, Resume: AllLinks, Why: newSeeds, check: checkSeeds,
		},

		{
			Path: "topic.description", Line: "The topic in a sentence or two", Form: "TEXT", Flag: "description",
			Example: "How honey bees tell each other where food is", Shown: true, Resume: Verdicts, Why: newVerdicts,
		},
		{
			Path: "topic.keywords", Line: "Words and phrases of the topic, in one language", Form: "WORDS", Flag: "keywords", Words: true,
			Example: "[honey bee, waggle dance, foraging, bee communication]", Shown: true, Resume: Verdicts, Why: newVerdicts,
			check: func(j *Job, bad complaint) {
				for i, k := range j.Topic.Keywords {
					if err := event.CheckKeyword(k); err != nil {
						bad(fmt.Sprintf(".%d", i), "%v", err)
					}
				}
			},
		},
		{
			Path: "topic.examples", Line: "Pages like those wanted", Form: "URL|FILE", Flag: "example",
			Example: "[https://en.wikipedia.org/wiki/Waggle_dance]", Shown: true, Resume: Verdicts, Why: newVerdicts,
			check: checkExamples(func(j *Job) []string { return j.Topic.Examples }),
		},
		{
			Path: "topic.negatives", Line: "Pages unlike those wanted", Form: "URL|FILE", Flag: "negative",
			Example: "[https://en.wikipedia.org/wiki/Spelling_bee]", Resume: Verdicts, Why: newVerdicts,
			check: checkExamples(func(j *Job) []string { return j.Topic.Negatives }),
		},
		{
			Path: "topic.language", Line: "Languages of the topic, by whose rules words are compared (default: that of keywords, description and examples)", Form: "CODES",
			Flag: "language", Words: true, Example: "[de, en]", Resume: Verdicts, Why: newVerdicts, check: checkLanguage,
		},
		{
			Path: "topic.want", Line: "What counts: pages, documents such as PDF and Word (pages are the way to them), or both, all that is fetched", Form: "WHAT",
			Choices: []string{wantPages, wantDocuments, wantBoth}, Flag: "want",
			Example: "both", Resume: Verdicts, Why: newVerdicts, check: checkWant,
		},

		{
			Path: "judge.name", Line: "What makes a page relevant", Form: "NAME", Default: "topic", Choices: Strategies{}.JudgeNames(), Flag: "judge",
			Example: "topic", Shown: true, Resume: Verdicts, Why: newVerdicts,
		},
		{
			Path: "judge.threshold", Line: "Relevance, up to 1, from which a page counts (default: the judge's own)", Form: "X", Flag: "threshold",
			Example: "0.5", Resume: Pages, Why: newBound, check: checkThreshold,
		},
		{
			Path: "judge.count-hollow", Line: "Judge error notices, parked names and walls (consent, login, robots) as other pages", Flag: "count-hollow",
			Example: "false",
		},
		{
			Path: "judge.count-copies", Line: "Judge near-copies of pages fetched before as other pages", Flag: "count-copies",
			Example: "false",
		},
		{
			Path: "judge.set", Line: "Constants of the judge; waggle lab list names them with their ranges", Example: "{}", Resume: Verdicts, Why: newVerdicts, check: checkJudgeSet,
		},
		{
			Path: "judge.rules", Line: "Of the judge rules: field url, title or body; weight -1 to 1",
			Example: `[{field: title, pattern: "(?i)\\bbees?\\b", weight: 1}]`, Resume: Verdicts, Why: newVerdicts, check: checkRules,
		},
		{
			Path: "judge.critic", Line: "Critic to judge by: the file that waggle topic train made", Form: "FILE", Flag: "critic",
			Example: "dmoz.critic", Resume: Verdicts, Why: newVerdicts, check: checkCritic,
		},
		{
			Path: "judge.focus", Line: "Topics of the critic that are wanted, with all below them", Form: "TOPIC", Flag: "focus",
			Example: "[/Recreation/Outdoors/Speleology]", Resume: Verdicts, Why: newVerdicts, check: checkFocus,
		},
		{
			Path: "judge.printed", Line: "Take the critic's probabilities as published, nearly all 0 or 1",
			Example: "false", Resume: Verdicts, Why: newVerdicts,
		},
		{
			Path: "judge.anyway", Line: "Accept a critic that cannot tell the focus from the rest", Example: "false",
		},
		{
			Path: "judge.command", Line: "Of the judge command: a program and its arguments; waggle help judges-and-scorers says how it is asked",
			Example: "[./my-judge]", Resume: Verdicts, Why: newVerdicts,
		},

		{
			Path: "scorer.name", Line: "Which link goes first", Form: "NAME", Default: DefaultScorer, Choices: Strategies{}.ScorerNames(), Flag: "scorer",
			Example: DefaultScorer, Shown: true, Resume: Never, Why: newScorer,
		},
		{
			Path: "scorer.seed", Line: "Of every random draw", Form: "N", Example: "0", Resume: Never, Why: newScorer,
		},
		{
			Path: "scorer.similarity", Line: "Likeness to the topic that scorers such as waggle and best-first use", Form: "NAME",
			Default: "judge", Choices: append([]string{"judge"}, judge.SimilarityKinds()...), Example: "judge", Resume: Never, Why: newScorer,
		},
		{
			Path: "scorer.batch", Line: "Pages between two choices of best-n-first", Form: "N", Max: 1e9, Example: "256", Resume: Never, Why: newScorer,
		},
		{
			Path: "scorer.set", Line: "Constants of the scorer; waggle lab list names them with their ranges", Example: "{}", Resume: Never, Why: newScorer, check: checkSet,
		},
		{
			Path: "scorer.model", Line: "What waggle train made for the scorer: crf and others need it, waggle can begin with it", Form: "FILE", Flag: "model",
			Example: "crf.model", Resume: Never, Why: newScorer, check: checkModel,
		},
		{
			Path: "scorer.model-digest", Line: "SHA-256 of that model, written when the crawl begins", Resume: Never, Why: newScorer,
		},
		{
			Path: "scorer.wordnet", Line: "Of the semantic scorers: folder of WordNet's database files", Form: "DIR", Flag: "wordnet",
			Example: "/usr/share/wordnet", Resume: Never, Why: newScorer,
		},
		{
			Path: "scorer.thesaurus", Line: "Of the semantic scorers: a table of related words instead", Form: "FILE", Flag: "thesaurus",
			Example: "words.tsv", Resume: Never, Why: newScorer,
		},

		{
			Path: "budget.pages", Line: "Pages to fetch, over all runs; 0 = no limit", Form: "N", Max: 1e12, Flag: "pages", Short: "n",
			Example: "1000", Shown: true, Why: newBudget,
		},
		{
			Path: "budget.time", Line: "Time to spend over all runs, such as 30m or 2h; 0 = no limit", Form: "D", Flag: "time",
			Example: "2h", Why: newBudget,
		},
		{
			Path: "budget.until-gain", Line: "Stop when fewer relevant pages than this are expected among the next 100, by the last ones; 0 = never", Form: "N", Max: 100, Flag: "until-gain",
			Example: "2", Resume: Anytime,
			check: func(j *Job, bad complaint) {
				if g := j.Budget.UntilGain; g > 0 && g < 1 {
					bad("", "%v of a page: it is a number of pages among the next 100, and no share: for %v of them give %v, and 0 for never", g, g, math.Round(100*g))
				}
			},
		},
		{
			Path: "budget.wait-for-better", Line: "How long links that are due wait until a better one, whose host is not, brings a page; 0s = not at all", Form: "D", Default: "5s", Flag: "wait-for-better",
			Example: "5s", Resume: Anytime,
		},

		{
			Path: "scope.reach", Line: "How far from the seeds", Form: "REACH", Default: "any", Choices: []string{"any", "domain", "host"}, Flag: "reach",
			Example: "any", Resume: AllLinks, Why: newScope,
		},
		{
			Path: "scope.include", Line: "Regular expression: only addresses that match one", Form: "PATTERN", Flag: "include",
			Example: "[]", Resume: AllLinks, Why: newScope,
			check: patterns(func(j *Job) []string { return j.Scope.Include }),
		},
		{
			Path: "scope.exclude", Line: "Regular expression: no address that matches one", Form: "PATTERN", Flag: "exclude",
			Example: `["/login"]`, Resume: AllLinks, Why: newScope,
			check: patterns(func(j *Job) []string { return j.Scope.Exclude }),
		},
		{
			Path: "scope.within", Line: "Folder of another crawl: only addresses that it asked for and got", Form: "DIR", Flag: "within",
			Example: "baseline", Resume: AllLinks, Why: newScope,
		},
		{
			Path: "scope.max-depth", Line: "Links from a seed; 0 = the seeds alone", Form: "N", Default: "50", Max: 1e9, Flag: "max-depth",
			Example: "50", Resume: AllLinks, Why: newDepth,
		},
		{
			Path: "scope.max-host-pages", Line: "Pages from one host; 0 = no limit", Form: "N", Max: 1e9, Example: "0", Resume: AllLinks, Why: newShares,
		},
		{
			Path: "scope.max-host-queue", Line: "Links of one host that wait; the worst leave", Form: "N", Default: "10000", Max: 1e9, Example: "10000", Resume: NewLinks,
		},
		{
			Path: "scope.max-queue", Line: "Links that wait in all; the worst leave. A million take 0.2 to 1 GB of memory", Form: "N", Default: "1000000", Max: 1e9,
			Example: "1000000", Resume: AllLinks, Why: "the worst leave",
		},

		{
			Path: "politeness.delay", Line: "Pause between requests to one host or address; at least 1s for those of others", Form: "D", Default: "1s", Flag: "delay",
			Example: "1s", Shown: true,
		},
		{
			Path: "politeness.own-hosts", Line: "Hosts of your own, each with all below it: they may have a shorter pause", Form: "NAME",
			Example: "[www.example.org]", check: checkOwnHosts,
		},
		{
			Path: "politeness.address-lanes", Line: "Sites of one address asked at a time; more are for addresses that many owners share", Form: "N",
			Default: "1", Min: 1, Max: 64, Example: "1",
		},
		{
			Path: "politeness.max-crawl-delay", Line: "Longest pause that a robots.txt may ask for", Form: "D", Default: "60s", Example: "60s",
		},
		{
			Path: "politeness.give-up", Line: "How long a host that does not answer is tried again, while its links wait", Form: "D", Default: "72h", Flag: "give-up",
			Example: "72h",
		},
		{
			Path: "politeness.obey-rel-nofollow", Line: "Leave links alone that say rel=nofollow", Example: "false", Resume: NewLinks,
		},
		{
			Path: "politeness.ignore-tdmrep", Line: "Do not ask sites for /.well-known/tdmrep.json, in which they may reserve text and data mining", Example: "false", Resume: Anytime,
		},

		{
			Path: "fetch.workers", Line: "Fetches at a time", Form: "N", Default: "32", Max: 4096, Flag: "workers", Example: "32",
		},
		{
			Path: "fetch.timeout", Line: "For a whole fetch", Form: "D", Default: "10s", Example: "10s",
		},
		{
			Path: "fetch.max-body", Line: "Most bytes of a body, decoded", Form: "SIZE", Default: "10MiB", Example: "10MiB",
		},
		{
			Path: "fetch.memory", Line: "Most bytes that bodies take at a time, with what is made of them", Form: "SIZE", Default: "256MiB", Min: 1 << 20, Max: 1 << 40, Example: "256MiB",
		},
		{
			Path: "fetch.types", Line: "Kinds of documents to fetch: " + strings.Join(typeNames(), ", ") + "; or media types (with topic.want documents: all)", Form: "KINDS",
			Default: "text/html, application/xhtml+xml", Flag: "types", Words: true,
			Example: "[html, pdf, docx]", Resume: NewLinks, check: checkTypes,
		},
		{
			Path: "fetch.through", Line: "Fetch through a proxy: http, https, socks5, or socks5h, which looks names up itself; waggle web serve is one", Form: "PROXY", Flag: "through",
			Example: "http://127.0.0.1:8080", check: checkThrough,
		},
		{
			Path: "fetch.through-ca", Line: "The proxy's certificates (PEM); a proxy on this machine is asked for them", Form: "FILE", Flag: "through-ca",
			Example: "ca.pem", check: checkThroughCA,
		},
		{
			Path: "fetch.allow-private", Line: "Permit loopback and private addresses; link-local ones and those of metadata services stay closed", Flag: "allow-private", Example: "false",
		},
		{
			Path: "fetch.secrets", Line: "File of passwords, cookies, headers and certificates by site; it stays where it is, and nothing of it is kept", Form: "FILE", Flag: "secrets",
			Example: "secrets.yaml",
		},
		{
			Path: "fetch.cookies", Line: "Cookies that sites set: off = none are kept, session = until the crawl ends or stops, or the file in which they are kept, such as that of waggle login", Form: "off|session|FILE",
			Default: cookiesOff, Flag: "cookies", Example: "session", check: checkCookies,
		},
		{
			Path: "fetch.render", Line: "Pages that a browser (Chromium) renders: auto = those that say too little as they are sent", Form: "WHICH",
			Default: string(crawl.RenderAuto), Choices: []string{string(crawl.RenderAuto), string(crawl.RenderAlways), string(crawl.RenderNever)},
			Flag: "render", Example: "auto",
		},
		{
			Path: "fetch.browsers", Line: "Browsers at a time, each with one page", Form: "N", Default: "1", Min: 1, Max: 64, Example: "1",
		},
		{
			Path: "fetch.browser-time", Line: "For a page to be busy in a browser, waits for its requests apart", Form: "D", Default: "20s", Example: "20s",
		},
		{
			Path: "fetch.browser-memory", Line: "Most bytes that a browser takes for a page", Form: "SIZE", Default: "1GiB", Min: 64 << 20, Max: 1 << 40, Example: "1GiB",
		},
		{
			Path: "fetch.unsandboxed", Line: "Permit the browser to run without its sandbox, where the system gives it none", Flag: "unsandboxed", Example: "false",
		},

		{
			Path: "links.sources", Line: "Where links come from beside the links of pages: " + strings.Join(sourceNames(), ", ") + ", none", Form: "NAMES",
			Flag: "links-from", Words: true, Example: "[alternates, headers, feeds, sitemaps]", Resume: NewLinks, check: checkSources,
		},

		{
			Path: "addresses.keep-session-ids", Line: "Leave session identifiers in addresses", Example: "false", Resume: Never, Why: newAddresses,
		},
		{
			Path: "addresses.keep-tracking", Line: "Leave parameters that track visitors in addresses", Example: "false", Resume: Never, Why: newAddresses,
		},
	}
}

// section is a group of settings, for the example file.
type section struct{ key, line string }

func sections() []section {
	return []section{
		{"topic", "What is wanted. Give what you have; the more, the better the judge."},
		{"judge", "How pages are judged."},
		{"scorer", "How links are ranked."},
		{"budget", "What the crawl may spend, over all its runs."},
		{"scope", "Where it may go."},
		{"politeness", "What the owners of sites are owed."},
		{"fetch", "How pages are fetched."},
		{"links", "Where links come from."},
		{"addresses", "How addresses are written."},
	}
}
