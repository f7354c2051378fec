// Package plot draws charts, as SVG and as PNG alike.
package plot
