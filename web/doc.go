// Package web is the vocabulary every stage of a crawl speaks: addresses,
// links, pages, verdicts, and the turns by which a crawl moves on. It holds no
// behaviour beyond what keeps those words well-formed, so that stages can share
// them without importing one another.
package web
