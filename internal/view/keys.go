package view

// key is a key of the keyboard: a character in lower case, or one of the names
// below.
type key string

const (
	keyUp       key = "up"
	keyDown     key = "down"
	keyPageUp   key = "page up"
	keyPageDown key = "page down"
	keyHome     key = "home"
	keyEnd      key = "end"
	keyEscape   key = "escape"
	keyEnter    key = "enter"
)

// sequences are what terminals send for keys that are no character (ECMA-48, and
// xterm's own for Home and End).
func sequences() map[string]key {
	return map[string]key{
		"[A": keyUp, "OA": keyUp, "[B": keyDown, "OB": keyDown, "[5~": keyPageUp, "[6~": keyPageDown,
		"[H": keyHome, "OH": keyHome, "[1~": keyHome, "[F": keyEnd, "OF": keyEnd, "[4~": keyEnd,
	}
}

// keysOf reads what a terminal sent at once. What it does not know, such as a
// function key or a character beyond ASCII, is no key.
func keysOf(sent []byte) (keys []key) {
	known := sequences()
	for len(sent) > 0 {
		c := sent[0]
		sent = sent[1:]
		switch {
		case c == 0x1b && len(sent) > 0 && (sent[0] == '[' || sent[0] == 'O'):
			// A sequence ends with a letter or a tilde.
			end := 1
			for end < len(sent) && (sent[end] < '@' || sent[end] > '~') {
				end++
			}
			end = min(end+1, len(sent))
			if k, ok := known[string(sent[:end])]; ok {
				keys = append(keys, k)
			}
			sent = sent[end:]
		case c == 0x1b:
			keys = append(keys, keyEscape)
		case c == '\r' || c == '\n':
			keys = append(keys, keyEnter)
		case c >= 'A' && c <= 'Z':
			keys = append(keys, key(rune(c-'A'+'a')))
		case c >= ' ' && c < 0x7f:
			keys = append(keys, key(rune(c)))
		}
	}
	return keys
}

// screen is what the view shows.
type screen int

const (
	overview screen = iota
	hostsScreen
	failuresScreen
	helpScreen
)

// action is what a key asks for beyond another picture.
type action int

const (
	nothing action = iota
	togglePause
	quit
)

// press takes a key in.
func (s *viewState) press(k key) action {
	open := func(to screen) action {
		if s.screen == to {
			to = overview
		}
		s.screen, s.top = to, 0
		return nothing
	}
	switch k {
	case "p", " ":
		return togglePause
	case "q":
		return quit
	case "h":
		return open(hostsScreen)
	case "f":
		return open(failuresScreen)
	case "?":
		return open(helpScreen)
	case keyEscape, keyEnter:
		return open(overview)
	case keyUp, "k":
		s.top--
	case keyDown, "j":
		s.top++
	case keyPageUp:
		s.top -= s.page
	case keyPageDown:
		s.top += s.page
	case keyHome:
		s.top = 0
	case keyEnd:
		s.top = 1 << 30 // Render knows where that is
	}
	s.top = max(0, s.top)
	return nothing
}
