// Package bloom tells which hashes are certainly not in a set: Bloom filters in blocks of 512 bits.
// Of a hash six bits of one block are set, so that a look costs one miss of the processor's caches.
// Source: Putze, Sanders and Singler, Cache-, hash- and space-efficient Bloom filters (2007).
package bloom

import "math/bits"

// Filter is a set of hashes that may have more than was added: with ten bits for a hash it has one
// in a hundred of the others. The zero value is an empty set to which nothing can be added. The
// bits of hashes must be spread evenly: the high ones choose the block, others the bits in it.
type Filter []uint64

const (
	hashBits  = 10
	blockBits = 512
	blockSize = blockBits / 64
)

// Words is the length of a Filter for so many hashes.
func Words(n int64) int { return int(n*hashBits/blockBits+1) * blockSize }

// block is the block of a hash and the numbers of its bits there, nine bits each.
func (f Filter) block(hash uint64) (block []uint64, numbers uint64) {
	i, _ := bits.Mul64(hash, uint64(len(f)/blockSize))
	return f[i*blockSize : i*blockSize+blockSize], (hash ^ hash>>32) * 0x9e3779b97f4a7c15 >> 10
}

// Add adds a hash.
func (f Filter) Add(hash uint64) {
	b, n := f.block(hash)
	for range 6 {
		b[n>>6&7] |= 1 << (n & 63)
		n >>= 9
	}
}

// Has tells whether a hash may have been added: false is certain.
func (f Filter) Has(hash uint64) bool {
	if len(f) == 0 {
		return false
	}
	b, n := f.block(hash)
	for range 6 {
		if b[n>>6&7]&(1<<(n&63)) == 0 {
			return false
		}
		n >>= 9
	}
	return true
}
