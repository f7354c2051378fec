// Package shiptest is a small S3-compatible store for tests: one bucket, one user, whose
// signatures are checked.
package shiptest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The user of every store, and its bucket.
const (
	ID     = "user-of-the-store"
	Secret = "secret-of-the-store"
	Bucket = "pages"
)

// Store is such a store.
type Store struct {
	*httptest.Server

	mu    sync.Mutex
	files map[string]file
	puts  []string
	// trouble has a word before a PUT is taken; true = it was answered.
	trouble func(w http.ResponseWriter, r *http.Request) bool
	heard   sync.Cond
}

type file struct {
	body []byte
	sum  string // as its user gave it
}

// New serves a store until the test ends.
func New(t *testing.T) *Store {
	s := &Store{files: map[string]file{}}
	s.heard.L = &s.mu
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Env are the variables of a user of the store.
func (s *Store) Env() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + ID, "AWS_SECRET_ACCESS_KEY=" + Secret, "AWS_SESSION_TOKEN=", "AWS_REGION=", "AWS_DEFAULT_REGION=", "AWS_ENDPOINT_URL_S3=" + s.URL}
}

// Fail has trouble with PUTs, nil = none.
func (s *Store) Fail(trouble func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = trouble
}

// Files are those that the store has, by key.
func (s *Store) Files() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]byte{}
	for k, f := range s.files {
		out[k] = f.body
	}
	return out
}

// Set puts a file there, or removes it where body is nil.
func (s *Store) Set(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if body == nil {
		delete(s.files, key)
	} else {
		s.files[key] = file{body, s.files[key].sum}
	}
}

// Puts are the keys of all files that were put, in order.
func (s *Store) Puts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.puts)
}

// Await waits until ready holds of the files.
func (s *Store) Await(t *testing.T, ready func(files map[string][]byte) bool) {
	t.Helper()
	late := time.AfterFunc(time.Minute, s.heard.Broadcast)
	defer late.Stop()
	began := time.Now()
	for !ready(s.Files()) {
		if time.Since(began) > 50*time.Second {
			t.Fatalf("the store has %q", slices.Sorted(maps.Keys(s.Files())))
		}
		s.mu.Lock()
		n := len(s.puts)
		for len(s.puts) == n && time.Since(began) < 50*time.Second {
			s.heard.Wait()
		}
		s.mu.Unlock()
	}
}

// ServeHTTP answers as a store does.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	if code := wrong(r); code != "" {
		refuse(http.StatusForbidden, code)
		return
	}
	rest, _ := strings.CutPrefix(r.URL.Path, "/"+Bucket)
	key, isKey := strings.CutPrefix(rest, "/")
	switch {
	case rest == r.URL.Path || rest != "" && !isKey:
		refuse(http.StatusNotFound, "NoSuchBucket")
	case key == "" && r.URL.Query().Has("location"):
		fmt.Fprint(w, `<?xml version="1.0"?><LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case key == "" && r.URL.Query().Has("list-type"):
		s.list(w, r.URL.Query().Get("prefix"))
	case r.Method == http.MethodPut:
		s.put(w, r, key, refuse)
	default:
		s.mu.Lock()
		f, ok := s.files[key]
		s.mu.Unlock()
		if !ok {
			refuse(http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(f.body)))
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"`+sum(f.body)[:32]+`"`)
		w.Header().Set("X-Amz-Meta-Sha256", f.sum)
		if r.Method != http.MethodHead {
			w.Write(f.body)
		}
	}
}

func (s *Store) put(w http.ResponseWriter, r *http.Request, key string, refuse func(int, string)) {
	s.mu.Lock()
	trouble := s.trouble
	s.mu.Unlock()
	if trouble != nil && trouble(w, r) {
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil || sum(b) != r.Header.Get("X-Amz-Content-Sha256") {
		refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[key] = file{b, r.Header.Get("X-Amz-Meta-Sha256")}
	s.puts = append(s.puts, key)
	s.heard.Broadcast()
	w.Header().Set("ETag", `"`+sum(b)[:32]+`"`)
}

func (s *Store) list(w http.ResponseWriter, prefix string) {
	type object struct {
		Key          string
		LastModified string
		Size         int
	}
	var out struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	s.mu.Lock()
	for _, key := range slices.Sorted(maps.Keys(s.files)) {
		if strings.HasPrefix(key, prefix) {
			out.Contents = append(out.Contents, object{key, "1970-01-01T00:00:00.000Z", len(s.files[key].body)})
		}
	}
	s.mu.Unlock()
	xml.NewEncoder(w).Encode(out)
}

// wrong is the code by which S3 refuses a signature, "" where it is right: AWS Signature Version 4
// (Amazon S3 API Reference, "Signature Calculations for the Authorization Header").
func wrong(r *http.Request) string {
	var credential, signed, signature string
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "AccessDenied"
	}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			signed = value
		case "Signature":
			signature = value
		}
	}
	id, scope, _ := strings.Cut(credential, "/")
	if id != ID {
		return "InvalidAccessKeyId"
	}
	var headers strings.Builder
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	canonical := strings.Join([]string{
		r.Method, r.URL.EscapedPath(), strings.ReplaceAll(url.Values(r.URL.Query()).Encode(), "+", "%20"), headers.String(), signed, r.Header.Get("X-Amz-Content-Sha256"),
	}, "\n")
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), scope, sum([]byte(canonical))}, "\n")
	key := []byte("AWS4" + Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	if hex.EncodeToString(mac(key, text)) != signature {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	io.WriteString(h, text)
	return h.Sum(nil)
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
