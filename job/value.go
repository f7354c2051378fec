package job

import (
	"encoding"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time span written as "1s" or "2h30m".
type Duration time.Duration

// UnmarshalText reads a Duration.
func (d *Duration) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	v, err := time.ParseDuration(s)
	if err != nil {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return fmt.Errorf("the time span %s has no unit: write it as %[1]ss, %[1]sm or %[1]sh", s)
		}
		return fmt.Errorf("%q is no time span: write it as 30s, 5m or 2h", s)
	}
	if v < 0 {
		return fmt.Errorf("the time span %s is negative", s)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML reads a Duration; its errors name the line.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error { return atLine(n, d) }

// atLine reads a value and says in which line it is wrong.
func atLine(n *yaml.Node, v encoding.TextUnmarshaler) error {
	var s string
	if err := n.Decode(&s); err != nil {
		return err
	}
	if err := v.UnmarshalText([]byte(s)); err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", n.Line, err)}}
	}
	return nil
}

// MarshalText writes a Duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Short is a Duration as a flag takes it, without units of 0: 2h, 1m30s.
func (d Duration) Short() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size is a number of bytes written as "10MiB", "500KB" or a number.
type Size int64

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([kKmMgG]?)(i?)[bB]?$`)

// UnmarshalText reads a Size.
func (z *Size) UnmarshalText(b []byte) error {
	m := sizeForm.FindStringSubmatch(strings.TrimSpace(string(b)))
	if m == nil {
		return fmt.Errorf("%q is no size: write it as 10MiB or 500KB", b)
	}
	n, _ := strconv.ParseFloat(m[1], 64)
	unit := 1000.0
	if m[3] != "" {
		unit = 1024
	}
	for range strings.Index("kmg", strings.ToLower(m[2] + "k")[:1]) + 1 {
		if m[2] != "" {
			n *= unit
		}
	}
	if n > 1<<40 {
		return fmt.Errorf("the size %s is beyond 1 TiB", b)
	}
	*z = Size(n)
	return nil
}

// UnmarshalYAML reads a Size; its errors name the line.
func (z *Size) UnmarshalYAML(n *yaml.Node) error { return atLine(n, z) }

// MarshalText writes a Size.
func (z Size) MarshalText() ([]byte, error) {
	if z%(1<<20) == 0 && z > 0 {
		return fmt.Appendf(nil, "%dMiB", z>>20), nil
	}
	return fmt.Appendf(nil, "%d", int64(z)), nil
}
