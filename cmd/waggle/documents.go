package main

import (
	"os"
	"path/filepath"

	"github.com/waggle-crawler/waggle/job"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/parse/document/child"
)

// newDocuments reads documents in processes of their own, which begin with the first one.
// done ends them.
func newDocuments() (docs parse.Documents, done func() error) {
	self, err := child.Self()
	if err != nil {
		return job.LocalDocuments()
	}
	o := child.Options{Command: []string{self}}
	if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "waggle", "pdfium")
	}
	pool := child.NewPool(o)
	return document.Documents{Reader: pool}, pool.Close
}
