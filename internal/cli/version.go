package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Build is what is known of this program.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source; "" = unknown
	Time     string `json:"time,omitempty"`     // of that revision, RFC 3339
	Modified bool   `json:"modified"`           // the source differed from the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// NewBuild reads what the linker has written into this program.
func NewBuild(version string) Build {
	b := Build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "(devel)" {
		b.Revision = v // of a module that was installed by its version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b Build) String() string {
	return fmt.Sprintf("waggle %s (revision %s) %s %s/%s", b.Version, cmp.Or(b.Source(), "unknown"), b.Go, b.OS, b.Arch)
}

// Source is the revision of the source, and whether it differed from it; "" = unknown.
func (b Build) Source() string {
	if b.Modified && b.Revision != "" {
		return b.Revision + ", modified"
	}
	return b.Revision
}

// JoinNegative writes --pages -3 as --pages=-3 and -n -3 as -n-3: a number behind
// a flag is its value, and whether it may be negative is for the flag to say. One at the end that
// is behind no flag is no flag either.
func JoinNegative(args []string) (out []string) {
	negative := regexp.MustCompile(`^-[0-9.]`)
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if last := len(out) - 1; last >= 0 && negative.MatchString(arg) && !strings.Contains(out[last], "=") {
			switch before := out[last]; {
			case strings.HasPrefix(before, "--"):
				out[last] = before + "=" + arg
				continue
			case len(before) == 2 && before[0] == '-' && !negative.MatchString(before):
				out[last] = before + arg
				continue
			case i == len(args)-1:
				out = append(out, "--")
			}
		}
		out = append(out, arg)
	}
	return out
}
