package frontier

// recentLinks are the links that entered or moved last, as the store has them, by the last bits of
// their number: most of what is leased came a few pages ago.
type recentLinks [1 << 14]struct {
	key
	value []byte // whose memory is used again
}

// mostRecent bounds a link that is held there, in bytes.
const mostRecent = 4 << 10

func (r *recentLinks) put(k key, value []byte) {
	at := &r[k.seq%uint64(len(r))]
	at.key, at.value = key{}, at.value[:0]
	if len(value) <= mostRecent {
		at.key, at.value = k, append(at.value, value...)
	}
}

// get returns what stands at a key until the next put, nil if that is not known.
func (r *recentLinks) get(k key) []byte {
	if at := &r[k.seq%uint64(len(r))]; at.key == k {
		return at.value
	}
	return nil
}

// move gives a link another key.
func (r *recentLinks) move(from, to key) {
	if at := &r[from.seq%uint64(len(r))]; at.key == from {
		at.key = to
	}
}
