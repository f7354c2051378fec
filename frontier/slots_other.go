//go:build !unix

package frontier

func newSlots(n int) []slot { return make([]slot, n) }
func freeSlots([]slot)      {}
