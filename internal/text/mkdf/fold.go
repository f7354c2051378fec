package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/internal/text"
)

// foldTables makes one stem of those in the tables df-LANGUAGE.gz of a folder that an analyzer
// folds into one by now. Tables made of texts need it not, as the same analyzer counted them. The
// rates of stems that become one add up:
//
//	share = 1 − exp(−400·(rate₁ + rate₂)), rate = −ln(1 − share)/400
func foldTables(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "df-*.gz"))
	if err != nil {
		return err
	}
	for _, file := range files {
		language := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "df-"), ".gz")
		share, err := readTable(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		a, folded := text.NewAnalyzer(language), 0
		rates := map[string]float64{}
		for stem, p := range share {
			if text.Fold(language, stem) != stem {
				folded++
				terms := a.Words(stem)
				if len(terms) != 1 {
					continue // a stop word
				}
				stem = terms[0]
			}
			rates[stem] += -math.Log(1-min(p, 0.9999)) / pageWords
		}
		if folded == 0 {
			continue
		}
		before := len(share)
		for stem := range share {
			delete(share, stem)
		}
		for stem, r := range rates {
			share[stem] = 1 - math.Exp(-pageWords*r)
		}
		if err := writeTable(file, share); err != nil {
			return err
		}
		log.Printf("%s: %d of %d stems folded, %d are left", filepath.Base(file), folded, before, len(share))
	}
	return nil
}

// readTable reads a table as text.WriteDF writes it.
func readTable(file string) (map[string]float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	share := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		stem, step, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(step)
		if err != nil {
			return nil, err
		}
		share[stem] = math.Exp2(-float64(n) / 8)
	}
	return share, nil
}
