// Command mkdf makes the tables of document frequencies that are built into
// internal/text.
//
//	mkdf -wordnet DIR -o FILE     that of English
//	mkdf -debian DIR -o FOLDER    those of other languages, by apt-get; DIR is for its files
//	mkdf -fold FOLDER             folds letters in tables that were made before analyzers folded them
//
// Sources of English: the words and definitions of WordNet 3.0, files data.noun,
// data.verb, data.adj and data.adv (Debian package wordnet-base; WordNet 3.0
// licence of Princeton University: use, change and distribution for any
// purpose, with its notice). About 1.5 million running words give the rate of
// each stem per word; a page of 400 words then holds it with probability
//
//	share = 1 − exp(−400·rate)
//
// Stems seen once only are left out: text.DF gives them the share of a stem
// it does not know.
//
// Sources of other languages: the translated descriptions of Debian's packages
// (files Translation-* of the archive) and translated manual pages (packages
// manpages-*), which are free software; the tables hold no text of them, but how often
// words occur.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
)

// pageWords is the length of the page the table speaks of, in words.
const pageWords = 400

func main() {
	log.SetFlags(0)
	log.SetPrefix("mkdf: ")
	dir := flag.String("wordnet", "/usr/share/wordnet", "folder that holds WordNet's data.* files")
	work := flag.String("debian", "", "make the tables of other languages: a folder for what apt-get fetches")
	out := flag.String("o", "df.gz", "table to write; with -debian the folder of the tables")
	fold := flag.String("fold", "", "fold the words of the tables in this folder as analyzers do by now, without their texts")
	flag.Parse()
	var err error
	if *fold != "" {
		err = foldTables(*fold)
	} else if *work != "" {
		err = fromDebian(*work, *out)
	} else {
		err = fromWordNet(*dir, *out)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// count counts the stems of running text in one language.
type count struct {
	analyzer *text.Analyzer
	stems    map[string]int
	words    int
	room     []string
}

func newCount(language string) *count {
	return &count{analyzer: text.NewAnalyzer(language), stems: map[string]int{}}
}

func (c *count) add(s string) {
	c.room = c.analyzer.AppendWords(c.room[:0], s)
	for _, stem := range c.room {
		c.stems[stem]++
		c.words++
	}
}

// shares are those of the stems that occur more than once, of the most common ones if
// most is not 0.
func (c *count) shares(most int) map[string]float64 {
	least := 2
	if most > 0 && len(c.stems) > most {
		counts := slices.Sorted(maps.Values(c.stems))
		least = max(least, counts[len(counts)-most])
	}
	share := map[string]float64{}
	for stem, n := range c.stems {
		if n >= least && len(stem) < 30 && !strings.ContainsAny(stem, " \n") {
			share[stem] = 1 - math.Exp(-pageWords*float64(n)/float64(c.words))
		}
	}
	return share
}

func fromWordNet(dir, out string) error {
	c := newCount(text.English)
	for _, part := range []string{"noun", "verb", "adj", "adv"} {
		f, err := os.Open(filepath.Join(dir, "data."+part))
		if err != nil {
			return fmt.Errorf("%w (Debian: apt-get install wordnet-base)", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			c.add(prose(lines.Text()))
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return err
		}
	}
	share := c.shares(0)
	if err := writeTable(out, share); err != nil {
		return err
	}
	log.Printf("%d stems from %d words", len(share), c.words)
	return nil
}

func writeTable(file string, share map[string]float64) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := text.WriteDF(f, share); err != nil {
		return errors.Join(err, f.Close())
	}
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
