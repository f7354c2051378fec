package licence

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What waggle is linked with has licences that let it be under Apache-2.0.
func TestDependencies(t *testing.T) {
	texts, err := Texts("../..", "./cmd/waggle", "linux", "darwin", "windows")
	if err != nil {
		t.Fatal(err)
	}
	modules, kinds := map[string]bool{}, map[string]int{}
	for _, text := range texts {
		modules[text.Module] = true
		for _, k := range text.Kinds {
			kinds[k]++
		}
	}
	t.Logf("%d files of %d modules: %v", len(texts), len(modules), kinds)
	for _, want := range []string{"std", "golang.org/x/net", "github.com/cockroachdb/pebble/v2"} {
		if !modules[want] {
			t.Errorf("%s was not looked at", want)
		}
	}
	for _, r := range Refused(texts) {
		t.Error(r)
	}
}

// A dependency whose licence is not allowed, unknown or missing is refused, also where
// only one system needs it, or only a folder of it has that licence.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const mit = "Permission is hereby granted, free of charge, to any person\nobtaining a copy of this software …"
	names := []string{"free", "copyleft", "unknown", "none", "within", "plan9", "advertised", "good"}
	mod, imports := "module program\n\ngo 1.26\n", "package main\n\nimport (\n"
	for _, n := range names {
		mod += "\nrequire example.org/" + n + " v0.0.0\nreplace example.org/" + n + " => ./" + n + "\n"
		write(n+"/go.mod", "module example.org/"+n+"\n")
		write(n+"/x.go", "package x\n")
		if n == "plan9" {
			write("main_plan9.go", "package main\n\nimport _ \"example.org/plan9\"\n")
			continue
		}
		imports += "\t_ \"example.org/" + n + "\"\n"
	}
	imports += "\t_ \"example.org/within/sub/deep\"\n"
	write("go.mod", mod)
	write("main.go", imports+")\n\nfunc main() {}\n")
	write("free/LICENSE", mit)
	write("free/NOTICE.txt", "made by us")
	write("copyleft/COPYING", mit+"\n\nGNU General\n  Public License")
	write("advertised/LICENSE", "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided …\n"+
		"3. All advertising materials mentioning features or use of this\n   software must display the following acknowledgement …\n"+
		"4. … may be used to endorse or promote products derived from this software\n   without specific prior written permission.")
	write("good/LICENSE", mit+"\n\nThe Software shall be used for Good, not Evil.")
	write("unknown/LICENCE.md", "Do what you like.")
	write("within/LICENSE", mit)
	write("within/sub/LICENSE-2", "GNU AFFERO GENERAL PUBLIC LICENSE")
	write("within/sub/deep/x.go", "package deep\n")
	write("within/other/LICENSE", "GNU General Public License, of what is not imported")
	write("plan9/LICENSE", "Business Source License 1.1")
	for _, c := range []struct {
		systems []string
		want    []string
	}{
		{[]string{"linux"}, []string{"advertised/LICENSE is BSD-4-Clause,", "copyleft/COPYING is GPL,", "good/LICENSE is JSON,", "none v0.0.0 has no licence", "unknown/LICENCE.md is of no kind", "within/sub/LICENSE-2 is AGPL,"}},
		{[]string{"linux", "plan9"}, []string{"advertised/LICENSE is BSD-4-Clause,", "copyleft/COPYING is GPL,", "good/LICENSE is JSON,", "none v0.0.0 has no licence", "plan9/LICENSE is BUSL,", "unknown/LICENCE.md is of no kind", "within/sub/LICENSE-2 is AGPL,"}},
	} {
		texts, err := Texts(dir, ".", c.systems...)
		if err != nil {
			t.Fatal(err)
		}
		got := Refused(texts)
		if !slices.EqualFunc(got, c.want, func(g, w string) bool { return strings.Contains(g, "example.org/"+w) }) {
			t.Errorf("%v: %q, want %q", c.systems, got, c.want)
		}
		var out strings.Builder
		if err := Write(&out, texts); err != nil || !strings.Contains(out.String(), "example.org/free v0.0.0: NOTICE.txt\n\nmade by us\n") {
			t.Errorf("written: %v\n%s", err, out.String())
		}
	}
	if _, err := Texts(dir, "./absent", "linux"); err == nil {
		t.Error("a program that is not there has licences")
	}
}

func TestKinds(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms, with or without\n// modification, are permitted provided that the following conditions are met:"
	for _, c := range []struct{ text, want string }{
		{bsd, "BSD-2-Clause"},
		{bsd + "\n * Neither the name … may be used to endorse or promote products derived from\n * this software without specific prior written permission.", "BSD-3-Clause"},
		{"   Apache License\n   Version 2.0, January 2004", "Apache-2.0"},
		{"Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted, provided that the above\ncopyright notice", "ISC"},
		{"Permission to use, copy, modify, and distribute this software for any\npurpose with or without fee is hereby granted.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\"", "0BSD"},
		{"This is free and unencumbered software released into the public domain.", "Unlicense"},
		{"Mozilla Public License Version 2.0 … GNU Lesser General Public License, Version 2.1", "LGPL MPL"},
		{"Licensed under the Apache License, Version 2.0, with the Commons Clause", "Apache-2.0 Commons-Clause"},
		{"All rights reserved.", ""},
		{"", ""},
	} {
		if got := strings.Join(Kinds(c.text), " "); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}
