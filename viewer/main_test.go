package viewer

import (
	"os"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
)

func TestMain(m *testing.M) {
	long.InMemory()
	os.Exit(m.Run())
}
