//go:build race

package corpus

// raceDetector tells that this is a test for races, which makes parsing ten
// times as dear.
const raceDetector = true
