package web

import "strings"

// MaxCodings bounds the content codings laid over one another in a response. The body of
// one with more is not decoded.
const MaxCodings = 3

// Codings lists the content codings of a response that mean something, in the order in
// which they were applied: "gzip", "br", "zstd" and "deflate". header are the lines of
// Content-Encoding. Words that are no coding ("none", "utf-8") are passed over, as
// browsers do.
func Codings(header []string) (list []string) {
	for _, line := range header {
		for name := range strings.SplitSeq(line, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); name {
			case "gzip", "br", "zstd", "deflate":
				list = append(list, name)
			case "x-gzip":
				list = append(list, "gzip")
			}
		}
	}
	return list
}
