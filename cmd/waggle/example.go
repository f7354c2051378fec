package main

import _ "embed"

// exampleJob is a job file that explains every key.
//
//go:embed example.yaml
var exampleJob string
