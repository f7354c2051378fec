package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions say how a server is started.
type ServerOptions struct {
	Dir    string // keeps what is stored, and the token
	Listen string // HOST:PORT; "" = 127.0.0.1:4222; port 0 = any
	// Config is a configuration file of nats-server, in place of Listen: with its
	// listeners, TLS, accounts and cluster. Dir is where its store_dir is not given.
	Config string
}

// Server is an engine in this process: a NATS server with JetStream.
//
// Without a configuration it takes connections with its token alone, a random text in the
// file token of its folder, which only its owner may read.
type Server struct {
	server *server.Server
	scheme string // of its address
	token  string
}

// noLimit is more than any disk has, in bytes: the end of the disk is that of the store.
const noLimit = 1 << 60

// syncEvery is how much a machine that loses power may lose of what was acknowledged. A sync of what was written
// in that time is one for each stream, however many messages these are.
const syncEvery = 5 * time.Second

// DefaultListen is where a server listens that is told nothing else.
const DefaultListen = "127.0.0.1:4222"

// Serve starts a server. The caller closes it.
func Serve(o ServerOptions) (*Server, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	s := &Server{scheme: "nats"}
	options := &server.Options{}
	if o.Config != "" {
		if err := options.ProcessConfigFile(o.Config); err != nil {
			return nil, &OptionError{fmt.Errorf("%s: %w", o.Config, err)}
		}
	} else if err := s.plain(options, o); err != nil {
		return nil, err
	}
	if options.TLSConfig != nil {
		s.scheme = "tls"
	}
	options.JetStream = true
	if options.StoreDir == "" {
		options.StoreDir = filepath.Join(o.Dir, "store")
	}
	if options.JetStreamMaxStore <= 0 {
		// Else it takes in nothing more at three quarters of what was free when it started.
		options.JetStreamMaxStore = noLimit
	}
	if options.SyncInterval == 0 {
		options.SyncInterval = syncEvery // else two minutes
	}
	options.NoSigs, options.NoLog = true, o.Config == ""
	started, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("the engine: %w", err)
	}
	s.server = started
	var failed failure
	if o.Config != "" {
		started.ConfigureLogger() // what is fatal ends the process
	} else {
		started.SetLogger(&failed, false, false)
	}
	started.Start()
	if why := failed.why.Load(); why != nil && started.Addr() == nil {
		started.Shutdown()
		return nil, fmt.Errorf("the engine does not start: %s", *why)
	}
	if !started.ReadyForConnections(10 * time.Second) {
		started.Shutdown()
		return nil, fmt.Errorf("the engine does not start at %s: is the port taken?", options.Host+":"+strconv.Itoa(options.Port))
	}
	return s, nil
}

// failure is a logger that keeps why a server does not start: it tells that nowhere else.
type failure struct{ why atomic.Pointer[string] }

func (f *failure) keep(format string, v []any) {
	why := fmt.Sprintf(format, v...)
	f.why.Store(&why)
}

func (f *failure) Fatalf(format string, v ...any) { f.keep(format, v) }
func (f *failure) Errorf(format string, v ...any) { f.keep(format, v) }
func (f *failure) Warnf(string, ...any)           {}
func (f *failure) Noticef(string, ...any)         {}
func (f *failure) Debugf(string, ...any)          {}
func (f *failure) Tracef(string, ...any)          {}

// OptionError says what is wrong with the options of a server, which did not begin.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// plain are the options of a server without a configuration.
func (s *Server) plain(options *server.Options, o ServerOptions) error {
	host, port, err := net.SplitHostPort(cmp.Or(o.Listen, DefaultListen))
	if err != nil {
		return &OptionError{fmt.Errorf("the place where the engine listens: %w: give HOST:PORT, such as %s", err, DefaultListen)}
	}
	if options.Port, err = strconv.Atoi(port); err != nil || options.Port < 0 || options.Port > 65535 {
		return &OptionError{fmt.Errorf("the place where the engine listens: %q is no port", port)}
	}
	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("the engine listens on loopback alone without a configuration, and %s is none: give a configuration of nats-server with TLS and accounts", host)
	}
	// A listener that fails later is told of on the log alone.
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return fmt.Errorf("the engine: %w", err)
	}
	if err := l.Close(); err != nil {
		return err
	}
	options.Host = host
	if s.token, err = tokenIn(o.Dir); err != nil {
		return err
	}
	options.Authorization = s.token
	return nil
}

// Stored tells whether a folder holds what a server stored.
func Stored(dir string) bool {
	for _, place := range []string{filepath.Join(dir, "store"), dir} { // a configuration may have it in the folder itself
		if info, err := os.Stat(filepath.Join(place, "jetstream")); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// Starting tells whether a folder is that of a server which has made its store and may have nothing in it yet: it is
// starting in another process, or was killed while it started.
func Starting(dir string) bool {
	entries, err := os.ReadDir(filepath.Join(dir, "store"))
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != "jetstream" || !e.IsDir() })
}

// tokenIn is the token of a server, made when it is first asked for.
func tokenIn(dir string) (string, error) {
	name := filepath.Join(dir, "token")
	b, err := os.ReadFile(name)
	if err == nil && len(strings.TrimSpace(string(b))) >= 16 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, os.WriteFile(name, []byte(token+"\n"), 0o600)
}

// Wait returns when ctx ends, or with an error once the server keeps nothing any more: after a
// write that failed it takes in nothing, until it is started again, and at the limit of its
// configuration (max_file_store) none.
func (s *Server) Wait(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		what := ""
		if !s.server.JetStreamEnabled() {
			what = "JetStream was disabled"
		}
		for _, e := range s.server.Healthz(&server.HealthzOptions{Details: true}).Errors {
			if strings.Contains(e.Error, "write error") {
				what = e.Error
			}
		}
		if jetstream, err := s.server.Jsz(nil); err == nil && int64(jetstream.Store) > jetstream.Config.MaxStore {
			return fmt.Errorf("the engine has stopped, as its store is full: it keeps %d bytes, and its configuration allows %d (max_file_store); allow more, and start it again", jetstream.Store, jetstream.Config.MaxStore)
		}
		if what != "" {
			return fmt.Errorf("the engine has stopped, as it cannot write: %s; mend the disk, or make room, and start it again", what)
		}
	}
}

// lookEvery is how often a server that serves is looked at.
const lookEvery = time.Second

// URL is the address at which workers join, with the token, unless there is a configuration.
func (s *Server) URL() string {
	u := url.URL{Scheme: s.scheme, Host: s.server.Addr().String()}
	if s.token != "" {
		u.User = url.User(s.token)
	}
	return u.String()
}

// Close ends the server. What it stored stays.
func (s *Server) Close() error {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	return nil
}
