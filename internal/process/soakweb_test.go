package process

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/corpus/synthetic"
	"github.com/waggle-crawler/waggle/web"
)

// runSoakWeb makes the test binary the web of BenchmarkSoak.
const runSoakWeb = "WAGGLE_TEST_SOAK_WEB"

// soakWeb is a web of four times the pages that are to be fetched, half of it of the topic: where
// little of a topic is left more and more requests bring no page.
func soakWeb(pages int) (*synthetic.Web, error) {
	o := synthetic.Defaults()
	o.Seed, o.Topics, o.PagesPerHost = 1, 2, 200
	o.Hosts = max(o.Topics, pages*4/o.PagesPerHost)
	o.Words, o.Boilerplate, o.Links, o.Template = 80, 20, 12, 4
	o.Redirects, o.Dead, o.Duplicates, o.Traps, o.Targets = 0.05, 0.05, 0.05, 0.05, 0.05
	return synthetic.New(o)
}

// serveSoakWeb serves that web as a proxy, with what goes wrong, until its input ends.
func serveSoakWeb(pages int) error {
	w, err := soakWeb(pages)
	if err != nil {
		return err
	}
	s := newRecordedServer(func(out http.ResponseWriter, r *http.Request) { answerSoak(w, out, r) })
	defer s.Close()
	fmt.Println(s.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// percent is a number below 100 that is a function of a text.
func percent(text string) int {
	h := fnv.New64a()
	io.WriteString(h, text)
	x := h.Sum64()
	return int((x ^ x>>29) * 0xbf58476d1ce4e5b9 >> 33 % 100)
}

// Each host of the synthetic web is a site of its own here: hN-synthetic.example.
const (
	oneSite  = ".synthetic.example"
	ownSites = "-synthetic.example"
)

func answerSoak(w *synthetic.Web, out http.ResponseWriter, r *http.Request) {
	u, err := web.Parse(strings.Replace(r.URL.String(), ownSites, oneSite, 1))
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	x, err := w.Fetch(r.Context(), u)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x.Body = bytes.ReplaceAll(x.Body, []byte(oneSite), []byte(ownSites))
	for name, values := range x.Header {
		for _, v := range values {
			out.Header().Add(name, strings.Replace(v, oneSite, ownSites, 1))
		}
	}
	trickles := false
	switch percent(r.URL.Host) {
	case 0, 1:
		select {
		case <-time.After(4 * time.Second):
		case <-r.Context().Done():
		}
	case 2:
		trickles = true
	case 3:
		panic(http.ErrAbortHandler)
	}
	if r.URL.Path != "/robots.txt" && r.URL.Path != "/" {
		switch percent(u.String()) {
		case 0:
			http.Error(out, "a fault", http.StatusInternalServerError)
			return
		case 1:
			code := []int{http.StatusForbidden, http.StatusGone, http.StatusNotFound}[len(u.String())%3]
			http.Error(out, http.StatusText(code), code)
			return
		case 2:
			out.Header().Set("Content-Length", strconv.Itoa(len(x.Body)+1))
			out.Write(x.Body[:len(x.Body)/2])
			panic(http.ErrAbortHandler)
		}
	}
	out.WriteHeader(x.Status)
	if !trickles {
		out.Write(x.Body)
		return
	}
	for i := range min(len(x.Body), 40) {
		out.Write(x.Body[i : i+1])
		out.(http.Flusher).Flush()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	out.Write(x.Body[min(len(x.Body), 40):])
}
