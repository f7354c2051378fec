// Package train makes models of hop distances: it collects the layered web
// around the targets of a topic, draws labelled sequences of pages from it, and
// fits models to them.
//
//	targets ─► in-links, layer by layer ─► Graph ─► Sequences ─► Fit ─► model.File
//
// Graph and sequences are those of section 3.1 of
//
//	H. Liu, E. Milios: Probabilistic Models for Focused Web Crawling, 2010
//
// where "section" below names no other paper.
//
// It also makes models of two other sources: of crawls that have ended, for the
// apprentice (apprentice.go), and of labelled paths through sites (paths.go).
package train
