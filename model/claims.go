package model

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/waggle-crawler/waggle/feature"
	"github.com/waggle-crawler/waggle/internal/wire"
	"github.com/waggle-crawler/waggle/web"
)

// Claims tell goals by all their words, where Paths reads the first few of a page: a
// classifier of goals against the other pages of the paths that were shown, and what its
// word was worth on sites that it had not seen.
//
// The score x of a page is the log odds by the classifier plus those by the path that
// led to the page, and the probability that the page is a goal 1/(1+exp(−(Slope·x+Offset))):
// see guide.Guide.Claim.
type Claims struct {
	Words   *feature.Lexicon // words of pages, see ClaimWords
	Weights []float64        // [Words.Len()+1], that of the bias first
	// Slope, at least 0, and Offset were fitted to the scores of the pages of each
	// labelled site by what the other sites teach.
	Slope, Offset float64
}

// ClaimWords are the words of a page that a classifier of goals sees, each once: the
// stems of its text, and, with a mark, those of its title and headings.
func ClaimWords(dst []string, p *web.Page) []string {
	for i := range p.Terms {
		t := &p.Terms[i]
		dst = append(dst, t.Text)
		if t.Head > 0 {
			dst = append(dst, "^"+t.Text)
		}
	}
	return dst
}

// Odds are the log odds that a page is a goal, by its words alone: the weights of the
// bias and of the words that the classifier knows, those divided by the root of their
// number.
func (c *Claims) Odds(p *web.Page) float64 {
	var room [256]string
	sum, n := 0., 0
	for _, e := range c.Words.Counts(ClaimWords(room[:0], p)) {
		sum += c.Weights[e.ID+1]
		n++
	}
	return c.Weights[0] + sum/math.Sqrt(math.Max(1, float64(n)))
}

// appendClaims appends
//
//	1 if there are claims, else 0   count
//	lexicon                         string
//	weights                         floats
//	slope and offset                floats
func appendClaims(b []byte, c *Claims) ([]byte, error) {
	b = binary.AppendUvarint(b, flag(c != nil))
	if c == nil {
		return b, nil
	}
	b, err := appendLexicon(b, c.Words)
	if err != nil {
		return nil, err
	}
	return wire.AppendFloat64s(wire.AppendFloat64s(b, c.Weights), []float64{c.Slope, c.Offset}), nil
}

// claims reads what appendClaims wrote; nothing at all is none, as in files that were
// written before there were claims.
func (r *reader) claims() *Claims {
	if r.Err() != nil || r.Len() == 0 || r.Number(1) == 0 {
		return nil
	}
	c := &Claims{Words: r.lexicon(), Weights: r.Float64s()}
	if fitted := r.Float64s(); len(fitted) == 2 {
		c.Slope, c.Offset = fitted[0], fitted[1]
	} else {
		r.Fail("claims that are not calibrated")
	}
	return c
}

// verify says what makes claims useless.
func (c *Claims) verify() error {
	if c == nil {
		return nil
	}
	if c.Words == nil || len(c.Weights) != c.Words.Len()+1 {
		return errors.New("claims need a weight of each word")
	}
	if c.Slope < 0 {
		return errors.New("claims that are less likely the more speaks for them")
	}
	return nil
}
