package index

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/zeebo/xxh3"
)

// shingle is how many terms that follow each other are one feature of a text.
const shingle = 3

// fewTerms is below how many terms only equal texts are copies of each other.
const fewTerms = 24

// near is in how many bits the hashes of near-copies differ at most.
const near = 3

// simHash is a hash of a text such that texts that share most of their features have
// hashes that differ in few bits. Texts of few terms have hashes that say nothing but
// whether they are equal; the empty text has 0.
//
// Source: Charikar, Similarity estimation techniques from rounding algorithms (2002);
// Manku, Jain, Das Sarma, Detecting near-duplicates for web crawling (2007), section 2.
func simHash(terms []string) uint64 {
	if len(terms) == 0 {
		return 0
	}
	if len(terms) < fewTerms {
		return xxh3.HashString(strings.Join(terms, " "))
	}
	var sum [64]int
	for i := range len(terms) - shingle + 1 {
		h := xxh3.HashString(strings.Join(terms[i:i+shingle], " "))
		for b := range sum {
			sum[b] += int(h>>b&1)*2 - 1
		}
	}
	var hash uint64
	for b, n := range sum {
		if n > 0 {
			hash |= 1 << b
		}
	}
	return hash
}

// bands are the four pieces of a hash: of two hashes that differ in at most three bits
// one piece is equal.
func bands(hash uint64) (out []string) {
	if hash == 0 {
		return nil
	}
	for i := range 4 {
		out = append(out, fmt.Sprintf("%d%04x", i, hash>>(16*i)&0xffff))
	}
	return out
}

func nearCopies(a, b uint64) bool { return a != 0 && b != 0 && bits.OnesCount64(a^b) <= near }
