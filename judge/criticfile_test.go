package judge_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/waggle-crawler/waggle/judge"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

// The same samples in any order give the same bytes, and the bytes give the
// same judge back.
func TestCriticFile(t *testing.T) {
	samples := made(8, six, 30, 30, 0.6)
	b, err := train(t, samples, judge.Training{Seed: 9, Trained: "here"}).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for range 5 {
		mixed := slices.Clone(samples)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		again, err := train(t, mixed, judge.Training{Seed: 9, Trained: "here"}).Append(nil)
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("another order gives another critic: %v", err)
		}
	}
	if other, _ := train(t, samples, judge.Training{Seed: 10, Trained: "here"}).Append(nil); bytes.Equal(b, other) {
		t.Error("another seed holds out the same")
	}

	read, err := judge.ReadCritic(b, "x.critic")
	if err != nil {
		t.Fatal(err)
	}
	first := newCritic(t, train(t, samples, judge.Training{Seed: 9, Trained: "here"}), judge.Options{Focus: []string{"/Arts"}})
	second := newCritic(t, read, judge.Options{Focus: []string{"/Arts"}})
	for _, s := range samples[:20] {
		p := &web.Page{Terms: s.Terms}
		if a, b := relevance(t, first, p), relevance(t, second, p); a != b {
			t.Fatalf("%v became %v", a, b)
		}
	}
	if again, _ := read.Append(nil); !bytes.Equal(b, again) {
		t.Error("what was read is written otherwise")
	}

	// Damage anywhere is seen.
	for i := 0; i < len(b); i += 1 + len(b)/500 {
		bad := bytes.Clone(b)
		bad[i] ^= 0x20
		if _, err := judge.ReadCritic(bad, "x.critic"); err == nil {
			t.Fatalf("byte %d of %d can be changed", i, len(b))
		}
		if _, err := judge.ReadCritic(b[:i], "x.critic"); err == nil {
			t.Fatalf("it can end after %d of %d bytes", i, len(b))
		}
	}
	for in, want := range map[string]string{
		"":                                  "x.critic: it is no critic; make it with waggle topic train",
		"<html>":                            "x.critic: it is no critic",
		"waggle critic 2\n{}":               `x.critic: it is a critic of version "2", and this waggle reads version 1`,
		"waggle critic 1\n":                 "x.critic: the critic is cut short",
		"waggle critic 1\n{}\n\x0012345678": "x.critic: the critic is damaged: its checksum",
	} {
		if _, err := judge.ReadCritic([]byte(in), "x.critic"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// withClasses is what lies between the first line and the checksum of a critic with other classes.
func withClasses(tb testing.TB, classes ...string) []byte {
	tb.Helper()
	c := train(tb, made(8, six[:2], 5, 10, 0.6), judge.Training{})
	c.Record.Classes = classes
	b, err := c.Append(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b[len("waggle critic 1\n") : len(b)-8]
}

// Classes are paths of topics, each once: others are refused with what is wrong with them.
func TestCriticOfNoPaths(t *testing.T) {
	for _, c := range []struct {
		classes []string
		want    string
	}{
		{[]string{"Arts", "Science"}, `"Arts" is no path of a topic`},
		{[]string{"", "/Arts"}, `"" is no path of a topic`},
		{[]string{"/Arts", "/Arts/"}, `"/Arts/" is no path of a topic`},
		{[]string{"/Arts", "/Arts"}, "damaged inside"},
	} {
		b := append([]byte("waggle critic 1\n"), withClasses(t, c.classes...)...)
		b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
		if _, err := judge.ReadCritic(b, "x.critic"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.classes, err, c.want)
		}
	}
}

// Bytes that nobody wrote are refused, also with a checksum that fits.
func FuzzReadCritic(f *testing.F) {
	b, err := train(f, made(8, six[:2], 5, 10, 0.6), judge.Training{}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[len("waggle critic 1\n") : len(b)-8])
	f.Add([]byte("{}\n\x00\x00"))
	f.Add(withClasses(f, "Arts", "Science"))
	f.Fuzz(func(t *testing.T, body []byte) {
		b := append([]byte("waggle critic 1\n"), body...)
		b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
		c, err := judge.ReadCritic(b, "x")
		if err != nil {
			return
		}
		var focus []string
		if len(c.Record.Classes) > 0 {
			focus = c.Record.Classes[:1]
		}
		j, err := judge.New("critic", &topic.Topic{}, judge.Options{Critic: c, Focus: focus, Anyway: true})
		if err != nil {
			return
		}
		if _, err := j.Judge(context.Background(), &web.Page{Terms: terms("common1 artsmusic1")}); err != nil {
			t.Fatal(err)
		}
	})
}
