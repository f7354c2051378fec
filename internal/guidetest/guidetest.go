// Package guidetest runs the commands that Markdown pages show, and compares what they
// print with what the pages show: a page of the guide cannot come to differ from the
// program.
//
// The fenced blocks of a page mean:
//
//	```console       lines with "$ " are commands for a shell, \ at the end of a line
//	                 goes on in the next; the lines below a command are its output,
//	                 standard error included. "…" stands for any text within a line,
//	                 and a line "…" for any number of lines. A command that fails is
//	                 followed by $ echo $?, with the exit code below.
//	```yaml NAME     a file that the reader writes; any language, NAME in the folder
//	                 of the page
//	anything else    is only shown, and may not hold a waggle command
//
// Each page has an empty folder, with docs in it. "waggle web serve WEB &" answers on
// a free port, which stands for the 127.0.0.1:8080 of the page. A paragraph that
// begins with *Not run by the tests: and stands right above a console block says why
// the block is not run.
package guidetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waggle-crawler/waggle/internal/long"
)

// Program is waggle as the pages are held to it. The shell of a page finds it in PATH.
type Program struct {
	Commands []string                  // the first words of its commands: "crawl", "web"
	Parse    func(args []string) error // tells whether it understands arguments, and does nothing else
}

// Run runs the README and each page of docs/guide below root, as parallel subtests by
// the names of the files, each with its commands in their order.
func Run(t *testing.T, root string, program Program) {
	if runtime.GOOS == "windows" {
		t.Skip("the guide needs a POSIX shell: run this on Linux or macOS")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "docs", "guide", "*.md"))
	if err != nil || len(names) < 11 {
		t.Fatal(names, err)
	}
	for _, name := range append(names, filepath.Join(root, "README.md")) {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			if page := filepath.Base(name); !slices.Contains([]string{"README.md", "first-crawl.md", "job-file.md"}, page) {
				long.Test(t, "runs the commands of a page of the guide")
			}
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "python3") {
				if _, err := exec.LookPath("python3"); err != nil {
					t.Skip("the page has an example in Python: install python3")
				}
			}
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(root, "docs"), filepath.Join(dir, "docs")); err != nil {
				t.Fatal(err)
			}
			p := newPage(string(text), dir, program)
			p.run(t.Context())
			for _, f := range p.faults {
				t.Errorf("%s:%s", name, f)
			}
			for _, f := range p.left {
				t.Logf("%s:%s", name, f)
			}
		})
	}
}

// page is a page of the guide, and what is wrong with it.
type page struct {
	program Program
	lines   []string
	dir     string
	served  string // the address of the server of the page; "" = none yet
	code    int    // of the last command
	faults  []string
	left    []string // what is not run, and why
	stop    []func() error
}

func newPage(text, dir string, program Program) *page {
	return &page{program: program, lines: strings.Split(text, "\n"), dir: dir}
}

// shownAddress is what pages call the address of their server.
const shownAddress = "127.0.0.1:8080"

// commandWait bounds a command.
const commandWait = 2 * time.Minute

func (p *page) fault(line int, format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf("%d: ", line+1)+fmt.Sprintf(format, args...))
}

var (
	notRun     = regexp.MustCompile(`^\*Not run by the tests:(.*)\*$`)
	shownInRow = regexp.MustCompile("`waggle ([a-z][a-z -]*)")
	shownShell = regexp.MustCompile(`^(\$ )?waggle `)
)

// run does what the page says.
func (p *page) run(ctx context.Context) {
	defer func() {
		for _, stop := range p.stop {
			if err := stop(); err != nil {
				p.fault(len(p.lines), "the server: %v", err)
			}
		}
	}()
	reason := -1 // the line of a reason not to run the next block
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence:
			end := i + 1
			for end < len(p.lines) && p.lines[end] != "```" {
				end++
			}
			if end == len(p.lines) {
				p.fault(i, "the block does not end")
				return
			}
			if reason >= 0 && info != "console" {
				p.fault(reason, "no console block follows the reason")
			}
			p.block(ctx, info, i+1, end, reason)
			i, reason = end, -1
		case notRun.MatchString(line):
			reason = i
			if strings.TrimSpace(notRun.FindStringSubmatch(line)[1]) == "" {
				p.fault(i, "the reason is missing")
			}
		case strings.HasPrefix(line, "    ") && shownShell.MatchString(strings.TrimSpace(line)):
			p.fault(i, "a command in a block that is not run")
		default:
			p.named(i)
			if strings.TrimSpace(line) != "" {
				reason = -1
			}
		}
	}
}

// named holds the commands that a line of text names to those that there are.
func (p *page) named(i int) {
	for _, m := range shownInRow.FindAllStringSubmatch(p.lines[i], -1) {
		first, _, _ := strings.Cut(m[1], " ")
		if !slices.Contains(p.program.Commands, first) {
			p.fault(i, "there is no command waggle %s", m[1])
		}
	}
}

// understood holds commands that are not run to the flags and arguments there are.
func (p *page) understood(line int, text string) {
	for _, args := range Commands(text) {
		if err := p.program.Parse(args); err != nil {
			p.fault(line, "waggle %s: %v", strings.Join(args, " "), err)
		}
	}
}

// block takes the lines from first to end, which is that of the closing fence.
func (p *page) block(ctx context.Context, info string, first, end, reason int) {
	_, file, _ := strings.Cut(info, " ")
	switch {
	case info == "console" && reason >= 0:
		p.left = append(p.left, fmt.Sprintf("%d: %s", first, strings.Trim(p.lines[reason], "*")))
		p.understood(first, strings.ReplaceAll(strings.Join(p.lines[first:end], "\n")+"\n", "$ ", "  "))
	case info == "console":
		p.console(ctx, first, end)
	case file != "":
		if !filepath.IsLocal(file) {
			p.fault(first-1, "the file %s is outside the folder of the page", file)
			return
		}
		text := p.actual(first-1, strings.Join(p.lines[first:end], "\n")+"\n")
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o644); err != nil {
			p.fault(first-1, "%v", err)
		}
	default:
		for i, line := range p.lines[first:end] {
			if shownShell.MatchString(strings.TrimSpace(line)) {
				p.fault(first+i, "a command in a block that is not run")
			}
		}
	}
}

// actual puts the address of the server into what the page says.
func (p *page) actual(line int, text string) string {
	if !strings.Contains(text, shownAddress) {
		return text
	}
	if p.served == "" {
		p.fault(line, "nothing is served yet at %s", shownAddress)
	}
	return strings.ReplaceAll(text, shownAddress, p.served)
}

// console runs the commands of a block.
func (p *page) console(ctx context.Context, first, end int) {
	for i := first; i < end; {
		command, ok := strings.CutPrefix(p.lines[i], "$ ")
		if !ok {
			p.fault(i, "output without a command")
			return
		}
		at := i
		for i++; strings.HasSuffix(command, `\`) && i < end; i++ {
			command = strings.TrimSuffix(command, `\`) + strings.TrimLeft(p.lines[i], " ")
		}
		from := i
		for i < end && !strings.HasPrefix(p.lines[i], "$ ") {
			i++
		}
		told := i < end && p.lines[i] == "$ echo $?" // the page tells how the command ended
		p.command(ctx, at, command, strings.Join(p.lines[from:i], "\n"), told)
	}
}

// command runs a command and compares.
func (p *page) command(ctx context.Context, line int, command, want string, told bool) {
	var got string
	code := 0
	switch web, background := strings.CutPrefix(strings.TrimSuffix(command, " &"), "waggle web serve "); {
	case command == "echo $?":
		got = strconv.Itoa(p.code) + "\n"
	case background && strings.HasSuffix(command, " &"):
		var err error
		if got, err = p.serve(ctx, web); err != nil {
			p.fault(line, "%s: %v", command, err)
			return
		}
	default:
		run := p.actual(line, command)
		if strings.Contains(command, "waggle web job ") && p.served != "" {
			run = strings.Replace(run, "waggle web job ", "waggle web job --proxy http://"+p.served+" ", 1)
		}
		ctx, cancel := context.WithTimeout(ctx, commandWait)
		defer cancel()
		out, err := p.shell(ctx, run).CombinedOutput()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			code = exit.ExitCode()
		case err != nil:
			p.fault(line, "%s: %v", command, err)
			return
		}
		got = string(out)
	}
	if p.served != "" {
		got = strings.ReplaceAll(got, p.served, shownAddress)
	}
	if code != 0 && !told {
		p.fault(line, "%s: exit code %d\n%s", command, code, got)
		return
	}
	p.code = code
	if !shows(want, got) {
		p.fault(line, "%s: the output is not that of the page; it is\n%s", command, got)
	}
}

// shell is a command of the page, with a home of its own.
func (p *page) shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = p.dir
	home := filepath.Join(p.dir, ".home")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1",
		"GOGC=400") // short processes: their time counts, their memory does not
	cmd.WaitDelay = time.Second
	return cmd
}

// serve starts waggle web serve, returns what it says, and ends it with the page.
func (p *page) serve(ctx context.Context, args string) (said string, err error) {
	if p.served != "" {
		return "", errors.New("a page has one server")
	}
	cmd := p.shell(ctx, "exec waggle web serve --listen 127.0.0.1:0 "+args)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	p.stop = append(p.stop, func() error {
		err := cmd.Process.Signal(os.Interrupt)
		_, copied := io.Copy(io.Discard, out)
		return errors.Join(err, copied, cmd.Wait())
	})
	r := bufio.NewReader(out)
	for !strings.Contains(said, "Ctrl-C ends it.\n") {
		line, err := r.ReadString('\n')
		if said += line; err != nil {
			return "", fmt.Errorf("%w: %s%s", err, said, faults.String())
		}
		if _, after, ok := strings.Cut(line, "as a proxy on http://"); ok {
			p.served = strings.TrimSpace(after)
		}
	}
	return said, nil
}

// shows tells whether a page shows an output: "…" stands for any text in a line,
// and a line of it for any lines. Spaces at the end of lines do not count.
func shows(want, got string) bool {
	var b strings.Builder
	b.WriteString(`^`)
	for line := range strings.SplitSeq(want, "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case line == "…":
			b.WriteString(`(?:.*\n)*`)
		case want != "":
			b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + ` *\n`)
		}
	}
	b.WriteString(`$`)
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	return regexp.MustCompile(b.String()).MatchString(got)
}

// Commands finds the indented lines of a text that call waggle, and splits their
// arguments as a shell does. What follows two spaces explains, and … stands for more.
func Commands(text string) (out [][]string) {
	text = regexp.MustCompile(`\\\n *`).ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		indented := strings.TrimLeft(line, " ")
		rest, ok := strings.CutPrefix(indented, "waggle ")
		if !ok || len(line)-len(indented) < 2 {
			continue
		}
		var args []string
		arg, quote, gaps := "", rune(0), 0
	words:
		for _, r := range rest + " " {
			switch {
			case quote != 0 && r == quote:
				quote = 0
			case quote != 0:
				arg += string(r)
			case r == '\'' || r == '"':
				quote = r
			case strings.ContainsRune(">&;", r):
				break words
			case r == ' ' || r == '\n':
				if gaps++; gaps == 2 {
					break words
				}
				if arg != "" && arg != "…" {
					args = append(args, arg)
				}
				arg = ""
				continue
			default:
				arg += string(r)
			}
			gaps = 0
		}
		out = append(out, args)
	}
	return out
}
