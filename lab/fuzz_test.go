package lab

import "testing"

// Whatever stands in a lab file, it is refused with words, or is a lab.
func FuzzLab(f *testing.F) {
	f.Add([]byte("webs: [{path: a}]\nbudgets: [10]\nscorers: [best-first, waggle]\n"))
	f.Add([]byte("webs: [{synthetic: \"pages=10\"}]\nscorers: [{name: waggle, set: {alpha: .nan}}]\nrepeats: 1000000000\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		l, err := decode("lab.yaml", b)
		if err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		if (l == nil) == (err == nil) {
			t.Errorf("%v and %v", l, err)
		}
	})
}
