// Package read is where people read the pages of a pool and grade them.
package read
