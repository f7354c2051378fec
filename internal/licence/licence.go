// Package licence finds the licences of all modules that a program of this module is
// linked with, and tells which of them may not be.
package licence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Allowed are the licences that code in a program under Apache-2.0 may have, as SPDX
// calls them: they ask for no more than their own text beside the program.
var Allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense", "Zlib"} // fixed

// ofNoCode are files that stand where licences do, and are of nothing that is compiled.
var ofNoCode = map[string]string{"modernc.org/memory/LICENSE-LOGO": "where the picture of its logo is from"} // fixed

// Text is a file of a module that says what its code may be used for.
type Text struct {
	Module  string // its path; "std" is Go's own library
	Version string
	File    string   // its path in the module, with slashes
	Kinds   []string // SPDX names, sorted; none is no licence that is known here
	Data    []byte
}

// notice tells whether the file is no licence but handed on with one: a notice, as
// Apache-2.0 asks in section 4 (d), or a grant of patents beside a BSD licence.
func (t Text) notice() bool {
	name := strings.ToUpper(filepath.Base(t.File))
	return strings.HasPrefix(name, "NOTICE") || name == "PATENTS"
}

// Texts are the licences and notices of the modules whose packages are in program, a
// path as go build takes it, on any of the systems, sorted by module and file. The
// module that dir is in is left out. A module without a licence has a Text without
// Kinds and File.
func Texts(dir, program string, systems ...string) ([]Text, error) {
	folders := map[folder]bool{} // folders of packages
	for _, system := range systems {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", program)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w\n%s", system, err, stderr.Bytes())
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir      string
				Standard bool
				Module   *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("what go list says: %w", err)
			}
			if m := p.Module; m != nil && !m.Main {
				folders[folder{m.Path, m.Version, m.Dir, p.Dir}] = true
			}
		}
	}
	std, err := standard(dir)
	if err != nil {
		return nil, err
	}
	folders[std] = true
	return read(folders)
}

// folder is one of a package, or above it in its module.
type folder struct{ module, version, root, dir string }

// standard is the folder of Go itself.
func standard(dir string) (folder, error) {
	cmd := exec.Command("go", "env", "GOROOT", "GOVERSION")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return folder{}, fmt.Errorf("go env: %w", err)
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return folder{"std", version, root, root}, nil
}

// read reads the licences in folders and in those above them.
func read(folders map[folder]bool) (out []Text, err error) {
	type module struct{ path, version string }
	licensed := map[module]bool{}
	seen := map[folder]bool{}
	for f := range folders {
		m := module{f.module, f.version}
		licensed[m] = licensed[m] || false
		for ; !seen[f]; f.dir = filepath.Dir(f.dir) {
			seen[f] = true
			entries, err := os.ReadDir(f.dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				t := Text{Module: f.module, Version: f.version}
				if !e.Type().IsRegular() || !named.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
					continue
				}
				path := filepath.Join(f.dir, e.Name())
				if t.Data, err = os.ReadFile(path); err != nil {
					return nil, err
				}
				within, err := filepath.Rel(f.root, path)
				if err != nil {
					return nil, err
				}
				t.File = filepath.ToSlash(within)
				t.Kinds = Kinds(string(t.Data))
				licensed[m] = licensed[m] || !t.notice()
				out = append(out, t)
			}
			if f.dir == f.root {
				break
			}
		}
	}
	for m, ok := range licensed {
		if !ok {
			out = append(out, Text{Module: m.path, Version: m.version})
		}
	}
	slices.SortFunc(out, func(a, b Text) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Version, b.Version), cmp.Compare(a.File, b.File))
	})
	return out, nil
}

var (
	// named are the usual names of such files.
	named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|copyright|patents)([-._].*)?$`)
	// space is between words, whatever sets them apart: lines, comments, quotation marks.
	space = regexp.MustCompile("[\\s*#/\"'`“”‘’]+")
)

// wordings are what only a licence of one kind says, in the form that Kinds compares.
var wordings = []struct{ kind, says string }{
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"Apache-2.0", "licensed under the apache license, version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"ISC", "permission to use, copy, modify, and or distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted, provided that the above copyright notice"},
	{"0BSD", "distribute this software for any purpose with or without fee is hereby granted. the software is provided"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from this software without specific prior written permission"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"Zlib", "freely, subject to the following restrictions: 1. the origin of this software must not be misrepresented"},
	// These two add a condition to the text of a kind that is allowed.
	{"BSD-4-Clause", "advertising materials mentioning features or use of this software"},
	{"JSON", "shall be used for good, not evil"},
	{"MPL", "mozilla public license"},
	{"EPL", "eclipse public license"},
	{"CDDL", "common development and distribution license"},
	{"GPL", "gnu general public license"},
	{"LGPL", "gnu lesser general public license"},
	{"LGPL", "gnu library general public license"},
	{"AGPL", "gnu affero general public license"},
	{"SSPL", "server side public license"},
	{"BUSL", "business source license"},
	{"Commons-Clause", "commons clause"},
	{"CC-BY-NC", "noncommercial"},
	{"Elastic", "elastic license"},
} // fixed

// Kinds are the licences whose wording is in text, as SPDX calls them, sorted. The texts
// of some name others, and are then of those as well: who asks wants to see both.
func Kinds(text string) (kinds []string) {
	text = strings.TrimSpace(space.ReplaceAllString(strings.ToLower(text), " "))
	for _, w := range wordings {
		if strings.Contains(text, w.says) {
			kinds = append(kinds, w.kind)
		}
	}
	if strings.Contains(text, "redistribution and use in source and binary forms, with or without modification, are permitted provided") &&
		!slices.Contains(kinds, "BSD-3-Clause") {
		kinds = append(kinds, "BSD-2-Clause")
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Refused says of each text why its module may not be in the program.
func Refused(texts []Text) (out []string) {
	for _, t := range texts {
		at := t.Module + "/" + t.File
		switch _, aside := ofNoCode[at]; {
		case aside, t.notice():
		case t.File == "":
			out = append(out, fmt.Sprintf("%s %s has no licence: nobody may use it", t.Module, t.Version))
		case len(t.Kinds) == 0:
			out = append(out, at+" is of no kind that is known here: read it, and add its wording to internal/licence")
		default:
			for _, k := range t.Kinds {
				if !slices.Contains(Allowed, k) {
					out = append(out, fmt.Sprintf("%s is %s, which is not allowed", at, k))
				}
			}
		}
	}
	return out
}

// Write writes all texts, one module after another, as a release hands them on.
func Write(out io.Writer, texts []Text) error {
	for _, t := range texts {
		if _, err := fmt.Fprintf(out, "%s\n%s %s: %s\n\n%s\n\n", strings.Repeat("=", 80), t.Module, t.Version, t.File, bytes.TrimSpace(t.Data)); err != nil {
			return err
		}
	}
	return nil
}
