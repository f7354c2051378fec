package score

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/setting"
)

// Description tells all about a scorer that is known before one is made. Those
// of this package are Descriptions; a program describes its own in the same way
// and gives them to the packages job and lab, and they are then what these know
// of them: the names in files, the checks, the help.
type Description struct {
	Name string // in job files and lab files
	Line string // what goes first, in a clause
	// Settings are what Options.Set can change; nil = nothing.
	Settings []Setting
	// Needs are the inputs that it uses. What every scorer is given (Seed, Set,
	// Page and the defaults of Options) is not among them.
	Needs []Need
	// Make makes one of options that were checked and completed: Set holds a
	// value for each of Settings, Analyzer, Page and Learn are there, and no input
	// of Needs is missing.
	Make func(Options) (Scorer, error)
}

// Setting is a constant of a strategy that Options.Set can change.
type Setting = setting.Setting

// Need is an input that a scorer uses.
type Need struct {
	Input Input
	// Model is the kind of a NeedModel.
	Model model.Kind
	// Setting is the setting which asks for the input at ½ and above; "" = it is
	// used whatever is set.
	Setting string
	// Optional says that the scorer can do without.
	Optional bool
}

// Input is a kind of input of scorers.
type Input uint8

// The inputs of scorers.
const (
	// NeedTopic is Options.Anchor: the similarity of a text to the topic.
	NeedTopic Input = iota
	// NeedKeywords is Options.Keywords, of which one holds a word.
	NeedKeywords
	// NeedThesaurus is Options.Thesaurus.
	NeedThesaurus
	// NeedModel is Options.Model, a trained model.
	NeedModel
	// NeedTaxonomy is a judge whose verdicts name classes (Options.Taxonomy).
	NeedTaxonomy
	// NeedShortest is a frontier that keeps, of the links to an address, that of
	// the shortest path (frontier.Options.Shortest), and not that of the highest
	// priority. Who makes the frontier looks for it; it is never missing.
	NeedShortest
)

// give says what to give for an input, in a crawl and in a lab.
func (n Need) give() string {
	switch n.Input {
	case NeedTopic:
		return "it compares the text of links with the topic: give keywords, a description or example pages"
	case NeedKeywords:
		return "it looks for the words of the keywords: give keywords that hold some"
	case NeedThesaurus:
		return "it needs a thesaurus: give the folder of WordNet's database files, such as /usr/share/wordnet of the Debian package wordnet-base, or a table of related words; of a crawl with --wordnet or --thesaurus (scorer.wordnet or scorer.thesaurus of a job file), in a lab file with thesaurus: {wordnet: FOLDER} or {table: FILE}"
	case NeedModel:
		return fmt.Sprintf("a model of kind %s is needed: give the file that `%s` wrote (in a lab, part the web by train:, such as train: {folds: sites})", n.Model, n.Model.Command())
	case NeedTaxonomy:
		return "it needs the classes of pages: give a judge that knows a taxonomy, such as critic"
	}
	return ""
}

// MissingError says which input a scorer lacks.
type MissingError struct {
	Scorer string
	Need   Need
}

// Error says what to give.
func (e *MissingError) Error() string { return "scorer " + e.Scorer + ": " + e.Need.give() }

// Check tells whether options give a scorer what it cannot do without. The error
// is a *MissingError. Settings that Set does not change have their defaults.
func (d Description) Check(o Options) error {
	for _, n := range d.Needs {
		if !n.Optional && d.asks(n, o.Set) && !o.gives(n) {
			return &MissingError{d.Name, n}
		}
	}
	return nil
}

// Uses returns the need of an input, which may be optional, if the scorer has it
// under these settings.
func (d Description) Uses(input Input, set map[string]float64) (Need, bool) {
	for _, n := range d.Needs {
		if n.Input == input && d.asks(n, set) {
			return n, true
		}
	}
	return Need{}, false
}

// Model is the kind of trained model without which the scorer cannot be made, ""
// if there is none.
func (d Description) Model() model.Kind {
	for _, n := range d.Needs {
		if n.Input == NeedModel && !n.Optional {
			return n.Model
		}
	}
	return ""
}

// Setting is the setting of that name.
func (d Description) Setting(name string) (Setting, bool) {
	i := slices.IndexFunc(d.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return d.Settings[i], true
}

// asks tells whether a need is in force.
func (d Description) asks(n Need, set map[string]float64) bool {
	if n.Setting == "" {
		return true
	}
	v, ok := set[n.Setting]
	if !ok {
		s, _ := d.Setting(n.Setting)
		v = s.Default
	}
	return v >= 0.5
}

// gives tells whether an input is there.
func (o Options) gives(n Need) bool {
	switch n.Input {
	case NeedTopic:
		return o.Anchor != nil
	case NeedKeywords:
		return slices.ContainsFunc(o.Keywords, func(k string) bool { return len(o.Words(k)) > 0 })
	case NeedThesaurus:
		return o.Thesaurus != nil
	case NeedModel:
		return o.Model != nil
	case NeedTaxonomy:
		return o.Taxonomy
	}
	return true
}

// New makes a scorer of this kind. The error says what is wrong with the
// settings, what is missing (a *MissingError), or what Make finds.
func (d Description) New(o Options) (Scorer, error) {
	o, err := o.complete(d.Settings)
	if err != nil {
		return nil, fmt.Errorf("scorer %s: %w", d.Name, err)
	}
	if err := d.Check(o); err != nil {
		return nil, err
	}
	s, err := d.Make(o)
	if err != nil {
		return nil, fmt.Errorf("scorer %s: %w", d.Name, err)
	}
	return s, nil
}

// Describe returns the description of that name: of this package, or of own,
// which are those of a program.
func Describe(name string, own ...Description) (Description, bool) {
	for _, list := range [][]Description{Descriptions(), own} {
		if i := slices.IndexFunc(list, func(d Description) bool { return d.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return Description{}, false
}

// CheckOwn finds what is wrong with the descriptions of a program: a name that
// is none or is taken, and what a scorer cannot be made of.
func CheckOwn(own []Description) error {
	for i, d := range own {
		_, taken := Describe(d.Name, own[:i]...)
		switch {
		case d.Name == "" || strings.ContainsAny(d.Name, " \t\n"):
			return fmt.Errorf("scorer %q: a name is a word without blanks", d.Name)
		case taken:
			return fmt.Errorf("scorer %s: the name is taken; choose another", d.Name)
		case d.Make == nil:
			return fmt.Errorf("scorer %s: its description does not say how it is made: set Make", d.Name)
		}
		for _, s := range d.Settings {
			if !(s.Min <= s.Default && s.Default <= s.Max) {
				return fmt.Errorf("scorer %s: setting %s: the default %v is outside %v…%v", d.Name, s.Name, s.Default, s.Min, s.Max)
			}
		}
	}
	return nil
}

// Shortcuts for what several descriptions have.
func topicNeed() Need { return Need{Input: NeedTopic} }

func keywordsNeed(setting string) Need { return Need{Input: NeedKeywords, Setting: setting} }

func modelNeed(kind model.Kind) Need { return Need{Input: NeedModel, Model: kind} }

func semanticNeeds() []Need {
	return []Need{keywordsNeed(""), {Input: NeedThesaurus}}
}

func apprenticeNeeds() []Need {
	return []Need{
		{Input: NeedModel, Model: model.Apprentice, Optional: true},
		{Input: NeedTaxonomy, Setting: "topics", Optional: true},
	}
}

func chainNeeds(kind model.Kind) []Need {
	return []Need{modelNeed(kind), {Input: NeedShortest, Setting: "shortest"}}
}

// Descriptions are the scorers of this package.
func Descriptions() []Description {
	var (
		topic   = []Need{topicNeed()}
		words   = []Need{keywordsNeed("")}
		hot     = []Need{keywordsNeed("hot")}
		hmm     = []Need{modelNeed(model.HMM)}
		layers  = []Need{modelNeed(model.ContextGraph)}
		paths   = []Need{modelNeed(model.PathLearner)}
		hmm2    = []Need{modelNeed(model.HMM2)}
		spider  = []Need{modelNeed(model.RLSpider)}
		learner = apprenticeNeeds()
	)
	return []Description{
		{"breadth-first", "near the seeds first, in the order found", nil, nil, newBreadthFirst},
		{"random", "in random order", nil, nil, newRandom},
		{"best-first-page", "links of relevant pages first", nil, nil, newBestFirst(pageAlone)},
		{"best-first-anchor", "links with relevant anchors first", nil, topic, newBestFirst(anchorAlone)},
		{"best-first-both", "the mean of page and anchor", weightSettings(), topic, newBestFirst(pageAndAnchor)},
		{"best-n-first", "best-first-both in batches of N pages", bestNSettings(), topic, newBestN},
		{"fish-search", "a few links of relevant pages, fewer of others, three deep", fishSettings(), nil, newFish},
		{"shark-search-0.5", "relevance inherited along the path, anchor and its surroundings; γ = ½", sharkSettings(0.5), topic, newShark},
		{"shark-search-0.8", "the same, with more weight on what is inherited", sharkSettings(0.8), topic, newShark},
		{"semantic-synonym", "words of page and anchor that mean what the keywords mean", semanticSettings(false), semanticNeeds(), newSemantic(false)},
		{"semantic-hypernym", "the same, and wider or narrower words by half", semanticSettings(true), semanticNeeds(), newSemantic(true)},
		{"infospiders-like", "a population of agents that learn which keywords near a link promise", spidersSettings(), words, newSpiders},
		{"backlink", "addresses that most fetched pages link to first", backlinkSettings(), hot, newBacklink},
		{"pagerank", "addresses of the highest PageRank first", pageRankSettings(), hot, newPageRank},
		{"opic", "addresses that hold the most cash first", opicSettings(), nil, newOPIC},
		{"aggarwal", "interest ratios of words, address, parents and siblings", aggarwalSettings(), nil, newAggarwal},
		{"ache-like-hard", "a link classifier retrained as it goes; links of relevant pages alone", acheSettings(true), nil, newACHE},
		{"ache-like-soft", "the same, with the links of all pages", acheSettings(false), nil, newACHE},
		{"tagpath-bandit-like", "a bandit over places in page templates", tagPathSettings(), nil, newTagPath},
		{"apprentice", "learns from the words around followed links, by their distance in the page", apprenticeSettings(false), learner, newApprentice},
		{"apprentice-tempered", "the same with its evidence tempered, and weighed against the relevance of the page", apprenticeSettings(true), learner, newApprentice},
		{"anthelion-like", "a bandit over hosts times naive Bayes over addresses", anthelionSettings(), nil, newAnthelion},
		{"waggle", "page, anchor, and what links alike have led to in this crawl", waggleSettings(), topic, newWaggle},
		{"memm", "hop distances along the path, by a trained maximum-entropy Markov model", chainSettings(), chainNeeds(model.MEMM), newChain(model.MEMM)},
		{"crf", "the same, by a trained conditional random field", chainSettings(), chainNeeds(model.CRF), newChain(model.CRF)},
		{"hmm", "the same, by a trained hidden Markov model over clusters of pages", hmmSettings(false, false), hmm, newHMM(false, false)},
		{"hmm-centroid-page", "the mean of hmm and the likeness of the page to the targets", hmmSettings(true, false), hmm, newHMM(true, false)},
		{"hmm-centroid-both", "the mean of hmm and the likeness of page and anchor to the targets", hmmSettings(true, true), hmm, newHMM(true, true)},
		{"hmm2", "hop distances by the last two pages, by a trained hidden Markov model of second order", hmm2Settings(), hmm2, newHMM2},
		{"contextgraph", "links of pages nearest to targets, by a trained classifier of layers", contextGraphSettings(), layers, newContextGraph},
		{"rlspider", "links of the highest value, by a trained classifier of their words", nil, spider, newRLSpider},
		{"bayes-page-like", "links of pages that naive Bayes takes for targets", nil, layers, newBayesPage},
		{"pathlearner", "what a link is worth on the way to a goal, by a model of labelled paths", pathLearnerSettings(), paths, newPathLearner},
		{"pathlearner-adaptive", "the same, drawn to what links of the same page turned out to be worth", adaptivePathsSettings(), paths, newAdaptivePaths},
		{"afc-approx", "links likeliest to lead to a goal by their words alone, by the same model", nil, paths, newApproximate},
		{"knn-page-like", "links of pages whose nearest training pages are targets", []Setting{neighboursSetting()}, hmm, newNearestPage},
	}
}
