package topic_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/topic"
	"github.com/waggle-crawler/waggle/web"
)

func TestValidate(t *testing.T) {
	full := &web.Page{Terms: []web.Term{{Text: "bee", Body: 1}}}
	for _, c := range []struct {
		name  string
		topic topic.Topic
		want  string // part of the error, "" for none
	}{
		{"keywords", topic.Topic{Keywords: []string{"bees"}}, ""},
		{"description", topic.Topic{Description: "Keeping bees"}, ""},
		{"examples", topic.Topic{Examples: []*web.Page{full}}, ""},
		{"nothing", topic.Topic{Name: "bees"}, "give keywords, a description or example pages"},
		{"negatives alone", topic.Topic{Negatives: []*web.Page{full}}, "give keywords"},
		{"description without words", topic.Topic{Description: "the, of – and!"}, "give keywords"},
		{"empty keyword", topic.Topic{Keywords: []string{"bees", "the"}}, `keyword 2, "the"`},
		{"of another language", topic.Topic{Keywords: []string{"Not"}, Language: []string{"de"}}, ""},
		{"of a language that is guessed", topic.Topic{Keywords: []string{"Honigbienen", "Schwänzeltanz", "Not"}}, ""},
		{"empty in its language", topic.Topic{Keywords: []string{"und"}, Language: []string{"de"}}, `keyword 1, "und"`},
		{"each of one language of two", topic.Topic{Keywords: []string{"Not", "und"}, Language: []string{"en", "de"}}, ""},
		{"empty in both", topic.Topic{Keywords: []string{"in"}, Language: []string{"en", "de"}}, `keyword 1, "in"`},
		{"empty example", topic.Topic{Examples: []*web.Page{full, {}}}, "example 2"},
		{"missing negative", topic.Topic{Keywords: []string{"bees"}, Negatives: []*web.Page{nil}}, "negative example 1"},
	} {
		err := c.topic.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	if err := (&topic.Topic{}).Validate(); !errors.Is(err, topic.ErrNothing) {
		t.Errorf("an empty topic: %v", err)
	}
}

func TestViews(t *testing.T) {
	tp := topic.Topic{
		Keywords:    []string{"Machine Learning", "the", "machine learning", "bees"},
		Description: "Bees and the learning of bees",
	}
	a := text.NewAnalyzer()
	var got []string
	for _, p := range tp.Phrases(a) {
		got = append(got, strings.Join(p, " "))
	}
	if want := []string{"machin learn", "bee"}; !slices.Equal(got, want) {
		t.Errorf("phrases %q, want %q", got, want)
	}
	if got, want := tp.DescriptionStems(a), []string{"bee", "learn"}; !slices.Equal(got, want) {
		t.Errorf("description %q, want %q", got, want)
	}
}
