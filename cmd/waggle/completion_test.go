package main_test

// The completion scripts and man pages of internal/cli are tested here, in a program that is linked anyway.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/internal/cli"
)

// bees is a program with everything that a description may have.
type bees struct {
	Fly struct {
		To    string   `short:"t" enum:"hive,field" default:"hive" help:"Where: it's \"there\"."`
		Out   string   `short:"o" help:"File.\nIt is made."`
		High  bool     `help:"High up [1…2]: 5: 6."`
		Alone bool     `hidden:"" help:"For tests."`
		Bees  []string `arg:"" optional:"" help:"Which."`
	} `cmd:"" help:"Fly somewhere."`
	Hive struct {
		Build struct{} `cmd:"" help:"Build one."`
		Show  struct {
			Form string `arg:"" enum:"wax,wood" help:"Of what."`
		} `cmd:"" help:"Show it."`
	} `cmd:"" help:"Hives."`
	Secret struct{} `cmd:"" hidden:"" help:"Nothing."`
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := kong.New(&bees{}, kong.Name("bees"), kong.Description("bees is a program of bees.\n\n.Like this\n\n  bees fly -t field   \\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// What bash offers at the end of a command line.
func TestBash(t *testing.T) {
	script, err := cli.Completion("bash", model(t), values)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "bees.bash")
	if err := os.WriteFile(name, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"bees f", "fly"},
		{"bees ", "fly hive --help -h"},
		{"bees s", ""},
		{"bees fly --", "--help --to --out --high"},
		{"bees fly --high --t", "--to"},
		{"bees fly --to ", "hive field"},
		{"bees fly -t f", "field"},
		{"bees fly -o ", ""},
		{"bees hive ", "build show --help -h"},
		{"bees hive show w", "wax wood"},
		{"bees hive build x", ""},
	} {
		words := strings.Split(c.line, " ")
		run := exec.CommandContext(t.Context(), "bash", append([]string{"-c", `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _bees; echo "${COMPREPLY[*]}"`, name}, words...)...)
		got, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", c.line, err, got)
		}
		if strings.TrimSpace(string(got)) != c.want {
			t.Errorf("%q is completed by %q, want %q", c.line, strings.TrimSpace(string(got)), c.want)
		}
	}
}

// The scripts of zsh and fish name all that is shown, and nothing that is hidden;
// where the shell is installed, it finds no fault with them.
func TestOtherShells(t *testing.T) {
	for shell, want := range map[string][]string{
		"zsh": {
			"#compdef bees", `'bees fly' | 'bees hive' | 'bees hive build' | 'bees hive show') at=`, `('bees fly --to' | 'bees fly -t') compadd -- 'hive' 'field'; return ;;`,
			`'--to:Where: it'\''s "there".'`, `vals=('wax' 'wood')`, `'fly:Fly somewhere.'`, `'--out:File.'`,
		},
		"fish": {
			`complete -c bees -n '__bees_at "bees"' -f -a 'fly' -d 'Fly somewhere.'`,
			`complete -c bees -n '__bees_at "bees fly"' -l to -s t -x -a 'hive field' -d 'Where: it\'s "there".'`,
			`complete -c bees -n '__bees_at "bees hive show"' -a 'wax wood'`, "case 'bees hive build'",
			`complete -c bees -n '__bees_at "bees fly"' -l out -s o -r -d 'File.'`,
		},
	} {
		t.Run(shell, func(t *testing.T) {
			script, err := cli.Completion(shell, model(t), values)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(script, w) {
					t.Errorf("the script of %s does not hold %s:\n%s", shell, w, script)
				}
			}
			for _, hidden := range []string{"secret", "alone"} {
				if strings.Contains(script, hidden) {
					t.Errorf("the script of %s tells of %s", shell, hidden)
				}
			}
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("needs %s to try its script: install it", shell)
			}
			name := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(name, []byte(script), 0o644); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), path, "-n", name).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", shell, err, out)
			}
		})
	}
	if _, err := cli.Completion("tcsh", model(t), values); err == nil || !strings.Contains(err.Error(), "there are bash, zsh, fish") {
		t.Errorf("another shell: %v", err)
	}
}

// Man pages say what the help says, as text that roff leaves alone.
func TestPages(t *testing.T) {
	pages := map[string]string{}
	for _, p := range cli.Pages(model(t), "1.0") {
		pages[p.Name] = p.Text
	}
	if len(pages) != 5 || pages["bees-hive-build.1"] == "" {
		t.Fatalf("pages %v", pages)
	}
	for name, want := range map[string][]string{
		"bees.1":           {`.TH "BEES" 1 "" "bees 1.0" ""`, `bees \- a program of bees`, `\&.Like this`, `bees fly \-t field   \en`, ".B bees hive\nHives.", `.BR bees\-fly (1),`},
		"bees-fly.1":       {`bees\-fly \- Fly somewhere`, ".TP\n.B \\-t, \\-\\-to=\"hive\"\nWhere: it's \"there\".", ".BR bees (1)\n", `[1\[u2026]2]`},
		"bees-hive-show.1": {".SH ARGUMENTS\n.TP\n.B <form>\nOf what.", ".SH SYNOPSIS\n.B bees hive show <form>"},
	} {
		for _, w := range want {
			if !strings.Contains(pages[name], w) {
				t.Errorf("%s does not hold %q:\n%s", name, w, pages[name])
			}
		}
	}
	t.Run("groff", func(t *testing.T) {
		groff, err := exec.LookPath("groff")
		if err != nil {
			t.Skip("needs groff to set the pages: install it")
		}
		for name, text := range pages {
			run := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-z")
			run.Stdin = strings.NewReader(text)
			if out, err := run.CombinedOutput(); err != nil || strings.Contains(string(out), "warning") {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	})
}
