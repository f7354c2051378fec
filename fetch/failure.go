package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/waggle-crawler/waggle/web"
)

// errNoConnection is wrapped by what went wrong before there was a connection.
var errNoConnection = errors.New("no connection")

// failure names what went wrong with a request for u. It is *web.Failure, or
// ctx's error when the caller has ended ctx.
func failure(ctx context.Context, u web.URL, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *web.Failure
	if errors.As(err, &known) {
		return known
	}
	reason, temporary := classify(err)
	// What is cut could not be recognised any more.
	words := personalOf(ctx).known(u.Host())
	what, proxy := fmt.Sprintf("%.300s", conceal(err.Error(), words, false)), atProxy(err)
	if name, ok := badHeader(err); ok {
		what = fmt.Sprintf("the response has a header that is none, or with control characters: %.100q", conceal(name, words, false))
	}
	switch unknown := (x509.UnknownAuthorityError{}); {
	case reason == web.ReasonCertificate:
		what += "; fetch.secrets (--secrets) names the file of one"
	case errors.As(err, &unknown):
		what += "; to trust an authority of your own, start waggle with SSL_CERT_FILE=FILE"
	}
	return &web.Failure{
		Reason:    reason,
		Detail:    fmt.Sprintf("%.200s: %s", conceal(u.String(), words, false), what),
		Temporary: temporary,
		Proxy:     proxy,
		Err:       err,
	}
}

// atProxy tells whether the proxy was not reached.
func atProxy(err error) bool {
	var op *net.OpError
	return errors.Is(err, errProxyDown) || errors.As(err, &op) && op.Op == "proxyconnect"
}

// badHeader is the name of the header for which net/http refused a response; it
// says so in words alone: malformed MIME header line: "X-Odd: a\x00b".
func badHeader(err error) (name string, ok bool) {
	var malformed textproto.ProtocolError
	if !errors.As(err, &malformed) {
		return "", false
	}
	what, quoted, _ := strings.Cut(string(malformed), ": ")
	if what != "malformed MIME header line" && what != "malformed MIME header" {
		return "", false
	}
	quoted = strings.TrimPrefix(quoted, "missing colon: ")
	line, err := strconv.Unquote(quoted)
	if err != nil {
		line = quoted
	}
	name, _, _ = strings.Cut(line, ":")
	return name, true
}

// classify finds the reason behind an error of the transport, and whether
// another try may fare better. What has no name of its own is a peer that
// does not speak HTTP: the transport words those errors freely.
func classify(err error) (reason web.Reason, temporary bool) {
	var (
		refused *refusedError
		answer  *proxyAnswer
		name    *net.DNSError
		op      *net.OpError
		timeout interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &refused):
		return web.ReasonAddress, false
	case errors.Is(err, errCoding):
		return web.ReasonProtocol, false
	case atProxy(err):
		return web.ReasonConnect, true
	case errors.As(err, &answer):
		return web.ReasonProxy, answer.temporary
	case errors.As(err, &name):
		return web.ReasonDNS, !name.IsNotFound
	case asksCertificate(err):
		return web.ReasonCertificate, false
	case isTLS(err):
		return web.ReasonTLS, false
	case errors.Is(err, errNoConnection), errors.Is(err, errProxy), errors.As(err, &op) && op.Op == "dial":
		return web.ReasonConnect, true
	case errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return web.ReasonTimeout, true
	case broke(err):
		return web.ReasonReset, true
	}
	return web.ReasonProtocol, false
}

// broke tells whether the peer ended the connection, or the request.
func broke(err error) bool {
	return errors.Is(err, errResend) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		strings.HasSuffix(err.Error(), "EOF") || // net/http flattens it: "unexpected EOF", "transport connection broken: EOF"
		strings.Contains(err.Error(), "server closed") ||
		strings.Contains(err.Error(), "GOAWAY")
}

// asksCertificate tells whether the server ended a handshake as it was given no certificate, or
// one that it does not take. Source: RFC 8446, section 6.2: bad_certificate, unknown_ca and
// certificate_required are its words for that.
func asksCertificate(err error) bool {
	var alert tls.AlertError
	if errors.As(err, &alert) {
		return alert == 42 || alert == 48 || alert == 116
	}
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	return slices.Contains([]string{"tls: bad certificate", "tls: unknown certificate authority", "tls: certificate required"}, op.Err.Error())
}

func isTLS(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
		host   x509.HostnameError
		ca     x509.UnknownAuthorityError
		cert   x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &host) || errors.As(err, &ca) || errors.As(err, &cert) ||
		errors.Is(err, http.ErrSchemeMismatch) ||
		strings.Contains(err.Error(), "tls: ") // most errors of a handshake have no type
}
