package process

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
)

// Exit codes of waggle that tests look for, see waggle --help.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 3
)

// waggle is the program, which TestMain builds.
var waggle string

func TestMain(m *testing.M) {
	if os.Getenv(runBare) != "" {
		budget, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = bareLoop(context.Background(), os.Args[1], budget, os.Args[3:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if pages := os.Getenv(runSoakWeb); pages != "" {
		n, err := strconv.Atoi(pages)
		if err == nil {
			err = serveSoakWeb(n)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(dieAfterSwap) != "" {
		fmt.Fprintln(os.Stderr, judgeAndDie(os.Args[1], os.Args[2]))
		os.Exit(1)
	}
	long.InMemory()
	code, err := built(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// built runs tests with the program, built as the tests are.
func built(run func() int) (code int, err error) {
	// What the go command reads is invisible to the cache of test results: this makes
	// it notice a change of the command.
	files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "waggle", "*.go"))
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		if _, err := os.ReadFile(name); err != nil {
			return 0, err
		}
	}
	dir, err := os.MkdirTemp("", "waggle-process-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// The go command builds a program that there is only where it would be another one.
	waggle = cmp.Or(os.Getenv("WAGGLE_PROGRAM"), filepath.Join(dir, "waggle"))
	args := []string{"build", "-ldflags=-s -w", "-o", waggle}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	if said, err := exec.Command("go", append(args, "../../cmd/waggle")...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, said)
	}
	return run(), nil
}
