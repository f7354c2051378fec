// Command mkdf makes the table of document frequencies of English stems that
// is built into internal/text.
//
// Source: the words and definitions of WordNet 3.0, files data.noun,
// data.verb, data.adj and data.adv (Debian package wordnet-base; WordNet 3.0
// licence of Princeton University: use, change and distribution for any
// purpose, with its notice). About 1.5 million running words give the rate of
// each stem per word; a page of 400 words then holds it with probability
//
//	share = 1 − exp(−400·rate)
//
// Stems seen once only are left out: text.DF gives them the share of a stem
// it does not know.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
)

// pageWords is the length of the page the table speaks of, in words.
const pageWords = 400

func main() {
	log.SetFlags(0)
	log.SetPrefix("mkdf: ")
	dir := flag.String("wordnet", "/usr/share/wordnet", "folder that holds WordNet's data.* files")
	out := flag.String("o", "df.gz", "table to write")
	flag.Parse()
	if err := run(*dir, *out); err != nil {
		log.Fatal(err)
	}
}

func run(dir, out string) error {
	count := map[string]int{}
	words := 0
	a := text.NewAnalyzer()
	for _, part := range []string{"noun", "verb", "adj", "adv"} {
		f, err := os.Open(filepath.Join(dir, "data."+part))
		if err != nil {
			return fmt.Errorf("%w (Debian: apt-get install wordnet-base)", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			for _, stem := range a.Words(prose(lines.Text())) {
				count[stem]++
				words++
			}
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return err
		}
	}
	share := map[string]float64{}
	for stem, n := range count {
		if n > 1 && len(stem) < 30 && !strings.ContainsAny(stem, " \n") {
			share[stem] = 1 - math.Exp(-pageWords*float64(n)/float64(words))
		}
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := text.WriteDF(f, share); err != nil {
		return err
	}
	log.Printf("%d stems from %d words", len(share), words)
	return f.Close()
}

// prose is the readable part of a line of a data file: the words of the
// synonym set, and its definition with examples. A line is
//
//	offset file-number type word-count(hex) word lex-id word lex-id … | gloss
func prose(line string) string {
	if strings.HasPrefix(line, "  ") { // the licence
		return ""
	}
	data, gloss, _ := strings.Cut(line, "|")
	fields := strings.Fields(data)
	if len(fields) < 4 {
		return gloss
	}
	var n int
	fmt.Sscanf(fields[3], "%x", &n)
	var b strings.Builder
	for i := 4; i < len(fields) && n > 0; i, n = i+2, n-1 {
		b.WriteString(strings.ReplaceAll(fields[i], "_", " "))
		b.WriteByte(' ')
	}
	b.WriteString(gloss)
	return b.String()
}
