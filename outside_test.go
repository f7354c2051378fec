package waggle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
)

// outside is a package of another module: it names what a program needs to make a crawl
// of parts of its own.
const outside = `package outside

import (
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/fetch"
	"github.com/waggle-crawler/waggle/frontier/frontiertest"
	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/judge/judgetest"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/score"
	"github.com/waggle-crawler/waggle/score/scoretest"
)

// late is a clock that is late by an hour.
type late struct{}

func (late) Now() time.Time { return time.Now().Add(-time.Hour) }

func (late) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

var (
	_ crawl.Clock = late{}
	_ fetch.Clock = late{}
)

type parts struct {
	clock    crawl.Clock
	analyzer *parse.Analyzer
	words    judge.Analyzer
}

func (p parts) maker(j *job.Job) *job.Maker {
	return &job.Maker{
		Job: j, Clock: p.clock, Analyzer: p.analyzer,
		Parser: parse.New(parse.Options{Analyzer: p.analyzer}),
	}
}

var made = parts{late{}, parse.NewAnalyzer(), parse.NewAnalyzer()}

var (
	_ = fetch.Options{Clock: late{}}
	_ = judge.Options{Analyzer: made.analyzer}
	_ = score.Options{Analyzer: made.analyzer}

	_ func(*testing.T, func() judgetest.Judge) = judgetest.Run
	_ func(*testing.T, func() scoretest.Scorer) = scoretest.Run
	_                                           = frontiertest.Run
)
`

// A module outside compiles with the parts that it may give: what they are made of can be
// named there.
func TestOutsideModule(t *testing.T) {
	long.Test(t, "builds a program of another module")
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/waggle-crawler/waggle\n", "module example.test/outside\n", 1) +
		"\nrequire github.com/waggle-crawler/waggle v0.0.0\n\nreplace github.com/waggle-crawler/waggle => " + root + "\n"
	for name, b := range map[string]string{"go.mod": text, "go.sum": string(sum), "outside.go": outside} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
