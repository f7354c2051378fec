package login

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// deaf is a browser whose answers are those of a list.
type deaf struct{ answers []error }

func (d *deaf) Call(_ context.Context, _, _ string, _, result any) error {
	err := d.answers[0]
	d.answers = d.answers[1:]
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(`{"cookies": [{"name": "id", "value": "1", "domain": "example.org", "path": "/"}]}`), result)
}

func (*deaf) Done() <-chan struct{} { return nil }
func (*deaf) Close() error          { return nil }

// While no look has succeeded the error is that of the last one; afterwards what was read stays.
func TestLookErrors(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	w := &Window{tools: &deaf{[]error{first, second, nil, first}}, sites: map[string]bool{"example.org": true}, err: errors.New("not read yet")}
	for i, want := range []error{first, second, nil, nil} {
		list, err := w.Cookies(t.Context())
		if !errors.Is(err, want) || (err == nil) != (len(list) == 1) {
			t.Errorf("look %d: %d cookies, error %v, want %v", i, len(list), err, want)
		}
	}
}
