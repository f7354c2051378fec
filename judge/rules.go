package judge

import (
	"context"
	"fmt"
	"regexp"

	"github.com/waggle-crawler/waggle/web"
)

// Rule adds its weight to a page that a pattern matches.
type Rule struct {
	// Field is what the pattern is matched against: "url", "title" or "body"
	// (the main text; all visible text where there is none).
	Field string
	// Pattern is a regular expression in RE2 syntax, which no input can make
	// slow; start it with (?i) to disregard case.
	Pattern string
	// Weight in [-1,1]; 0 = 1. A negative weight speaks against the page.
	Weight float64
}

// rules judges by regular expressions. Relevance is the sum of the weights of
// the rules that match, cut to [0,1]; γ is ½ unless given.
type rules struct {
	identity
	rules []compiledRule
}

type compiledRule struct {
	field  string
	re     *regexp.Regexp
	weight float64
}

var _ Judge = (*rules)(nil)

func newRules(o Options) (Judge, error) {
	r := &rules{identity: identity{"rules", o.Threshold}}
	if r.threshold == 0 {
		r.threshold = 0.5
	}
	for i, rule := range o.Rules {
		switch rule.Field {
		case "url", "title", "body":
		default:
			return nil, fmt.Errorf("rule %d: field %q: give url, title or body", i+1, rule.Field)
		}
		re, err := regexp.Compile(rule.Pattern)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		if rule.Weight < -1 || rule.Weight > 1 || rule.Weight != rule.Weight {
			return nil, fmt.Errorf("rule %d: weight %v: give a number in [-1,1]", i+1, rule.Weight)
		}
		if rule.Weight == 0 {
			rule.Weight = 1
		}
		r.rules = append(r.rules, compiledRule{rule.Field, re, rule.Weight})
	}
	return r, nil
}

func (r *rules) Judge(_ context.Context, p *web.Page) (web.Verdict, error) {
	sum := 0.
	for _, rule := range r.rules {
		if rule.matches(p) {
			sum += rule.weight
		}
	}
	sum = min(1, max(0, sum))
	return r.verdict(sum, sum), nil
}

func (c compiledRule) matches(p *web.Page) bool {
	switch c.field {
	case "url":
		return c.re.MatchString(p.URL.String())
	case "title":
		return c.re.MatchString(p.Title)
	}
	if p.Main != "" {
		return c.re.MatchString(p.Main)
	}
	return c.re.MatchString(leavesText(p))
}

// Text matches the rules for title and body against s.
func (r *rules) Text(s string) float64 {
	sum := 0.
	for _, rule := range r.rules {
		if rule.field != "url" && rule.re.MatchString(s) {
			sum += rule.weight
		}
	}
	return min(1, max(0, sum))
}
