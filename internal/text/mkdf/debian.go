package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// debian are the languages of which Debian's texts give tables, with the codes that
// Debian has for them: of descriptions of packages, and of the package of manual pages.
var debian = []struct {
	language     string
	descriptions []string
	manuals      string
}{
	{"de", []string{"de"}, "manpages-de"},
	{"es", []string{"es"}, "manpages-es"},
	{"fr", []string{"fr"}, "manpages-fr"},
	{"it", []string{"it"}, "manpages-it"},
	{"ja", []string{"ja"}, "manpages-ja"},
	{"nl", []string{"nl"}, "manpages-nl"},
	{"pl", []string{"pl"}, "manpages-pl"},
	{"pt", []string{"pt", "pt_BR"}, "manpages-pt-br"},
	{"ru", []string{"ru"}, "manpages-ru"},
	{"zh", []string{"zh", "zh_CN"}, "manpages-zh"},
}

// fromDebian makes the tables of folder out by way of apt-get, whose lists and packages
// go to the folder work.
func fromDebian(work, out string) error {
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	lists, parts := filepath.Join(work, "lists"), filepath.Join(work, "parts")
	for _, dir := range []string{filepath.Join(lists, "partial"), parts} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	var codes, packages []string
	for _, l := range debian {
		codes, packages = append(codes, l.descriptions...), append(packages, l.manuals)
	}
	config := filepath.Join(work, "apt.conf")
	text := fmt.Sprintf("Dir::Etc::parts %q;\nDir::State::lists %q;\nAcquire::Languages { %q; };\nAPT::Sandbox::User \"root\";\n",
		parts, lists, strings.Join(codes, `"; "`))
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(text, `\"`, `"`)), 0o666); err != nil {
		return err
	}
	apt := func(args ...string) error {
		c := exec.Command("apt-get", args...)
		c.Dir, c.Env, c.Stderr = work, append(os.Environ(), "APT_CONFIG="+config), os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w (this needs Debian, with a mirror of its sources in /etc/apt)", args[0], err)
		}
		return nil
	}
	if err := apt("update"); err != nil {
		return err
	}
	if err := apt(append([]string{"download"}, packages...)...); err != nil {
		return err
	}
	for _, l := range debian {
		c := newCount(l.language)
		for _, code := range l.descriptions {
			files, err := filepath.Glob(filepath.Join(lists, "*_main_i18n_Translation-"+strings.ReplaceAll(code, "_", "%5f")))
			if err != nil || len(files) == 0 {
				return errors.Join(err, fmt.Errorf("no descriptions in %s in %s", code, lists))
			}
			for _, f := range files {
				if err := c.descriptions(f); err != nil {
					return err
				}
			}
		}
		debs, err := filepath.Glob(filepath.Join(work, l.manuals+"_*.deb"))
		if err != nil || len(debs) != 1 {
			return errors.Join(err, fmt.Errorf("%d packages %s in %s, instead of one", len(debs), l.manuals, work))
		}
		dir := filepath.Join(work, l.manuals)
		if b, err := exec.Command("dpkg-deb", "-x", debs[0], dir).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb %s: %w: %s", debs[0], err, b)
		}
		if err := c.manuals(filepath.Join(dir, "usr/share/man")); err != nil {
			return err
		}
		if err := c.write(filepath.Join(out, "df-"+l.language+".gz")); err != nil {
			return err
		}
	}
	return nil
}

// descriptions counts the words of a file of Debian's i18n folder:
//
//	Package: NAME
//	Description-md5: SUM
//	Description-de: FIRST LINE
//	 MORE
//	 .
//	 MORE
func (c *count) descriptions(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "Description-") && !strings.HasPrefix(line, "Description-md5") {
			_, line, _ = strings.Cut(line, ": ")
			c.add(line)
		} else if strings.HasPrefix(line, " ") {
			c.add(line)
		}
	}
	return lines.Err()
}

// escape is an escape sequence of a manual page: a font, a size, a character by name.
var escape = regexp.MustCompile(`\\(f\[[^]]*\]|f\(..|f.|s[-+]?\d+|\(..|\[[^]]*\]|m\[[^]]*\]|.)`)

// manuals counts the words of the manual pages below a folder, each page once.
func (c *count) manuals(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".gz") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		page, err := io.ReadAll(z)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
				if len(line) < 4 || line[1] == '\\' || line[1] == '"' {
					continue
				}
				_, line, _ = strings.Cut(line, " ") // the arguments of a macro
			}
			c.add(escape.ReplaceAllString(line, ""))
		}
		return nil
	})
}

// mostStems bounds a table of Debian's texts: its size, and how rare a word is in it.
const mostStems = 30_000

// write writes the table, of the commonest stems that occur more than once.
func (c *count) write(file string) error {
	share := c.shares(mostStems)
	if err := writeTable(file, share); err != nil {
		return err
	}
	log.Printf("%s: %d stems from %d words", filepath.Base(file), len(share), c.words)
	return nil
}
