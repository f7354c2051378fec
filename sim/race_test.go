//go:build race

package sim_test

// raceDetector tells that this is a test for races, which makes a real web ten
// times as dear.
const raceDetector = true
