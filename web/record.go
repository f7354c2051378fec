package web

import "net/http"

// Concealed stands in a stored response in place of what nobody else may read, such as a password that the
// server repeats. It can stand in any text, also in the name of a host.
const Concealed = "waggle-concealed"

// RecordHeader is the header with which a server of a recorded web says what it
// is: by RecordServed to a client that asks for its certificate, so that the
// client knows that nothing it is given comes from the live web; and by
// RecordAbsent that it answers 404 because an address is not in its record: what
// the site would have answered is not known.
const (
	RecordHeader = "Waggle-Record"
	RecordServed = "served"
	RecordAbsent = "absent"
)

// NotRecorded is the answer of a recorded web for an address that is not in it.
func NotRecorded(u URL) *Response {
	return &Response{
		URL: u, Proto: "HTTP/1.1", Status: http.StatusNotFound,
		Head:   []byte("HTTP/1.1 404 Not Found\r\n" + RecordHeader + ": " + RecordAbsent + "\r\n"),
		Header: Header{RecordHeader: {RecordAbsent}},
	}
}

// Absent tells whether a response is that of a recorded web for an address that
// is not in it. A live site that says so of a page of its own has but that page
// counted so.
func (r *Response) Absent() bool {
	said := r.Header[RecordHeader]
	return r.Status == http.StatusNotFound && len(said) > 0 && said[0] == RecordAbsent
}
