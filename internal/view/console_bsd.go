//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package view

import "golang.org/x/sys/unix"

// Requests that read and set how a terminal behaves.
const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
)
