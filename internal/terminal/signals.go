package terminal

import (
	"os"
	"os/signal"
	"slices"
)

// Heeded are the signals but those that were ignored when the process began: nohup has SIGHUP
// ignored, and a script SIGINT of what it starts in the background. To hear them would undo that.
// Of signals but these two none is left out.
func Heeded(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}
