package fetch

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/waggle-crawler/waggle/web"
)

// unsafePorts are the ports on which other services than web servers listen: a
// link to one would make the crawler speak to those. It is a table, never
// changed. Source: WHATWG Fetch, section 2.9, port blocking.
var unsafePorts = []uint16{
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
	111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
	540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000,
	6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
}

// checkPort refuses the unsafe ports.
func checkPort(u web.URL) *web.Failure {
	host := string(u.Host())
	_, digits, ok := strings.Cut(host[len(u.Host().Name()):], ":")
	if !ok {
		return nil
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err == nil && !slices.Contains(unsafePorts, uint16(port)) {
		return nil
	}
	return &web.Failure{Reason: web.ReasonPort, Detail: fmt.Sprintf("%s: port %s is not for web servers", u, digits)}
}

// refusedError says that the guard did not let a connection be made.
type refusedError struct {
	addr   netip.Addr
	why    string
	always bool // Options.AllowPrivate does not let it
}

func (e *refusedError) Error() string {
	if e.always {
		return fmt.Sprintf("%s is %s: refused, with --allow-private too", e.addr, e.why)
	}
	return fmt.Sprintf("%s is %s: refused without --allow-private", e.addr, e.why)
}

// inward lists the address ranges that a public web cannot be in. Sources:
// the IANA special-purpose address registries for IPv4 and IPv6, and what
// cloud providers document of their metadata services.
var inward = []struct {
	netip.Prefix
	what string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "of this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "behind a carrier's NAT"}, // holds the metadata address 100.100.100.200
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local or metadata"}, // holds 169.254.169.254
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "of a protocol"}, // holds the metadata address 192.0.0.192
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved or broadcast"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata service"},

	{netip.MustParsePrefix("::/96"), "unspecified, loopback or IPv4-compatible"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a local translation"},
	{netip.MustParsePrefix("100::/64"), "discarded"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "discarded"},
	{netip.MustParsePrefix("2001::/23"), "of a protocol"}, // holds Teredo, benchmarks, ORCHID
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
	{netip.MustParsePrefix("5f00::/16"), "of segment routing"},
	{netip.MustParsePrefix("fc00::/7"), "private"}, // holds the metadata address fd00:ec2::254
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// closed lists the ranges that stay closed with Options.AllowPrivate: what answers there
// gives anybody on the machine the keys to its cloud, and is no site. Sources: RFC 3927, RFC
// 4291, and what cloud providers document of their metadata services.
var closed = []struct {
	netip.Prefix
	what string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local or metadata"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a metadata service"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a metadata service"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "a metadata service"},          // fd00:ec2::254 and its neighbours
	{netip.MustParsePrefix("fd20:ce::254/128"), "a metadata service"},       // metadata.google.internal
	{netip.MustParsePrefix("fd00:42::42/128"), "a metadata service"},        // of Scaleway
	{netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), "a metadata service"}, // of Oracle
}

// closedNames are those by which cloud providers document the same services. They matter
// where a proxy looks names up: here their addresses are found.
var closedNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"metadata.tencentyun.com", "api.metadata.cloud.ibm.com",
}

// unicast holds all IPv6 addresses that are given to sites, with nat64. Source: the IANA registry of
// the IPv6 address space, which reserves the rest or has given it back.
var unicast = netip.MustParsePrefix("2000::/3")

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052: IPv4 in the last 4 bytes
	sixTo4 = netip.MustParsePrefix("2002::/16")       // RFC 3056: IPv4 in bytes 2…5
	siit   = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 7915: IPv4 in the last 4 bytes

	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215: IPv4 where RFC 6052, 2.2 has it, by a length that nobody tells
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291, 2.5.5.1: IPv4 in the last 4 bytes
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380, section 4: IPv4 in the last 4 bytes, inverted
)

// guard returns a *refusedError for an address the public web cannot be at,
// or that wraps an IPv4 address of that kind.
func guard(a netip.Addr) error {
	if err := guardClosed(a); err != nil {
		return err
	}
	a = a.WithZone("").Unmap()
	for _, in := range inward {
		if in.Contains(a) {
			return &refusedError{addr: a, why: in.what}
		}
	}
	if a.Is6() && !unicast.Contains(a) && !nat64.Contains(a) {
		return &refusedError{addr: a, why: "in no range that is given to sites"}
	}
	for _, in := range wrapped(a) {
		if err := guard(in); err != nil {
			return err
		}
	}
	return nil
}

// guardClosed is guard for Options.AllowPrivate: it refuses what stays closed with it.
func guardClosed(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	if !a.IsValid() {
		return &refusedError{addr: a, why: "no address", always: true}
	}
	for _, in := range closed {
		if in.Contains(a) {
			return &refusedError{addr: a, why: in.what, always: true}
		}
	}
	for _, in := range wrapped(a) {
		if err := guardClosed(in); err != nil {
			return err
		}
	}
	return nil
}

// wrapped are the IPv4 addresses that an IPv6 address may stand for.
func wrapped(a netip.Addr) (in []netip.Addr) {
	if a.Is4() {
		return nil
	}
	b := a.As16()
	add := func(x, y, z, w byte) { in = append(in, netip.AddrFrom4([4]byte{x, y, z, w})) }
	switch {
	case localNAT64.Contains(a): // prefixes of 96, 64, 56 and 48 bits, byte 8 being zero
		add(b[12], b[13], b[14], b[15])
		add(b[9], b[10], b[11], b[12])
		add(b[7], b[9], b[10], b[11])
		add(b[6], b[7], b[9], b[10])
	case nat64.Contains(a), siit.Contains(a), compatible.Contains(a) && a.Compare(netip.IPv6Unspecified().Next()) > 0:
		add(b[12], b[13], b[14], b[15])
	case sixTo4.Contains(a):
		add(b[2], b[3], b[4], b[5])
	case teredo.Contains(a):
		add(^b[12], ^b[13], ^b[14], ^b[15])
	}
	// ISATAP, RFC 5214, 6.1: behind any prefix.
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		add(b[12], b[13], b[14], b[15])
	}
	return in
}

// socketGuard is a guard as a net.Dialer.Control: the last look, at the address a socket is
// about to be connected to.
func socketGuard(guard func(netip.Addr) error) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return &refusedError{why: fmt.Sprintf("%q, no address", address)}
		}
		return guard(ap.Addr())
	}
}
