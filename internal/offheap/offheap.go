// Package offheap makes large slices outside the collected heap: the collector lets a heap grow to
// twice what it holds, and filters and tables of addresses, hosts and pages are much of what a long
// crawl holds.
package offheap
