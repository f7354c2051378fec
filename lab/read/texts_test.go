package read

import (
	"maps"
	"testing"

	"github.com/waggle-crawler/waggle/eval/pool"
)

// Each topic has a folder of its own, and its name can be read in any script.
func TestFolderNames(t *testing.T) {
	p := &pool.Pool{Topics: []pool.Topic{
		{Web: "w", Name: "bees"}, {Web: "w", Name: "Bienenstöcke"}, {Web: "w", Name: "пчёлы"}, {Web: "w", Name: "осы"},
		{Web: "w", Name: "a b"}, {Web: "w", Name: "a_b"}, {Web: "w-a_b", Name: "2"}, {Web: "w", Name: "a/b"}, {Web: "w", Name: "Bees"}, {Web: "w", Name: ".."},
	}}
	got := folderNames(p)
	want := map[pool.Key]string{
		{Web: "w", Topic: "bees"}: "w-bees", {Web: "w", Topic: "Bienenstöcke"}: "w-Bienenstöcke", {Web: "w", Topic: "пчёлы"}: "w-пчёлы", {Web: "w", Topic: "осы"}: "w-осы",
		{Web: "w", Topic: "a b"}: "w-a_b", {Web: "w", Topic: "a_b"}: "w-a_b-2", {Web: "w-a_b", Topic: "2"}: "w-a_b-2-2", {Web: "w", Topic: "a/b"}: "w-a_b-3", {Web: "w", Topic: "Bees"}: "w-Bees-2", {Web: "w", Topic: ".."}: "w-__",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
