// Package plot draws charts, as SVG and as PNG alike.
//
// A chart (Lines, Bars, Balance, Multiples) is laid out once into a Drawing, a
// flat list of shapes in the order in which they are painted; the Drawing is
// then written as SVG, or rasterised as PNG. Both look the same, and both are
// the same bytes for the same chart.
//
//	Lines, Bars, … ─► Draw ─► Drawing ─┬─► SVG   light and dark by the reader's wish
//	                                   └─► PNG   light or dark
//
// Units are pixels of a 96-dpi screen, the origin is at the top left.
package plot
