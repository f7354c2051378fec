package view

import "golang.org/x/sys/unix"

// Requests that read and set how a terminal behaves.
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)
