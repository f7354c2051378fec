package score

import (
	"slices"

	"github.com/waggle-crawler/waggle/model"
	"github.com/waggle-crawler/waggle/strategy"
)

// The papers, as presets name them.
const (
	liuMilios   = "Liu & Milios 2010"
	chakrabarti = "Chakrabarti, Punera & Subramanyam 2002"
	vydiswaran  = "Vydiswaran & Sarawagi 2005"
	huTuTong    = "Hu, Tu & Tong 2014"
	batsakis    = "Batsakis, Petrakis & Milios 2009"
)

// presets are scorers as five papers print them, made of the descriptions of the
// scorers that they are. A preset adds no code: what differs from the scorer with the
// defaults of waggle is in the values, each with the section that prints it.
//
// What a print leaves open keeps the default of waggle, and Open says so.
func presets(scorers []Description) []Description {
	of := func(name string) Description {
		d, _ := strategy.Find(name, scorers)
		return d
	}
	all := slices.Concat(liuPresets(of), chakrabartiPresets(of), vydiswaranPresets(of), huPresets(of), batsakisPresets(of))
	for i := range all { // a model by the command of the scorer would not have the constants of the print
		all[i].Needs = slices.Clone(all[i].Needs)
		for j := range all[i].Needs {
			if n := &all[i].Needs[j]; n.Input == InputModel {
				command := "waggle train model --kind " + all[i].Name
				if kind := model.Kind(n.Kind); kind == model.Apprentice {
					command = kind.Command() + " --scorer " + all[i].Name
				}
				n.Give = giveModel(model.Kind(n.Kind), command)
			}
		}
	}
	return all
}

// Short forms for the tables below.
type printed = strategy.Printed

func setTo(name string, v float64, section string) printed {
	return printed{Part: strategy.OfStrategy, Name: name, Value: v, Section: section}
}

func trainTo(name string, v float64, section string) printed {
	return printed{Part: strategy.OfTraining, Name: name, Value: v, Section: section}
}

func queueOf(n float64, section string) printed {
	return printed{Part: strategy.OfCrawl, Name: strategy.Queue, Value: n, Section: section}
}

func likenessBy(similarity, section string) printed {
	return printed{Part: strategy.OfCrawl, Name: strategy.Similarity, Word: similarity, Section: section}
}

func liuPresets(of func(string) Description) []Description {
	// Defaults of train.CollectOptions and train.SequenceOptions.
	collected := []string{
		"What teaches: layers 0 to 4 of at most 600 pages each, in-links shared out evenly (section 3.1); waggle train collect has others by --layers, --layer-nodes and --fill.",
		"A page of it whose cosine to a target is .8 or more is a target too (section 3.1); waggle train collect has others by --similar.",
		"Sequences of 2 to 10 pages (section 3.1); waggle train sequences has others by --min-length and --max-length.",
	}
	chain := func(name, scorer, line, inference string, viterbi float64) Description {
		return of(scorer).Preset(name, line, strategy.Print{
			Paper: liuMilios, Mended: scorer,
			Values: []printed{
				setTo("viterbi", viterbi, inference),
				setTo("literal", 1, "3.3.1, figure 9"),
				setTo("shortest", 1, "3.3.1"),
				setTo("observe", 0, "4.3"),
				setTo("epsilon", 0.001, "3.3.2"),
				queueOf(500, "7"),
				trainTo("states", 5, "3.1"),
				trainTo("iterations", 100, "7"),
				trainTo("self", 1, "3.2"),
				trainTo("any-address", 1, "3.2"),
			},
			Fixed: collected,
			Open: []string{
				"The variance of the prior is not printed.",
				"Comparing within epsilon as printed is not transitive; probabilities are rounded down to steps of it.",
			},
		})
	}
	return []Description{
		chain("lm10-crf", "crf", "a conditional random field over hop distances, marginal inference", "5.3", 0),
		chain("lm10-crf-viterbi", "crf", "the same, following the best path", "5.3, 6.3", 1),
		chain("lm10-memm", "memm", "a maximum-entropy Markov model over hop distances, marginal inference", "4.3, equation 18", 0),
		chain("lm10-memm-viterbi", "memm", "the same, following the best path", "4.3, equation 23", 1),
		of("hmm").Preset("lm10-hmm", "the hidden Markov crawler that the paper compares with", strategy.Print{
			Paper: liuMilios, Mended: "hmm",
			Values: []printed{
				setTo("raw", 1, "7.1; Batsakis, Petrakis & Milios 2009, 3.3, equation 5"),
				queueOf(500, "7"),
				trainTo("smoothing", 0, "7.1; Batsakis, Petrakis & Milios 2009, 3.3"),
			},
			Fixed: collected,
			Open: []string{
				"The paper takes it from Liu, Janssen & Milios 2006, which Batsakis, Petrakis & Milios 2009 describe in section 3.3.",
				"The numbers of clusters and of neighbours are not printed.",
			},
		}),
		of("best-first-page").Preset("lm10-bfs", "the baseline: best first by the greatest cosine of the page to a target", strategy.Print{
			Paper: liuMilios, Mended: "best-first-page",
			Values: []printed{likenessBy("tf-max", "6"), queueOf(500, "7")},
		}),
	}
}

func chakrabartiPresets(of func(string) Description) []Description {
	common := []printed{
		setTo("dmax", 5, "3.4, 3.8"),
		setTo("plain", 0, "2.2.2"),
		setTo("topics", 0, "2.2.3"),
		setTo("cocitation", 0, "2.2.3"),
		setTo("boundary", 1, "2.3"),
		setTo("gap", 0, "2.2"),
		setTo("tree", 0, "2.2.2"),
		setTo("leaf-words", 0, "2.2.1"),
		setTo("link-words", 0, "2.2.2"),
		setTo("words", 0, "2.3, equation 2"),
		setTo("inherit", 0, "2.2"),
		setTo("weigh", 0, "2.2"),
	}
	open := []string{
		"The critic of the paper is a judge and not a part of the scorer: judges: [critic-printed] in a lab, judge: {name: critic, printed: true} in a job file.",
		"Classes of pages (topics) and links near by (cocitation) are tried in section 3.8 and left out elsewhere.",
	}
	return []Description{
		of("apprentice").Preset("cps02-apprentice", "the apprentice, taught off-line by a whole crawl of the critic alone", strategy.Print{
			Paper: chakrabarti, Mended: "apprentice-tempered",
			Values: append(common[:len(common):len(common)],
				setTo("online", 0, "3.5"),
				printed{Part: strategy.OfLab, Name: strategy.After, Word: "best-first-page", Section: "3.5"}),
			Open: append(open[:len(open):len(open)], "The crawl that teaches has 20,000 to 25,000 pages; here it is as long as the crawl itself in a lab, and any folder of a crawl for waggle train apprentice."),
		}),
		of("apprentice").Preset("cps02-apprentice-online", "the apprentice, taught in the course of the crawl", strategy.Print{
			Paper: chakrabarti, Mended: "apprentice-tempered",
			Values: append(common[:len(common):len(common)],
				setTo("online", 1, "3.7"),
				setTo("start", 5200, "3.7"),
				setTo("every", 1000, "2.2")),
			Open: append(open[:len(open):len(open)], "The batch is “between a few hundred and a few thousand pages”. Before page 5,200 it is the critic alone: on a small web give another start."),
		}),
	}
}

func vydiswaranPresets(of func(string) Description) []Description {
	training := []printed{
		trainTo("dual", 1, "2.4.2"),
		trainTo("page-tokens", 100, "4.4.1, figure 4"),
		trainTo("tagged", 0, "4.2"),
		trainTo("gamma", 0.9, "4.4.1"),
		trainTo("milestones", 1, "2.4"),
	}
	// Section 4.2 splits “the text content from the page” into tokens, “from the head and body
	// fields”. The text of a head is the title: meta elements have attributes and no text. Who
	// reads the sentence otherwise has the presets whose names end in -meta.
	withHead := append(training[:len(training):len(training)], trainTo("meta", 1, "4.2"))
	open := []string{"No regulariser is printed.", "The tokens of a page are its “text content”, “from the head and body” (section 4.2): the text of the head is the title; vs05-pathlearner-meta and vs05-afc-meta read the attributes of meta description and keywords too.", "Goals are judged by labels of the record and not by the model itself."}
	learner := func(name, line string, training []printed) Description {
		return of("pathlearner").Preset(name, line, strategy.Print{
			Paper: vydiswaran, Mended: "pathlearner",
			Values: append([]printed{
				setTo("printed", 1, "3.1, equations 3 to 5"),
				setTo("endless", 1, "3.3, equation 7"),
				setTo("join", 1, "3.3"),
			}, training...),
			Open: open,
		})
	}
	afc := func(name, line string, training []printed) Description {
		return of("afc-approx").Preset(name, line, strategy.Print{Paper: vydiswaran, Mended: "afc-approx", Values: training, Open: open})
	}
	return []Description{
		learner("vs05-pathlearner", "links by the mean reward of their states, by labelled paths", training),
		learner("vs05-pathlearner-meta", "the same, which reads the meta description and keywords of pages as well", withHead),
		afc("vs05-afc", "what the paper calls an accelerated focused crawler: maximum entropy without the path", training),
		afc("vs05-afc-meta", "the same, which reads the meta description and keywords of pages as well", withHead),
	}
}

func huPresets(of func(string) Description) []Description {
	hmm := func(name, line string, order float64, section string) Description {
		return of("hmm2").Preset(name, line, strategy.Print{
			Paper: huTuTong, Mended: "hmm2",
			Values: []printed{
				setTo("viterbi", 1, "2"),
				trainTo("order", order, section),
				trainTo("states", 4, "2.1"),
				trainTo("smoothing", 0, "2.3"),
				trainTo("start", 1, "2.1"),
				trainTo("baum-welch", 100, "2.2"),
				trainTo("keep-order", 0, "2.2"),
			},
			Open: []string{
				"The number of clusters, the threshold at which training ends, and its first values but for π are not printed: π is even, the rest counted; train: {set: {clusters: 0}} takes the number that X-means finds.",
				"Of how a link is scored the paper says that Viterbi forecasts the link of maximum probability.",
				"Of the crawlers in table 1 only names are printed: bayes-cluster-like stands for the Bayesian probabilistic model, bayes-page-like for naive Bayes, knn-page-like for the nearest neighbours.",
			},
		})
	}
	return []Description{
		hmm("htt14-hmm", "the primitive model: a hidden Markov model of first order, by Baum–Welch", 1, "2.2, equations 1 to 4"),
		hmm("htt14-hmm2", "the improved model: a hidden Markov model of second order", 2, "2.3, equations 7 to 12"),
	}
}

func batsakisPresets(of func(string) Description) []Description {
	const lost = "The equation is lost in the text at hand: the weight of ½ is assumed."
	hmm := func(name, scorer, line string, values ...printed) Description {
		return of(scorer).Preset(name, line, strategy.Print{
			Paper: batsakis, Mended: scorer,
			Values: append([]printed{setTo("raw", 1, "3.3, equation 5"), trainTo("smoothing", 0, "3.3")}, values...),
			Open:   []string{"The numbers of clusters (“K is user defined”), of neighbours and of levels are not printed."},
		})
	}
	best := func(name, scorer, line string, values ...printed) Description {
		return of(scorer).Preset(name, line, strategy.Print{
			Paper: batsakis, Mended: scorer, Values: append([]printed{likenessBy("keywords", "3.1, equation 1; 4.1")}, values...),
			Open: []string{"Document frequencies are printed in equation 1 and said to be unreliable in section 2.1; similarity: keywords-idf has them."},
		})
	}
	semantic := []printed{setTo("weight", 0.5, "3.2, equation 4"), setTo("idf", 0, "2.1")}
	withRelated := append(semantic[:2:2], setTo("related", 0.5, "3.2"))
	return []Description{
		best("bpm09-best-first-page", "best-first-page", "best first by the likeness of the page to the keywords"),
		best("bpm09-best-first-anchor", "best-first-anchor", "best first by the likeness of the anchor to the keywords"),
		best("bpm09-best-first-both", "best-first-both", "best first by the mean of both", setTo("weight", 0.5, "3.1, equation 3")),
		of("semantic-synonym").Preset("bpm09-semantic-synonym", "synonyms of the keywords on page and anchor", strategy.Print{Paper: batsakis, Mended: "semantic-synonym", Values: semantic, Open: []string{lost}}),
		of("semantic-hypernym").Preset("bpm09-semantic-hypernym", "the same, with hypernyms and hyponyms", strategy.Print{Paper: batsakis, Mended: "semantic-hypernym", Values: withRelated, Open: []string{lost}}),
		hmm("bpm09-hmm", "hmm", "the hidden Markov crawler that the paper improves"),
		hmm("bpm09-hmm-centroid-page", "hmm-centroid-page", "proposed: with the likeness of the page to the targets", setTo("weight", 0.5, "3.3")),
		hmm("bpm09-hmm-centroid-both", "hmm-centroid-both", "proposed: with the likeness of page and anchor to the targets", setTo("anchor", 0.5, "3.3"), setTo("weight", 0.5, "3.3")),
	}
}
