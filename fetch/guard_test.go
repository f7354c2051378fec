package fetch

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		addr string
		ok   bool
	}{
		{"93.184.215.14", true},
		{"8.8.8.8", true},
		{"9.255.255.255", true},
		{"11.0.0.0", true},
		{"100.63.255.255", true},
		{"100.128.0.0", true},
		{"172.15.255.255", true},
		{"172.32.0.0", true},
		{"192.167.255.255", true},
		{"198.17.255.255", true},
		{"198.20.0.0", true},
		{"223.255.255.255", true},
		{"2606:2800:21f:cb07::1", true},
		{"2a00:1450:4001:81b::200e", true},
		{"::ffff:8.8.8.8", true},
		{"64:ff9b::8.8.8.8", true},
		{"2002:808:808::1", true},

		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"10.0.0.1", false},
		{"10.255.255.255", false},
		{"100.64.0.1", false},
		{"100.100.100.200", false},
		{"100.127.255.255", false},
		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"168.63.129.16", false},
		{"169.254.169.254", false},
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.0.0.192", false},
		{"192.0.2.1", false},
		{"192.168.1.1", false},
		{"198.18.0.1", false},
		{"198.19.255.255", false},
		{"198.51.100.7", false},
		{"203.0.113.9", false},
		{"224.0.0.1", false},
		{"239.255.255.255", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},
		{"::", false},
		{"::1", false},
		{"::7f00:1", false},
		{"::ffff:127.0.0.1", false},
		{"::ffff:0:10.0.0.1", false},
		{"64:ff9b::10.0.0.1", false},
		{"64:ff9b:1::1", false},
		{"100::1", false},
		{"2001::1", false},
		{"2001:db8::1", false},
		{"2002:7f00:1::1", false},
		{"2002:a00:1::", false},
		{"3fff::1", false},
		{"5f00::1", false},
		{"fc00::1", false},
		{"fd00:ec2::254", false},
		{"fe80::1%eth0", false},
		{"febf::1", false},
		{"fec0::1", false},
		{"ff02::1", false},

		// Of no range that is given to sites: Yggdrasil, which is routed where it is installed, and others.
		{"200::1", false},
		{"400::1", false},
		{"1fff:ffff::1", false},
		{"4000::1", false},
		{"::fffe:7f00:1", false},
		{"::ffff:0:8.8.8.8", false},
		{"64:ff9b:2::7f00:1", false},
		{"2400:cb00::1", true},
		{"3ffe::1", true},
	} {
		a := netip.MustParseAddr(c.addr)
		if err := guard(a); (err == nil) != c.ok {
			t.Errorf("guard(%s) = %v, want admitted: %v", c.addr, err, c.ok)
		}
		if err := socketGuard(guard)("tcp", netip.AddrPortFrom(a, 80).String(), nil); (err == nil) != c.ok {
			t.Errorf("the guard of the socket says of %s: %v, want admitted: %v", c.addr, err, c.ok)
		}
	}
	if err := socketGuard(guard)("unix", "/run/docker.sock", nil); err == nil {
		t.Error("a socket that is no address was admitted")
	}
	if err := guard(netip.Addr{}); err == nil {
		t.Error("no address was admitted")
	}
}

// wrappings are the ways to write an IPv4 address as one of IPv6 that the guard knows: where its
// four bytes are, and whether the way is refused whatever the address.
var wrappings = []struct {
	name, around    string
	at              [4]int
	inverted, whole bool
}{
	{name: "mapped", around: "::ffff:0:0", at: [4]int{12, 13, 14, 15}},
	{name: "SIIT", around: "::ffff:0:0:0", at: [4]int{12, 13, 14, 15}, whole: true},
	{name: "NAT64", around: "64:ff9b::", at: [4]int{12, 13, 14, 15}},
	{name: "6to4", around: "2002::1", at: [4]int{2, 3, 4, 5}},
	{name: "ISATAP", around: "2606:4700::5efe:0:0", at: [4]int{12, 13, 14, 15}},
	{name: "ISATAP, told to be global", around: "2606:4700::200:5efe:0:0", at: [4]int{12, 13, 14, 15}},
	{name: "compatible", around: "::", at: [4]int{12, 13, 14, 15}, whole: true},
	{name: "local NAT64, 96 bits", around: "64:ff9b:1::", at: [4]int{12, 13, 14, 15}, whole: true},
	{name: "local NAT64, 64 bits", around: "64:ff9b:1::", at: [4]int{9, 10, 11, 12}, whole: true},
	{name: "local NAT64, 56 bits", around: "64:ff9b:1::", at: [4]int{7, 9, 10, 11}, whole: true},
	{name: "local NAT64, 48 bits", around: "64:ff9b:1::", at: [4]int{6, 7, 9, 10}, whole: true},
	{name: "Teredo", around: "2001:0:4136:e378:8000:63bf::", at: [4]int{12, 13, 14, 15}, inverted: true, whole: true},
}

// Whatever is refused as IPv4 is refused in every wrapping of it, with leave for private addresses
// and without, and the standard library's own notion of private is never admitted without. Half of
// the addresses are in ranges that are refused.
func TestGuardSeesThroughWrappings(t *testing.T) {
	var ranges []netip.Prefix
	for _, list := range [][]struct {
		netip.Prefix
		what string
	}{inward, closed} {
		for _, in := range list {
			if in.Addr().Is4() {
				ranges = append(ranges, in.Prefix)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "IPv4"))
		if rapid.Bool().Draw(t, "in a range") {
			in := rapid.SampledFrom(ranges).Draw(t, "range")
			first := in.Addr().As4()
			for i := range b {
				mask := byte(0xff << max(0, min(8, 8*(i+1)-in.Bits())))
				b[i] = first[i]&mask | b[i]&^mask
			}
		}
		v4 := netip.AddrFrom4(b)
		refused, always := guard(v4) != nil, guardClosed(v4) != nil
		if !refused && (v4.IsPrivate() || v4.IsLoopback() || v4.IsLinkLocalUnicast() || v4.IsMulticast() || v4.IsUnspecified()) {
			t.Fatalf("%s admitted", v4)
		}
		for _, w := range wrappings {
			six := netip.MustParseAddr(w.around).As16()
			for i, x := range b {
				if w.inverted {
					x = ^x
				}
				six[w.at[i]] = x
			}
			a := netip.AddrFrom16(six)
			if got, want := guard(a) != nil, refused || w.whole; got != want {
				t.Fatalf("%s refused: %v, but %s, %s: %v", v4, refused, w.name, a, got)
			}
			if got := guardClosed(a) != nil; got != always {
				t.Fatalf("%s refused with leave: %v, but %s, %s: %v", v4, always, w.name, a, got)
			}
		}
	})
}

// With leave for private addresses those stay closed at which a machine finds the keys to
// its cloud, in every way to write them.
func TestGuardClosed(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1": true, "10.0.0.1": true, "172.16.0.1": true, "192.168.1.1": true, "100.64.0.1": true,
		"::1": true, "fc00::1": true, "fd00::1": true, "::ffff:127.0.0.1": true, "93.184.215.14": true,
		"0.0.0.0": true, "::": true, "168.63.129.15": true, "169.253.255.255": true, "169.255.0.0": true,

		"169.254.169.254": false, "169.254.0.1": false, "169.254.170.2": false,
		"100.100.100.200": false, "168.63.129.16": false, "192.0.0.192": false,
		"fe80::1": false, "fe80::1%eth0": false, "febf::1": false,
		"fd00:ec2::254": false, "fd00:ec2::23": false, "fd20:ce::254": false, "fd00:42::42": false, "fd00:c1::a9fe:a9fe": false,
		"::ffff:169.254.169.254": false, "::169.254.169.254": false, "::ffff:0:169.254.169.254": false,
		"64:ff9b::169.254.169.254": false, "64:ff9b:1::169.254.169.254": false, "2002:a9fe:a9fe::1": false,
		"2001:0:4136:e378:8000:63bf:5601:5601": false, "2001:0:4136:e378:8000:63bf:f5ff:fffe": true, // Teredo of 169.254.169.254, and of 10.0.0.1
	} {
		a := netip.MustParseAddr(addr)
		if err := guardClosed(a); (err == nil) != ok {
			t.Errorf("%s: %v, want admitted: %v", addr, err, ok)
		} else if err != nil && guard(a) == nil {
			t.Errorf("%s is open without leave", addr)
		}
	}
}
