// Package jetstream is the engine of crawls of many machines on NATS JetStream: a server,
// a cluster of them, or one inside this process (Server).
//
// A crawl has three streams. "waggle-CRAWL" holds its logs, a subject each:
// waggle.CRAWL.LOG; the position of a record is its number in the stream. "BRIEF_waggle-CRAWL" holds
// the brief logs, as waggle-brief.CRAWL.LOG: they have a stream of their own since the file of a stream has room again
// only where all of a part of it is forgotten. The bucket "waggle-CRAWL" (stream KV_waggle-CRAWL) holds its keys. All are
// files on the servers' disks, on three servers where the engine is a cluster.
package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/waggle-crawler/waggle/cluster/engine"
)

// Options say where the engine is, and for which crawl. The zero value of a field is
// its default.
type Options struct {
	// URL is the address of a server, or those of several with commas between:
	// nats://HOST:4222, tls://HOST:4222. It may hold USER:PASSWORD@ or TOKEN@.
	URL string
	// Server is one in this process, in place of URL.
	Server *Server
	// Crawl is the name of the crawl on the engine: letters, digits, - and _.
	Crawl string
	// Worker is how the engine's logs name this connection; "" = "waggle".
	Worker string
	// Credentials is the file of a NATS user (.creds); "" = none.
	Credentials string
	// CA is a file of the certificates by which the servers' are known; "" = the
	// machine's. Cert and Key are files by which they know this worker; "" = none.
	CA, Cert, Key string
	// Existing is for who looks: where the engine does not have the crawl, nothing is made and
	// Open fails with ErrNoCrawl.
	Existing bool
	// Forget is after how long brief logs are forgotten, where the crawl is made; 0 = engine.BriefFor.
	Forget time.Duration
}

// ErrNoCrawl is wrapped by the error of Open where Options.Existing asks for a crawl that the
// engine does not have.
var ErrNoCrawl = errors.New("the engine has no such crawl")

// How long things take at most before they are tried again, and how long that waits.
const (
	tryFor       = 2 * time.Second
	tryAgain     = 100 * time.Millisecond
	pollAgain    = 250 * time.Millisecond
	replicas     = 3 // of a stream, where the engine is a cluster
	readAtOnce   = 256
	dedupeWindow = 2 * time.Minute
)

// Engine speaks to the servers.
type Engine struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	stream   jetstream.Stream // of the logs
	brief    jetstream.Stream // of brief logs; nil = who looks at a crawl finds none
	kv       jetstream.KeyValue
	crawl    string
	subjects string                // the subject of a key is this and the key
	refused  atomic.Pointer[error] // what the server does not allow this worker
	full     atomic.Pointer[error] // why it keeps nothing, as it answered last
	viewing  chan struct{}         // holds a value while somebody uses view
	view     *keyView              // nil = none yet
}

var _ engine.Engine = (*Engine)(nil)

// mostMessage is how many bytes a message has at most: a record, and the lines of its header.
const mostMessage = engine.MaxRecord + 4<<10

// Open connects to the engine and makes what the crawl needs there, unless it is there.
// It waits for servers that do not answer, until ctx ends.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := engine.CheckName(o.Crawl); err != nil || strings.Contains(o.Crawl, ".") {
		return nil, fmt.Errorf("the name of the crawl on the engine, %.80q: give it one of letters, digits, - and _", o.Crawl)
	}
	if o.Server == nil {
		if err := CheckURL(o.URL); err != nil {
			return nil, err
		}
	}
	e := &Engine{crawl: o.Crawl, subjects: "$KV." + bucket(o.Crawl) + ".", viewing: make(chan struct{}, 1)}
	if err := e.connect(ctx, o); err != nil {
		return nil, err
	}
	// A message that is too large is refused before it is sent, and would be sent again for ever.
	if most := e.conn.MaxPayload(); most < mostMessage {
		e.conn.Close()
		return nil, fmt.Errorf("the engine at %s takes messages of %d bytes at most, and workers send up to %d: set max_payload of its configuration to that or more, or take it out", o.place(), most, mostMessage)
	}
	if err := e.prepare(ctx, o.Existing, cmp.Or(o.Forget, engine.BriefFor)); err != nil {
		e.conn.Close()
		return nil, err
	}
	return e, nil
}

// connect tries until a server answers, ctx ends, or a server refuses.
func (e *Engine) connect(ctx context.Context, o Options) error {
	opts := []nats.Option{
		nats.Name(cmp.Or(o.Worker, "waggle")), nats.MaxReconnects(-1), nats.ReconnectWait(pollAgain), nats.Timeout(tryFor),
		nats.ReconnectBufSize(-1), // what was not sent must not be sent later
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) || errors.Is(err, nats.ErrAuthorization) {
				e.refused.Store(&err)
			}
		}),
	}
	if o.Server != nil {
		opts = append(opts, nats.InProcessServer(o.Server.server), nats.Token(o.Server.token))
	}
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" || o.Cert != "" {
		config, err := o.tls()
		if err != nil {
			return err
		}
		opts = append(opts, nats.Secure(config))
	}
	for {
		conn, err := nats.Connect(o.URL, opts...)
		if err == nil {
			e.conn = conn
			break
		}
		if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
			return fmt.Errorf("the engine at %s: %w: its certificate is to be renewed, or the clock of this machine is to be set", o.place(), err)
		}
		if final(err) {
			return fmt.Errorf("the engine at %s: %w", o.place(), err)
		}
		if err := sleep(ctx, pollAgain); err != nil {
			if cause := context.Cause(ctx); cause != err {
				err = errors.Join(err, cause)
			}
			return fmt.Errorf("no engine answers at %s: %w", o.place(), err)
		}
	}
	var err error
	e.js, err = jetstream.New(e.conn, jetstream.WithPublishAsyncTimeout(tryFor), jetstream.WithDefaultTimeout(tryFor))
	return err
}

// tls is how the servers are known, and this worker.
func (o *Options) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("certificates of the engine: %w", err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates of the engine: %s holds none in PEM", o.CA)
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("the certificate of this worker: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// final tells whether a connection will not do better later.
func final(err error) bool {
	for _, no := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrSecureConnRequired, nats.ErrSecureConnWanted, nats.ErrNoServers} {
		if errors.Is(err, no) {
			return no != nats.ErrNoServers // the one of servers that do not answer
		}
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || strings.HasPrefix(err.Error(), "nats: ") && strings.Contains(err.Error(), "parse")
}

// Append implements engine.Engine.
func (e *Engine) Append(ctx context.Context, drafts ...engine.Draft) ([]engine.Position, error) {
	sends := make([]publication, len(drafts))
	for i := range drafts {
		d := &drafts[i]
		if err := engine.CheckDraft(d); err != nil {
			return nil, err
		}
		in, err := e.in(engine.IsBrief(d.Log))
		if err != nil {
			return nil, err
		}
		sends[i] = message(in.CachedInfo().Config.Name, e.subject(d.Log), d.Data)
		if d.IfLast {
			sends[i].Header.Set(jetstream.ExpectedLastSubjSeqHeader, fmt.Sprint(uint64(d.Last)))
		}
	}
	at := make([]engine.Position, len(drafts))
	return at, e.publish(ctx, sends, func(i int, sequence uint64) { at[i] = engine.Position(sequence) })
}

// publication is a message to a stream.
type publication struct {
	*nats.Msg
	stream string
}

// message has an identity by which a server knows it when it comes again.
func message(stream, subject string, data []byte) publication {
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set(jetstream.MsgIDHeader, rand.Text())
	return publication{m, stream}
}

// publish sends messages until each is acknowledged or refused, or ctx ends.
func (e *Engine) publish(ctx context.Context, sends []publication, stored func(i int, sequence uint64)) error {
	var refused error
	left := make([]int, len(sends))
	for i := range left {
		left[i] = i
	}
	for try := 0; len(left) > 0; try++ {
		if try > 0 {
			if err := sleep(ctx, tryAgain); err != nil {
				return err
			}
		}
		if err := e.usable(ctx); err != nil {
			return err
		}
		futures := make([]jetstream.PubAckFuture, len(left))
		for j, i := range left {
			futures[j], _ = e.js.PublishMsgAsync(sends[i].Msg) // nil where there is no connection
		}
		var again []int
		for j, i := range left {
			if futures[j] == nil {
				again = append(again, i)
				continue
			}
			select {
			case ack := <-futures[j].Ok():
				e.full.Store(nil)
				stored(i, ack.Sequence)
			case err := <-futures[j].Err():
				if !changed(err) {
					if noRoom(err) {
						e.full.Store(&err)
					}
					again = append(again, i)
					continue
				}
				sequence := uint64(0)
				if try > 0 {
					if sequence, err = e.stored(ctx, sends[i]); err != nil {
						return err
					}
				}
				if sequence > 0 {
					stored(i, sequence)
				} else {
					refused = fmt.Errorf("%s: %w", sends[i].Subject, engine.ErrChanged)
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		left = again
	}
	return refused
}

// stored is where a message with a condition is that was refused when it was sent again, 0
// where it is not in the stream. An earlier try may have been stored without an answer: a
// server of its own compares the condition before it looks whether it knows the message, so
// it refuses what it has. It would be the first of its subject behind the condition.
func (e *Engine) stored(ctx context.Context, m publication) (sequence uint64, err error) {
	last, err := strconv.ParseUint(m.Header.Get(jetstream.ExpectedLastSubjSeqHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s was refused for a condition that it does not have: %w", m.Subject, err)
	}
	err = e.again(ctx, func(ctx context.Context) error {
		in, err := e.js.Stream(ctx, m.stream)
		if err != nil {
			return err
		}
		first, err := in.GetMsg(ctx, last+1, jetstream.WithGetMsgSubject(m.Subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil && first.Header.Get(jetstream.MsgIDHeader) == m.Header.Get(jetstream.MsgIDHeader) {
			sequence = first.Sequence
		}
		return err
	})
	return sequence, err
}

// changed tells whether a server refused a message for its condition. One that is
// refused since another is on its way is tried again: that one may come to nothing.
func changed(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// usable is an error where waiting does not help.
func (e *Engine) usable(ctx context.Context) error {
	if err := e.refused.Load(); err != nil {
		return fmt.Errorf("the engine does not allow it: %w", *err)
	}
	if e.conn.IsClosed() {
		if err := e.conn.LastError(); err != nil {
			return fmt.Errorf("the connection to the engine has ended: %w", err)
		}
		return nats.ErrConnectionClosed
	}
	return ctx.Err()
}

// again calls do until it does not fail for want of a server.
func (e *Engine) again(ctx context.Context, do func(context.Context) error) error {
	for {
		if err := e.usable(ctx); err != nil {
			return err
		}
		try, cancel := context.WithTimeout(ctx, tryFor)
		err := do(try)
		cancel()
		if err == nil || ctx.Err() == nil && !passing(err) {
			return err
		}
		if err := sleep(ctx, tryAgain); err != nil {
			return err
		}
	}
}

// errNoPeers is the code of a cluster that has not as many servers yet as a stream is to have
// copies.
const errNoPeers = 10005

// passing tells whether a call that failed may fare better later.
func passing(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code >= 500 || api.ErrorCode == errNoPeers
	}
	for _, yes := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting,
		jetstream.ErrNoStreamResponse, jetstream.ErrOrderedConsumerReset, jetstream.ErrNoHeartbeat, nats.ErrStaleConnection,
	} {
		if errors.Is(err, yes) {
			return true
		}
	}
	return false
}

// Read implements engine.Engine.
func (e *Engine) Read(ctx context.Context, from map[string]engine.Position, do func(engine.Record) error) error {
	if len(from) == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	brief, err := engine.CheckRead(from)
	if err != nil {
		return err
	}
	at := maps.Clone(from)
	var subjects []string
	first := ^engine.Position(0)
	for log, p := range from {
		subjects = append(subjects, e.subject(log))
		first = min(first, p)
	}
	for {
		if err := e.usable(ctx); err != nil {
			return err
		}
		err := e.readFrom(ctx, brief, subjects, &first, at, do)
		if err != nil {
			return err
		}
		if err := sleep(ctx, tryAgain); err != nil {
			return err
		}
	}
}

// readFrom reads behind first, and moves it on, until the server fails, which is no
// error.
func (e *Engine) readFrom(ctx context.Context, brief bool, subjects []string, first *engine.Position, at map[string]engine.Position, do func(engine.Record) error) error {
	try, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	in, err := e.in(brief)
	if err != nil {
		return err
	}
	consumer, err := in.OrderedConsumer(try, jetstream.OrderedConsumerConfig{
		FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(*first) + 1,
		InactiveThreshold: time.Minute, MaxResetAttempts: 1, // Read tries again
	})
	if err != nil {
		return nil
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(readAtOnce), jetstream.PullThresholdMessages(readAtOnce/2))
	if err != nil {
		return nil
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	skip := len(e.prefix(brief))
	// Where the client begins anew while it is told to stop, it stops what it had before, and waits
	// for the next message all the same: only the context ends that.
	ends := jetstream.NextContext(ctx)
	for {
		m, err := messages.Next(ends)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil
		}
		r := engine.Record{Log: m.Subject()[skip:], Position: engine.Position(meta.Sequence.Stream), Data: m.Data()}
		if r.Position <= *first {
			continue
		}
		*first = r.Position
		if p, ok := at[r.Log]; !ok || r.Position <= p {
			continue
		}
		at[r.Log] = r.Position
		if err := do(r); err != nil {
			return err
		}
	}
}

// End implements engine.Engine.
func (e *Engine) End(ctx context.Context, log string) (r engine.Record, err error) {
	if err := engine.CheckName(log); err != nil {
		return r, err
	}
	r.Log = log
	in, err := e.in(engine.IsBrief(log))
	if err != nil {
		return r, err
	}
	err = e.again(ctx, func(ctx context.Context) error {
		m, err := in.GetLastMsgForSubject(ctx, e.subject(log))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			r.Position, r.Data = engine.Position(m.Sequence), m.Data
		}
		return err
	})
	return r, err
}

// First implements engine.Engine.
func (e *Engine) First(ctx context.Context, log string, from engine.Position) (r engine.Record, err error) {
	if err := engine.CheckName(log); err != nil {
		return r, err
	}
	r.Log = log
	in, err := e.in(engine.IsBrief(log))
	if err != nil {
		return r, err
	}
	err = e.again(ctx, func(ctx context.Context) error {
		m, err := in.GetMsg(ctx, max(1, uint64(from)), jetstream.WithGetMsgSubject(e.subject(log)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			r.Position, r.Data = engine.Position(m.Sequence), m.Data
		}
		return err
	})
	return r, err
}

// Get implements engine.Engine.
func (e *Engine) Get(ctx context.Context, key string) (x engine.Entry, err error) {
	if err := engine.CheckName(key); err != nil {
		return x, err
	}
	x.Key = key
	err = e.again(ctx, func(ctx context.Context) error {
		got, err := e.kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			x.Value, x.Revision = got.Value(), engine.Revision(got.Revision())
		}
		return err
	})
	return x, err
}

// Close implements engine.Engine.
func (e *Engine) Close() error {
	e.conn.Close()
	e.viewing <- struct{}{}
	defer func() { <-e.viewing }()
	e.dropKeys()
	return nil
}

// sleep waits, and tells why it ended early.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
