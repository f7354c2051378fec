package silver

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/waggle-crawler/waggle/eval/pool"
	"github.com/waggle-crawler/waggle/web"
)

// A file of silver grades holds the documents of a pool's webs that no reader
// graded, topic by topic, each by the address that stands for it. The
// probabilities are those of Prediction, with three decimals. The first line has the
// number of grades, so that a file that was cut short is told; older files lack it:
//
//	# waggle silver of pool 3fa9c20be1d04a57, 1 grades
//	web	topic	address	partly	mainly	grade
//	campus	databases	http://a.example/	0.731	0.112	1
const (
	mark = "# waggle silver of pool "
	head = "web\ttopic\taddress\tpartly\tmainly\tgrade\n"
)

// Label is a silver grade.
type Label struct {
	pool.Key
	URL web.URL
	Prediction
}

// Write writes labels of a pool.
func Write(w io.Writer, revision string, labels []Label) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s%s, %d grades\n%s", mark, revision, len(labels), head)
	for _, l := range labels {
		fmt.Fprintf(out, "%s\t%s\t%s\t%.3f\t%.3f\t%s\n", l.Web, l.Topic, l.URL, l.Partly, l.Mainly, l.Grade())
	}
	return out.Flush()
}

// Grades are silver grades by topic and address.
type Grades map[pool.Key]map[web.URL]pool.Grade

// Read reads the grades of a file that fits a pool. The error tells file and line.
func Read(name string, p *pool.Pool) (Grades, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	const anew = "waggle lab pool extend makes it anew"
	first, rest, _ := strings.Cut(string(b), "\n")
	first, counted := strings.CutSuffix(strings.TrimSuffix(first, "\r"), " grades")
	revision, ok := strings.CutPrefix(first, mark)
	if !ok {
		return nil, fmt.Errorf("%s:1: the first line is not %q and a revision", name, mark)
	}
	count := -1
	if counted {
		var number string
		revision, number, _ = strings.Cut(revision, ", ")
		if count, err = strconv.Atoi(number); err != nil || count < 0 {
			return nil, fmt.Errorf("%s:1: %q is no number of grades", name, number)
		}
	}
	if revision != p.Revision {
		return nil, fmt.Errorf("%s:1: the grades are of pool %s, and this is pool %s: %s", name, revision, p.Revision, anew)
	}
	if second, body, _ := strings.Cut(rest, "\n"); strings.TrimSuffix(second, "\r")+"\n" != head {
		return nil, fmt.Errorf("%s:2: the line is not %q", name, strings.TrimSuffix(head, "\n"))
	} else {
		rest = body
	}
	out := Grades{}
	n := 2
	for line := range strings.Lines(rest) {
		n++
		if !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("%s:%d: the line has no end: the file was cut short: %s", name, n, anew)
		}
		if err := out.add(strings.TrimRight(line, "\r\n"), p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if count >= 0 && n-2 != count {
		return nil, fmt.Errorf("%s holds %d grades, and its first line says %d: it was cut short or changed: %s", name, n-2, count, anew)
	}
	return out, nil
}

func (g Grades) add(line string, p *pool.Pool) error {
	f := strings.Split(line, "\t")
	if len(f) != 6 {
		return fmt.Errorf("%d fields; six parted by tabs are wanted: web, topic, address, partly, mainly, grade", len(f))
	}
	k := pool.Key{Web: f[0], Topic: f[1]}
	if g[k] == nil {
		if _, err := p.Topic(k); err != nil {
			return err
		}
		g[k] = map[web.URL]pool.Grade{}
	}
	u, err := web.Parse(f[2])
	if err != nil {
		return err
	}
	for _, s := range f[3:5] {
		if x, err := strconv.ParseFloat(s, 64); err != nil || !(x >= 0 && x <= 1) {
			return fmt.Errorf("%q is no probability", s)
		}
	}
	grade, err := pool.ParseGrade(f[5])
	if err != nil {
		return err
	}
	if grade == pool.CannotTell {
		return fmt.Errorf("grade %q: 0, 1 or 2 is wanted", f[5])
	}
	g[k][u] = grade
	return nil
}
