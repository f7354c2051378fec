package score_test

import (
	"os"
	"testing"

	"github.com/waggle-crawler/waggle/internal/long"
)

func TestMain(m *testing.M) {
	long.Draws(40)
	os.Exit(m.Run())
}
