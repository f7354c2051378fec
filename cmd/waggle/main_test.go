package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waggle-crawler/waggle/internal/long"
	"github.com/waggle-crawler/waggle/parse/document/child"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Name { // commands in this process start it to read documents
		main()
	}
	long.InMemory()
	testscript.Main(m, map[string]func(){"waggle": main})
}
