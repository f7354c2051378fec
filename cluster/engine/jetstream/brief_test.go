package jetstream_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
	"github.com/waggle-crawler/waggle/cluster/engine/enginetest"
	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// Who looks at a crawl that has no brief logs, such as one of an earlier version, makes none.
func TestNoBrief(t *testing.T) {
	server, _, js := beside(t)
	if err := js.DeleteStream(t.Context(), "BRIEF_waggle-bees"); err != nil {
		t.Fatal(err)
	}
	looks, err := jetstream.Open(t.Context(), jetstream.Options{URL: server.URL(), Crawl: "bees", Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer looks.Close()
	if _, err := looks.Append(t.Context(), engine.Draft{Log: engine.Brief + "told"}); !errors.Is(err, jetstream.ErrNoCrawl) {
		t.Errorf("it appends: %v", err)
	}
	if _, err := js.Stream(t.Context(), "BRIEF_waggle-bees"); !errors.Is(err, natsjs.ErrStreamNotFound) {
		t.Errorf("the stream of brief logs: %v", err)
	}
}

// The files of brief logs have room again for what is forgotten, whatever other logs hold.
func TestBriefFiles(t *testing.T) {
	dir := t.TempDir()
	server, err := jetstream.Serve(jetstream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	e, err := jetstream.Open(t.Context(), jetstream.Options{URL: server.URL(), Crawl: "bees", Forget: enginetest.ForgetAfter})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	// bytes are those of the files of streams that a name begins.
	bytes := func(stream string) (n int64) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.Contains(path, string(filepath.Separator)+stream+string(filepath.Separator)) {
				return nil // it may have been removed meanwhile
			}
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const rounds, records, size = 4, 20, 500_000
	random := rand.NewChaCha8([32]byte{1})
	for range rounds {
		for range records {
			data := make([]byte, size) // which S2 does not compress
			random.Read(data)
			if _, err := e.Append(t.Context(), engine.Draft{Log: engine.Brief + "told", Data: data}, engine.Draft{Log: "links.1", Data: data[:1000]}); err != nil {
				t.Fatal(err)
			}
		}
		for until := time.Now().Add(2 * time.Minute); bytes("BRIEF_waggle-bees") > size; time.Sleep(enginetest.ForgetAfter / 10) {
			if time.Now().After(until) {
				t.Fatalf("what is forgotten takes %d bytes", bytes("BRIEF_waggle-bees"))
			}
		}
	}
	if n := bytes("waggle-bees"); n < rounds*records*1000 {
		t.Errorf("what is kept takes %d bytes", n)
	}
}
