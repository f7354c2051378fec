// Package process holds tests of waggle as a process of its own: killed, with damaged
// files, on a full disk, and what it costs beside a bare loop.
package process
