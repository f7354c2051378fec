package child

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/waggle-crawler/waggle/parse/document"
	"github.com/waggle-crawler/waggle/parse/document/pdf"
)

// Main serves as a process of a Pool, given the arguments behind Name, and returns its
// exit code.
func Main(args []string, in io.Reader, out io.Writer, errs io.Writer) int {
	o, err := parseArguments(args)
	if err == nil {
		err = run(o, in, out)
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// arguments are what a process is told of its bounds.
type arguments struct {
	class  class
	memory int64         // bytes
	time   time.Duration // of processors, for one document
	cache  string        // folder of machine code
}

func (a arguments) list() []string {
	return []string{string(a.class), strconv.FormatInt(a.memory, 10), strconv.FormatInt(int64(a.time), 10), a.cache}
}

func parseArguments(args []string) (a arguments, err error) {
	if len(args) != 4 {
		return a, fmt.Errorf("this command is for waggle itself: it reads documents for a crawl")
	}
	a.class, a.cache = class(args[0]), args[3]
	if a.memory, err = strconv.ParseInt(args[1], 10, 64); err != nil {
		return a, err
	}
	n, err := strconv.ParseInt(args[2], 10, 64)
	a.time = time.Duration(n)
	return a, err
}

func run(o arguments, in io.Reader, out io.Writer) error {
	// A stop is for the program that started this process: what it waits for still comes.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(o.memory * 3 / 4)
	reader := document.Local{}
	if o.class == ofPDF {
		engine := pdf.New(pdf.Options{Cache: o.cache, Memory: int(o.memory / 2), Workers: 1})
		if err := engine.Prepare(); err != nil {
			return err
		}
		debug.FreeOSMemory() // of compiling
		reader.PDF = engine.Write
	}
	return served(o, in, out, reader)
}

// served confines the process, and reads documents until in ends.
func served(o arguments, in io.Reader, out io.Writer, reader document.Reader) error {
	if err := confine(); err != nil {
		return fmt.Errorf("confining the reader of documents: %w", err)
	}
	var began atomic.Int64 // processor time at the beginning of a document, and 1; 0 between two
	go watch(o, &began)
	return serve(in, out, reader, func() { began.Store(1 + int64(processorTime())) }, func() { began.Store(0) })
}

// watchEvery is how often a process looks at what it uses.
const watchEvery = 10 * time.Millisecond

// watch ends the process that takes more than it may for a document.
func watch(o arguments, began *atomic.Int64) {
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(watchEvery) {
		from := began.Load()
		if from == 0 {
			continue
		}
		metrics.Read(held)
		if int64(held[0].Value.Uint64()-held[1].Value.Uint64()) > o.memory {
			os.Exit(exitMemory)
		}
		if used := int64(processorTime()); used-from > int64(o.time) {
			os.Exit(exitTime)
		}
	}
}
