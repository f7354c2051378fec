package process

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/eval/pool"
	shown "github.com/waggle-crawler/waggle/teach/harmless"
)

// readable makes a recorded web and the pool of one topic in a folder.
func readable(t *testing.T) (webDir, poolDir string) {
	t.Helper()
	dir := t.TempDir()
	webDir, poolDir = filepath.Join(dir, "web"), filepath.Join(dir, "truth")
	o, err := synthetic.Parse("pages=80,topics=1,targets=0.2,words=40,links=8")
	if err != nil {
		t.Fatal(err)
	}
	made, err := synthetic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	src, err := made.Source()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Build(context.Background(), webDir, src, corpus.Options{Name: "hive"}); err != nil {
		t.Fatal(err)
	}
	w, err := corpus.Open(webDir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var all pool.Population
	for u := range w.URLs() {
		if w.Status(u) == 200 && u.Path() != "/robots.txt" {
			all.Pages, all.Reachable = append(all.Pages, u), append(all.Reachable, true)
		}
	}
	topic, err := pool.Draw("hive", "bees", all, pool.DrawOptions{Pages: 40})
	if err != nil {
		t.Fatal(err)
	}
	p := &pool.Pool{Webs: []pool.Web{{Name: "hive", Revision: "x", Documents: len(all.Pages)}}, Topics: []pool.Topic{topic}}
	if err := p.Write(poolDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(poolDir, pool.NarrativesName), []byte("hive:\n  bees: {mainly: a, partly: b, no: c}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return webDir, poolDir
}

// A label that was answered is kept, whenever waggle is killed; and the same
// command goes on.
func TestLabReadKilled(t *testing.T) {
	webDir, poolDir := readable(t)
	given := 0
	for round := range 4 {
		cmd, base, token := startPage(t, "Read here: ", "lab", "read", poolDir, "--web", webDir)
		for range 3 {
			ask := fmt.Sprintf(`{"reader":"ada","topic":0,"n":%d,"grade":"%d","round":1}`, given, given%3)
			r, err := http.NewRequest("POST", "http://"+base+"/do/label", strings.NewReader(ask))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set(shown.TokenHeader, token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var v struct {
				Read  int
				Error string
			}
			err = json.NewDecoder(resp.Body).Decode(&v)
			resp.Body.Close()
			if given++; err != nil || v.Error != "" || v.Read != given {
				t.Fatalf("round %d: %+v, %v; want %d read", round, v, err, given)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // it was killed
	}
	p, err := pool.Open(poolDir)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := pool.ReadLabels(poolDir, p)
	if err != nil || len(labels) != given {
		t.Fatalf("%d labels, %v; want %d", len(labels), err, given)
	}
	for n, l := range labels {
		if l.URL != p.Topics[0].Pages[n].URL || l.Grade != pool.Grade(n%3) || l.Reader != "ada" {
			t.Errorf("label %d is %+v", n, l)
		}
	}
}

// What lab read needs is said before it begins.
func TestLabReadRefuses(t *testing.T) {
	webDir, poolDir := readable(t)
	other := filepath.Join(t.TempDir(), "other")
	src, err := corpus.Detect(webDir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := corpus.Build(t.Context(), other, src, corpus.Options{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{t.TempDir(), "--web", webDir}, "waggle lab pool draw makes one"},
		{[]string{poolDir, "--web", other}, "is the web other, of which the pool has no page"},
		{[]string{poolDir, "--web", webDir, "--reader", "a\tb"}, "--reader: reader"},
		{[]string{poolDir}, "--web"},
	} {
		cmd := waggleCommand(append([]string{"lab", "read"}, c.args...))
		said, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(said), c.want) {
			t.Errorf("%v: %v, %s; want %s", c.args, err, said, c.want)
		}
	}
	if err := os.Remove(filepath.Join(poolDir, pool.NarrativesName)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"narratives.yaml has now a place for each; write them there", "the sentence of the key mainly is missing"} {
		cmd := waggleCommand([]string{"lab", "read", poolDir, "--web", webDir})
		if said, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(said), want) {
			t.Errorf("without narratives: %v, %s; want %s", err, said, want)
		}
	}
}
