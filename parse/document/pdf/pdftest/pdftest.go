// Package pdftest makes PDF files for tests, sound ones and others.
package pdftest

import (
	"bytes"
	"fmt"
)

// Objects makes a PDF of objects, numbered from 1, whose first is the catalog.
func Objects(objects ...string) []byte {
	objects = append(objects, "<< /Title (Bees) >>")
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	at := make([]int, len(objects))
	for i, o := range objects {
		at[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, len(objects), start)
	return b.Bytes()
}

// Stream is a stream object.
func Stream(dictionary, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dictionary, len(data), data)
}

// Page makes a PDF of one page with a line of text, and a link to an address, unless it
// is "", over "The waggle dance".
func Page(text, address string) []byte {
	annotation := ""
	if address != "" {
		annotation = fmt.Sprintf("/Annots [ << /Type /Annot /Subtype /Link /Rect [70 690 262 720] /A << /S /URI /URI (%s) >> >> ]", address)
	}
	return Objects(
		"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> "+annotation+" >>",
		Stream("", "BT /F1 24 Tf 72 700 Td ("+text+") Tj ET"),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	)
}
