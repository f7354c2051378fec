package jetstream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/cluster/engine/jetstream"
)

// A server whose store cannot be opened says so, and why.
func TestStoreFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "store", "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := jetstream.Serve(jetstream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0"})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "storage directory") {
		t.Errorf("it fails with %v", err)
	}
}
