package score

import (
	"fmt"
	"slices"
	"sync"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/setting"
	"github.com/waggle-crawler/waggle/strategy"
)

// Description tells all about a scorer that is known before one is made: Name, Line,
// Settings, Needs and Make, see package strategy. Those of this package are
// Descriptions; a program describes its own in the same way and gives them to the
// packages job and lab, which take names, checks and help from them. The options that Make gets are complete: Set holds a value for
// each of Settings, and Analyzer, Page and Learn are there.
type Description = strategy.Description[Scorer, Options]

// Setting is a constant of a strategy that Options.Set can change.
type Setting = setting.Setting

// Need is an input that a scorer uses. Beside those of this package, such as
// NeedKeywords, a scorer may have needs of its own, which look at Options.Topic or
// Options.Judge.
type Need = strategy.Need[Options]

// MissingError says which input a scorer lacks.
type MissingError = strategy.MissingError

// The inputs of the scorers of this package.
const (
	InputTopic     strategy.Input = "topic"
	InputKeywords  strategy.Input = "keywords"
	InputThesaurus strategy.Input = "thesaurus"
	InputModel     strategy.Input = "model"
	InputTaxonomy  strategy.Input = "taxonomy"
	InputShortest  strategy.Input = "shortest paths"
	InputNesting   strategy.Input = "nesting of leaves"
)

// NeedTopic is Options.Anchor: the similarity of a text to the topic.
func NeedTopic() Need {
	return Need{
		Input: InputTopic, Given: func(o Options) bool { return o.Anchor != nil },
		Give: "it compares the text of links with the topic: give keywords, a description or example pages",
	}
}

// NeedKeywords is Options.Keywords, of which one holds a word.
func NeedKeywords() Need {
	return Need{
		Input: InputKeywords, Path: "topic.keywords",
		Given: func(o Options) bool {
			return slices.ContainsFunc(o.Keywords, func(k string) bool { return len(o.Stems(k)) > 0 })
		},
		Give: "it looks for the words of the keywords: give keywords that hold some",
	}
}

// NeedThesaurus is Options.Thesaurus.
func NeedThesaurus() Need {
	return Need{
		Input: InputThesaurus, Path: "scorer.thesaurus", Given: func(o Options) bool { return o.Thesaurus != nil },
		Give: "it needs a thesaurus: give the folder of WordNet's database files, such as /usr/share/wordnet of the Debian package wordnet-base, or a table of related words; of a crawl with --wordnet or --thesaurus (scorer.wordnet or scorer.thesaurus of a job file), in a lab file with thesaurus: {wordnet: FOLDER} or {table: FILE}",
	}
}

// NeedModel is Options.Model: a trained model of that kind.
func NeedModel(kind model.Kind) Need {
	return Need{
		Input: InputModel, Kind: string(kind), Path: "scorer.model", Given: func(o Options) bool { return o.Model != nil },
		Give: giveModel(kind, kind.Command()),
	}
}

func giveModel(kind model.Kind, command string) string {
	return fmt.Sprintf("a model of kind %s is needed: give the file that `%s` wrote (in a lab, part the web by train:, such as train: {folds: sites})", kind, command)
}

// NeedTaxonomy is a judge whose verdicts name classes (Options.Taxonomy).
func NeedTaxonomy() Need {
	return Need{
		Input: InputTaxonomy, Path: "judge.name", Given: func(o Options) bool { return o.Taxonomy },
		Give: "it needs the classes of pages: give a judge that knows a taxonomy, such as critic",
	}
}

// NeedShortest is a frontier that keeps, of the links to an address, that of the
// shortest path (frontier.Options.Shortest), and not that of the highest priority. Who
// makes the frontier looks for it; it is never missing.
func NeedShortest() Need { return Need{Input: InputShortest} }

// NeedNesting is a parser that tells how deep leaves are (web.Page.Nesting). Who makes
// the parser looks for it; it is never missing.
func NeedNesting() Need { return Need{Input: InputNesting} }

// where is a need that is in force only where a setting asks for it.
func where(setting string, n Need) Need {
	n.Setting = setting
	return n
}

// optional is a need that a scorer can do without.
func optional(n Need) Need {
	n.Optional = true
	return n
}

// ModelOf is the kind of trained model without which a scorer cannot be made, "" if
// there is none.
func ModelOf(d Description) model.Kind {
	for _, n := range d.Needs {
		if n.Input == InputModel && !n.Optional {
			return model.Kind(n.Kind)
		}
	}
	return ""
}

// Describe returns the description of that name: of this package, or of own, which are
// those of a program.
func Describe(name string, own ...Description) (Description, bool) {
	return strategy.Find(name, descriptions(), own)
}

// Descriptions are the scorers of this package: first those with defaults of waggle,
// then the presets, which have those of papers.
func Descriptions() []Description { return slices.Clone(descriptions()) }

// descriptions are Descriptions, made once: every check of a job and every simulation looks
// some of them up.
var descriptions = sync.OnceValue(func() []Description {
	list := scorers()
	return append(list, presets(list)...)
})

// after tells of a scorer that it begins to learn after so many pages as a setting says.
func after(setting string) func(map[string]float64) (int, string) {
	return func(set map[string]float64) (int, string) { return int(set[setting]), setting }
}

// onlineStart is when the apprentice begins to learn, if it learns during the crawl.
func onlineStart(set map[string]float64) (int, string) {
	if set["online"] < 0.5 {
		return 0, "start"
	}
	return int(set["start"]), "start"
}

func scorers() []Description {
	var (
		topic   = []Need{NeedTopic()}
		warm    = []Need{NeedTopic(), optional(NeedModel(model.Waggle))}
		words   = []Need{NeedKeywords()}
		hot     = []Need{where("hot", NeedKeywords())}
		related = []Need{NeedKeywords(), NeedThesaurus()}
		hmm     = []Need{NeedModel(model.HMM)}
		layers  = []Need{NeedModel(model.ContextGraph)}
		paths   = []Need{NeedModel(model.PathLearner)}
		hmm2    = []Need{NeedModel(model.HMM2)}
		spider  = []Need{NeedModel(model.RLSpider)}
		memm    = []Need{NeedModel(model.MEMM), where("shortest", NeedShortest())}
		crf     = []Need{NeedModel(model.CRF), where("shortest", NeedShortest())}
		learner = []Need{optional(NeedModel(model.Apprentice)), where("topics", optional(NeedTaxonomy())), where("tree", NeedNesting())}
	)
	return []Description{
		{Name: "breadth-first", Line: "near the seeds first, in the order found", Unranked: true, Make: newBreadthFirst},
		{Name: "depth-first", Line: "the links of the page fetched last first", Unranked: true, Make: newDepthFirst},
		{Name: "random", Line: "in random order", Unranked: true, Make: newRandom},
		{Name: "best-first-page", Line: "links of relevant pages first", Make: newBestFirst(pageAlone)},
		{Name: "best-first-anchor", Line: "links with relevant anchors first", Needs: topic, Make: newBestFirst(anchorAlone)},
		{Name: "best-first-both", Line: "the mean of page and anchor", Settings: weightSettings(), Needs: topic, Make: newBestFirst(pageAndAnchor)},
		{Name: "best-n-first", Line: "best-first-both in batches of N pages", Settings: bestNSettings(), Needs: topic, Make: newBestN},
		{Name: "fish-search", Line: "a few links of relevant pages, fewer of others, three deep", Settings: fishSettings(), Make: newFish},
		{Name: "shark-search-0.5", Line: "relevance inherited along the path, anchor and its surroundings; γ = ½", Settings: sharkSettings(0.5), Needs: topic, Make: newShark},
		{Name: "shark-search-0.8", Line: "the same, with more weight on what is inherited", Settings: sharkSettings(0.8), Needs: topic, Make: newShark},
		{Name: "semantic-synonym", Line: "words of page and anchor that mean what the keywords mean", Settings: semanticSettings(false), Needs: related, Make: newSemantic(false)},
		{Name: "semantic-hypernym", Line: "the same, and wider or narrower words by half", Settings: semanticSettings(true), Needs: related, Make: newSemantic(true)},
		{Name: "infospiders-like", Line: "a population of agents that learn which keywords near a link promise", Settings: spidersSettings(), Needs: words, Make: newSpiders},
		{Name: "backlink", Line: "addresses that most fetched pages link to first", Settings: backlinkSettings(), Needs: hot, Make: newBacklink},
		{Name: "pagerank", Line: "addresses of the highest PageRank first", Settings: pageRankSettings(), Needs: hot, Make: newPageRank},
		{Name: "opic", Line: "addresses that hold the most cash first", Settings: opicSettings(), Make: newOPIC},
		{Name: "aggarwal", Line: "interest ratios of words, address, parents and siblings", Settings: aggarwalSettings(), Make: newAggarwal},
		{Name: "ache-like-hard", Line: "a link classifier retrained as it goes; links of relevant pages alone", Settings: acheSettings(true), Begins: after("every"), Make: newACHE},
		{Name: "ache-like-soft", Line: "the same, with the links of all pages", Settings: acheSettings(false), Begins: after("every"), Make: newACHE},
		{Name: "ache-like-levels", Line: "the same by levels: links that lead to a relevant page in one, two or three steps", Settings: acheLevelsSettings(), Begins: after("every"), Make: newACHELevels},
		{Name: "tagpath-bandit-like", Line: "a bandit over places in page templates", Settings: tagPathSettings(), Make: newTagPath},
		{Name: "apprentice", Line: "learns from the words around followed links, by their distance in the page", Settings: apprenticeSettings(false), Needs: learner, Begins: onlineStart, Make: newApprentice},
		{Name: "apprentice-tempered", Line: "the same with its evidence tempered, and weighed against the relevance of the page", Settings: apprenticeSettings(true), Needs: learner, Begins: onlineStart, Make: newApprentice},
		{Name: "anthelion-like", Line: "a bandit over hosts times naive Bayes over addresses", Settings: anthelionSettings(), Make: newAnthelion},
		{Name: "waggle", Line: "page, anchor, and what links alike have led to in this crawl (default)", Settings: waggleSettings(), Needs: warm, Make: newWaggle, Expects: sigmoid},
		{Name: "memm", Line: "hop distances along the path, by a trained maximum-entropy Markov model", Settings: chainSettings(), Needs: memm, Make: newChain(model.MEMM)},
		{Name: "crf", Line: "the same, by a trained conditional random field", Settings: chainSettings(), Needs: crf, Make: newChain(model.CRF)},
		{Name: "hmm", Line: "the same, by a trained hidden Markov model over clusters of pages", Settings: hmmSettings(false, false), Needs: hmm, Make: newHMM(false, false)},
		{Name: "hmm-centroid-page", Line: "the mean of hmm and the likeness of the page to the targets", Settings: hmmSettings(true, false), Needs: hmm, Make: newHMM(true, false)},
		{Name: "hmm-centroid-both", Line: "the mean of hmm and the likeness of page and anchor to the targets", Settings: hmmSettings(true, true), Needs: hmm, Make: newHMM(true, true)},
		{Name: "hmm2", Line: "hop distances by the last two pages, by a trained hidden Markov model of second order", Settings: hmm2Settings(), Needs: hmm2, Make: newHMM2},
		{Name: "contextgraph", Line: "links of pages nearest to targets, by a trained classifier of layers", Settings: contextGraphSettings(), Needs: layers, Make: newContextGraph},
		{Name: "rlspider", Line: "links of the highest value, by a trained classifier of their words", Needs: spider, Make: newRLSpider},
		{Name: "bayes-page-like", Line: "links of pages that naive Bayes takes for targets", Needs: layers, Make: newBayesPage},
		{Name: "bayes-cluster-like", Line: "links of pages of a cluster in which targets are frequent, by Bayes' rule", Needs: hmm2, Make: newBayesCluster},
		{Name: "pathlearner", Line: "what a link is worth on the way to a goal, by a model of labelled paths", Settings: pathLearnerSettings(), Needs: paths, Make: newPathLearner},
		{Name: "pathlearner-adaptive", Line: "the same, drawn to what links of the same page turned out to be worth", Settings: adaptivePathsSettings(), Needs: paths, Make: newAdaptivePaths},
		{Name: "afc-approx", Line: "links likeliest to lead to a goal by their words alone, by the same model", Needs: paths, Make: newApproximate},
		{Name: "thompson-like", Line: "classes of links by samples of their chance of a relevant page", Settings: thompsonSettings(), Needs: topic, Make: newThompson},
		{Name: "q-value-like", Line: "classes of links by what they and the links behind them brought", Settings: qValueSettings(), Needs: topic, Make: newQValue},
		{Name: "tunnel-like", Line: "links of relevant pages first, through others up to a cut-off that is learnt", Settings: tunnelSettings(), Make: newTunnel},
		{Name: "craw4llm-like", Line: "links that no page of low quality holds", Settings: craw4llmSettings(), Make: newCraw4LLM},
		{Name: "tres-like", Line: "double deep Q-learning during the crawl, of paths, keywords and relevance", Settings: tresSettings(), Needs: words, Begins: after("warm-up"), Make: newTRES},
		{Name: "gouriten-like", Line: "estimates from the pages that hold a link, of which a bandit chooses", Settings: gouritenSettings(), Needs: topic, Make: newGouriten},
		{Name: "knn-page-like", Line: "links of pages whose nearest training pages are targets", Settings: []Setting{neighboursSetting()}, Needs: hmm, Make: newNearestPage},
	}
}
