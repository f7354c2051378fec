package viewer

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Whatever is sent as an act: what is taken as one is one that holds, and is the same when it is
// sent in the words in which acts are told.
func FuzzAct(f *testing.F) {
	for _, s := range []string{
		`{"do":"pause"}`, `{"do":"relevant","url":"https://bees.test/dance"}`, `{"do":"exclude","place":"bees.test/private/"}`, `{"do":"budget","pages":100}`,
		`{"do":"delay","delay":"2s"}`, `{"do":"keywords","keywords":["bees","waggle dance"]}`, `{"do":"undo","act":3}`, `{"do":"pause","do":"resume"}`,
		`{"DO":"pause"}`, `{"do":"budget","pages":null}`, `[]`, `{"do":"pause"} {}`, `{"do":"relevant","url":""}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxAct {
			return
		}
		a, err := readAct(b)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if err := a.Check(); err != nil {
			t.Fatalf("%q is taken: %v", b, err)
		}
		given := map[string]json.RawMessage{}
		if err := json.Unmarshal(b, &given); err != nil || len(given) > 2 {
			t.Fatalf("%q is taken: %v", b, err)
		}
		told := map[string]any{"do": a.Do}
		for name, value := range map[string]any{"url": a.URL, "place": a.Place, "pages": a.Pages, "delay": a.Delay, "keywords": a.Keywords, "act": a.Act} {
			if name == a.Needs() {
				told[name] = value
			}
		}
		again, err := json.Marshal(told)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readAct(again); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%q is %+v, and %s is %+v, %v", b, a, again, got, err)
		}
	})
}
