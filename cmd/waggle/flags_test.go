package main_test

// The flags that stand for settings of internal/cli are tested here, in a program that is linked anyway.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/waggle-crawler/waggle/internal/cli"
	"github.com/waggle-crawler/waggle/job"
)

// What flags make of a job that a file began, and how what is wrong is told.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		args    string // separated by bars
		private bool   // what the file says of private addresses
		want    string // keywords; pages; whether private addresses are allowed; or the error
	}{
		{"", false, "bee; 7; false"},
		{"", true, "bee; 7; true"},
		{"--keywords=hive, comb|--pages=12|--allow-private", false, "bee hive comb; 12; true"},
		{"--allow-private=false", true, "bee; 7; false"},
		{"--keywords=hive|--keywords=comb", false, "bee hive comb; 7; false"},
		{"--keywords=", false, "--keywords: the value is empty: give one, or leave the flag out"},
		{"--pages=", false, "--pages: the value is empty: give one, or leave the flag out"},
		{"--pages=few", false, `--pages: a whole number is wanted, and not "few"`},
		{"--pages=-3", false, "--pages: pages -3 is outside 0…1,000,000,000,000"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var command struct{ cli.Flags }
			command.Flags = cli.FlagsOf(job.Settings(), "", "topic.keywords", "budget.pages", "fetch.allow-private")
			parser, err := kong.New(&command)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.Parse(slices.DeleteFunc(strings.Split(c.args, "|"), func(s string) bool { return s == "" })); err != nil {
				t.Fatal(err)
			}
			j := &job.Job{Topic: job.Topic{Keywords: []string{"bee"}}, Budget: job.Budget{Pages: 7}, Fetch: job.Fetch{AllowPrivate: c.private}}
			got := ""
			if err := command.Apply(j); err != nil {
				got = err.Error()
			} else {
				got = fmt.Sprintf("%s; %d; %t", strings.Join(j.Topic.Keywords, " "), j.Budget.Pages, j.Fetch.AllowPrivate)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
