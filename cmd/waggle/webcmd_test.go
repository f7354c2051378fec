package main

import (
	"net"
	"testing"
)

// A served web that other machines can reach says what their crawls need beside the proxy.
func TestCrawlThrough(t *testing.T) {
	for ip, want := range map[string]string{
		"127.0.0.1": "waggle crawl --through http://127.0.0.1:8080 --delay 0 -f JOB.yaml -o DIR",
		"192.0.2.7": "waggle crawl --through http://192.0.2.7:8080 --through-ca ca.pem --contact YOU@EXAMPLE.ORG --delay 0 -f JOB.yaml -o DIR",
	} {
		if got := crawlThrough(&net.TCPAddr{IP: net.ParseIP(ip), Port: 8080}); got != want {
			t.Errorf("%s: %s", ip, got)
		}
	}
}
