package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/job"
)

// Languages are named by two letters or by tags that begin with such a language.
func TestLanguages(t *testing.T) {
	for tag, ok := range map[string]bool{
		"de": true, "DE": true, "de-AT": true, "zh-Hant": true, "pt_BR": true,
		"xx": false, "german": false, "": false, "tlh": false,
	} {
		j := &job.Job{Seeds: []string{"http://bees.test/"}, Topic: job.Topic{Keywords: []string{"bee"}, Language: []string{tag}}}
		err := j.Check()
		if said := err != nil && strings.Contains(err.Error(), "topic.language.0: ") && strings.Contains(err.Error(), "is no language"); said == ok {
			t.Errorf("%q: %v", tag, err)
		}
	}
}

// A folder is no file of cookies, and is told so with a name in it.
func TestCookiesFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jar")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := &job.Job{Seeds: []string{"http://bees.test/"}, Topic: job.Topic{Keywords: []string{"bee"}}, Fetch: job.Fetch{Cookies: dir}}
	if err := j.Check(); err == nil || !strings.Contains(err.Error(), "is a folder: give the file in which cookies are kept, such as "+filepath.Join(dir, "cookies.txt")) {
		t.Errorf("%v", err)
	}
}
