package corpus

import (
	"bytes"
	_ "embed"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/waggle-crawler/waggle/web"
)

// The pages that a server has of its own: that at its address, for whoever opens
// it in a browser, and that for what is not in the record.
//
//go:embed front.html
var frontHTML string

// front is what both pages tell.
type front struct {
	Web     Manifest
	Count   Count
	Address string // of the server, "127.0.0.1:8080"
	CA      string // path of the certificate
	Missing string // the address that is not in the record, "" on the server's own page
	Starts  []string
}

// maxStarts bounds the links to begin at, on the page for what is missing.
const maxStarts = 8

// isFront tells whether a request is for the server itself and not, as of a
// proxy or by the Host header, for a recorded host.
func isFront(r *http.Request) bool {
	own, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || r.URL.Host != "" || r.TLS != nil {
		return false
	}
	ip, port, err := net.SplitHostPort(own.String())
	return err == nil && (r.Host == own.String() || r.Host == net.JoinHostPort("localhost", port) && net.ParseIP(ip).IsLoopback())
}

// welcome answers for the server's own address.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	if r.URL.Path != "/" {
		status = http.StatusNotFound
	}
	s.frontPage(w, status, front{Address: r.Host})
}

// missing answers for what is not in the record.
func (s *Server) missing(w http.ResponseWriter, u web.URL) {
	w.Header().Set(web.RecordHeader, web.RecordAbsent)
	s.frontPage(w, http.StatusNotFound, front{Missing: u.String(), Starts: s.starts})
}

// startsOf are the first recorded seeds of a web's topics.
func startsOf(w *Web) (starts []string) {
	for _, t := range w.Topics {
		for _, start := range t.Seeds {
			if len(starts) < maxStarts && !slices.Contains(starts, start.String()) && w.Has(start) {
				starts = append(starts, start.String())
			}
		}
	}
	return starts
}

func (s *Server) frontPage(w http.ResponseWriter, status int, f front) {
	f.Web, f.Count, f.CA = s.web.Manifest, s.count, CertificatePath
	var b bytes.Buffer
	if err := s.front.Execute(&b, f); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(b.Bytes()) // fails when the client is gone
}

// newFront reads the template of the pages.
func newFront() (*template.Template, error) {
	return template.New("front").Funcs(template.FuncMap{
		"thousands": func(n int) string {
			s := strconv.Itoa(n)
			for i := len(s) - 3; i > 0; i -= 3 {
				s = s[:i] + "," + s[i:]
			}
			return s
		},
	}).Parse(frontHTML)
}
