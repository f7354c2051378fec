package main

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The job file that --example-job prints is one.
func TestExampleJobIsAJob(t *testing.T) {
	j, err := parseJob("example.yaml", []byte(exampleJob))
	if err != nil {
		t.Fatal(err)
	}
	if j.Name != "honey-bees" || len(j.Topic.Keywords) != 4 || j.Budget.Pages != 1000 {
		t.Errorf("read as %+v", j)
	}
	// Every line commented out as a default is a key that would be known.
	var all []string
	for line := range strings.Lines(exampleJob) {
		trimmed := strings.TrimLeft(line, " ")
		if strings.HasPrefix(trimmed, "# ") && strings.Contains(trimmed, ": ") && strings.HasPrefix(line, "  ") {
			line = strings.Replace(line, "# ", "", 1)
		}
		all = append(all, line)
	}
	if _, err := parseJob("all.yaml", []byte(strings.Join(all, ""))); err != nil {
		t.Errorf("with the defaults uncommented: %v\n%s", err, strings.Join(all, ""))
	}
}

// Errors name the line and what to do.
func TestJobErrors(t *testing.T) {
	for _, c := range []struct{ job, want string }{
		{"seedz: [x]", `job.yaml:1: unknown key "seedz"`},
		{"name: a\nbudget:\n  pages: many", `job.yaml:3: pages: a whole number is wanted, and not "many"`},
		{"seeds:\n  - https://ok.example/\n  - gopher://x/", "job.yaml:3: seed:"},
		{"budget: {pages: -1}", "job.yaml:1: the number of pages is negative"},
		{"judge:\n  threshold: 1.5", "job.yaml:2: threshold 1.5 is not above 0"},
		{"judge:\n  name: magic", `job.yaml:2: no judge is called "magic"; there are: topic`},
		{"scorer:\n  name: magic", `job.yaml:2: no scorer is called "magic"; there are: breadth-first`},
		{"scope:\n  exclude:\n    - ok\n    - '('", "job.yaml:4: pattern"},
		{"scope: {reach: moon}", "job.yaml:1: reach \"moon\" is none of any, domain, host"},
		{"politeness:\n  delay: -3s", "job.yaml:2: the time span -3s is negative"},
		{"judge: {threshold: 0}", "leave it out for the judge's own"},
		{"budget:\n  pages: x\n  time: soon\nfetch: {max-body: big}", "job.yaml:4: \"big\" is no size"},
		{"politeness:\n  delay: soon", `job.yaml:2: "soon" is no time span: write it as 30s, 5m or 2h`},
		{"fetch:\n  max-body: big", `job.yaml:2: "big" is no size: write it as 10MiB or 500KB`},
		{"fetch:\n\n  through: nowhere", `job.yaml:3: proxy "nowhere"`},
		{"contact: me", "job.yaml:1: contact \"me\" is neither"},
		{"a: [", "job.yaml:"},
		{"name: a\n---\nname: b", "holds one document"},
		{"- a\n- b", "job.yaml:1:"},
	} {
		_, err := parseJob("job.yaml", []byte(c.job))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\n  want %s", c.job, err, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[string]Size{
		"10MiB": 10 << 20, "500KB": 500_000, "1.5 GiB": 3 << 29, "12": 12, "7b": 7, "2k": 2000, "3Ki": 3072,
	} {
		var z Size
		if err := z.UnmarshalText([]byte(in)); err != nil || z != want {
			t.Errorf("%s: %d, %v; want %d", in, z, err, want)
		}
	}
}

// FuzzJob: no job file makes waggle panic, and one that is accepted survives
// being written and read again.
func FuzzJob(f *testing.F) {
	f.Add([]byte(exampleJob))
	f.Add([]byte("seeds: [https://a.example/]\nbudget: {pages: 3, time: 1h}\nfetch: {max-body: 1MiB}\n"))
	f.Add([]byte("judge: {name: rules, rules: [{field: url, pattern: a, weight: -1}]}"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("scope: {exclude: [\"(\"]}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		j, err := parseJob("job.yaml", b)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		out, err := yaml.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseJob("again.yaml", out); err != nil {
			t.Errorf("accepted, but not when written again: %v\n%s", err, out)
		}
	})
}

// A model is of the aim of a crawl however its focus was written.
func TestAimIsOfTopics(t *testing.T) {
	of := func(focus ...string) map[string]string {
		return (&Job{Judge: JobJudge{Name: "critic", Critic: "my.critic", Focus: focus}}).aim()
	}
	one := of("/Arts/Music", "/Arts/Film")
	for _, same := range [][]string{{"Arts/Film", "Arts/Music"}, {"/Arts/Music/", " /Arts/Film"}, {"/Arts/Film", "/Arts/Music", "Arts/Film"}} {
		if differ := differingAims(one, of(same...)); differ != "" {
			t.Errorf("%q: %s", same, differ)
		}
	}
	if differingAims(one, of("/Arts/Film")) == "" {
		t.Error("fewer topics are the same aim")
	}
}
