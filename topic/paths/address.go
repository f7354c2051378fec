package paths

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// AddressLabels give pages their labels by their addresses.
type AddressLabels []addressLabel

type addressLabel struct {
	name    string
	pattern *regexp.Regexp
}

// ParseAddressLabels reads rules of the form NAME=REGEXP. Its error begins with the
// rule that is wrong.
func ParseAddressLabels(rules []string) (out AddressLabels, err error) {
	for _, rule := range rules {
		name, pattern, ok := strings.Cut(rule, "=")
		if !ok {
			return nil, fmt.Errorf("%q: write NAME=REGEXP", rule)
		}
		l := addressLabel{}
		if l.name, err = CleanLabel(name); err != nil || l.name == "" {
			return nil, fmt.Errorf("%q: %w", rule, errors.Join(errors.New("no usable name"), err))
		}
		if l.pattern, err = regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("%q: %w", rule, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// Apply labels the pages that have no label yet: the first rule that matches holds.
func (rules AddressLabels) Apply(set []Path) {
	for i := range set {
		for j := range set[i].Steps {
			s := &set[i].Steps[j]
			for _, l := range rules {
				if s.Label == "" && l.pattern.MatchString(s.URL.String()) {
					s.Label = l.name
				}
			}
		}
	}
}
