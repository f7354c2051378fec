package crawl

// cores bounds how many workers examine what they fetched at a time, to as many as there
// are cores: what is fetched waits as bytes, not as trees. One more may examine a light
// body, so that pages like most others do not stand in line behind a few that take
// seconds each.
type cores struct {
	any   chan struct{}
	light chan struct{}
}

// lightBody is the most bytes of a light body: nineteen of twenty web pages are smaller.
const lightBody = 256 << 10

func newCores(n int) *cores {
	return &cores{any: make(chan struct{}, n), light: make(chan struct{}, 1)}
}

// take waits for a core to examine a body of so many bytes. leave gives it back.
func (c *cores) take(bytes int) (leave func()) {
	var light chan struct{} // nil: never ready
	if bytes <= lightBody {
		light = c.light
	}
	select {
	case c.any <- struct{}{}:
		return func() { <-c.any }
	case light <- struct{}{}:
		return func() { <-light }
	}
}
