//go:build ignore

// Skipped reads what go test -json writes, prints it as go test would without -v,
// and appends the tests that were skipped or passed to a file:
//
//	skip <tab> package <tab> test <tab> reason
//	pass <tab> package <tab> test <tab> seconds
//
//	go test -json ./... | go run .ci/skipped.go FILE
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
)

type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

// place begins what a test says: the file and the line.
var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

func main() {
	out, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	said := map[[2]string][]string{} // the lines of a test that has not ended
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // of the build
			continue
		}
		key := [2]string{e.Package, e.Test}
		switch {
		case e.Action == "output" && e.Test != "":
			said[key] = append(said[key], e.Output)
		case e.Action == "output" || e.Action == "build-output":
			if e.Output != "PASS\n" {
				fmt.Print(e.Output)
			}
		case e.Test == "":
		case e.Action == "fail":
			fmt.Print(strings.Join(said[key], ""))
			delete(said, key)
		case e.Action == "skip":
			reason := ""
			for _, line := range said[key] {
				if at := place.FindString(line); at != "" {
					reason = strings.TrimSpace(line[len(at):])
				}
			}
			fmt.Fprintf(out, "skip\t%s\t%s\t%s\n", e.Package, e.Test, reason)
			delete(said, key)
		case e.Action == "pass":
			fmt.Fprintf(out, "pass\t%s\t%s\t%.1f\n", e.Package, e.Test, e.Elapsed)
			delete(said, key)
		}
	}
	for _, lines := range said { // of tests that a panic or a time limit ended
		fmt.Print(strings.Join(lines, ""))
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
}
