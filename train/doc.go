// Package train makes models of hop distances: it collects the layered web
// around the targets of a topic, draws labelled sequences of pages from it, and
// fits models to them.
//
//	targets ─► in-links, layer by layer ─► Graph ─► Sequences ─► Fit ─► model.File
//
// Item ids such as D2 name the steps of
//
//	H. Liu, E. Milios: Probabilistic Models for Focused Web Crawling (2010)
//
// D1 targets, keywords, description; D2 the backward graph; D3 its caps; D4 and
// D5 which pages are targets and how far the others are; D6 sequences and D7 the
// trap in their labels.
//
// It also teaches apprentices what crawls that have ended can tell of links
// (apprentice.go), with the items of
//
//	S. Chakrabarti, K. Punera, M. Subramanyam: Accelerated Focused Crawling
//	through Online Relevance Feedback (2002)
package train
