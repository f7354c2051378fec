package cookies

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/internal/folder"
)

// A file of cookies is what curl, wget and extensions of browsers read and write. A line
// has seven fields with tabs between them:
//
//	host  TRUE|FALSE  path  TRUE|FALSE  seconds since 1970  name  value
//	      │                 │           0 = of the session
//	      │                 by https alone
//	      also to hosts below
//
// "#HttpOnly_" before the host hides a cookie from scripts. What sites set stands behind the
// line ofSites. Other lines that begin with # say nothing.
const (
	httpOnly = "#HttpOnly_"
	preamble = "# Netscape HTTP Cookie File\n# Kept by waggle: who has this file is let in as you are.\n\n"
	ofSites  = "# Set by sites. What stands above was given, and is not pushed out by more of these.\n"
	maxFile  = 16 << 20
)

const _ = uint(maxFile - maxBytes - len(preamble+ofSites)) // a full jar is read back: this is not negative

// Open is a jar that is kept in a file, which only its owner may read; there need not be
// one yet. Its life: Open → used, saved now and then → Close. Until then no other process
// can open it: the error then wraps folder.ErrLocked. No error repeats what stands in the file.
func Open(name string, clock Clock) (*Jar, error) {
	lock, err := folder.LockFile(name)
	if err != nil {
		return nil, err
	}
	j := New(clock)
	j.file, j.lock, j.saved = name, lock, clock.Now()
	if err := j.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, lock.Close())
	}
	j.changed = false
	return j, nil
}

// Close saves the jar, if it is kept in a file, and gives that back.
func (j *Jar) Close() error {
	if j == nil || j.file == "" {
		return nil
	}
	j.saveNow(true)
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.failed
	if j.lock != nil {
		err = errors.Join(err, j.lock.Close())
		j.lock = nil
	}
	return err
}

func (j *Jar) read() error {
	f, err := os.Open(j.file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder: give a file, such as %s", j.file, j.file+"/cookies.txt")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others on this machine may read %s: chmod 600 %s", j.file, j.file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(b) > maxFile {
		return fmt.Errorf("%s has more than %d MiB: it is no file of cookies", j.file, maxFile>>20)
	}
	n, given := 0, true
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		given = given && line+"\n" != ofSites
		c, ok, err := parseLine(line)
		if err == nil && ok {
			c.given = given
			err = j.admit(c)
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: %w; what it says is not shown here, and waggle help logins has an example", j.file, n, err)
		}
	}
	return nil
}

// parseLine reads a line. ok tells whether it holds a cookie.
func parseLine(line string) (c Cookie, ok bool, err error) {
	line, c.HTTPOnly = strings.CutPrefix(line, httpOnly)
	if !c.HTTPOnly && (strings.TrimSpace(line) == "" || line[0] == '#') {
		return c, false, nil
	}
	f := strings.Split(line, "\t")
	if len(f) == 6 { // some writers leave out an empty value
		f = append(f, "")
	}
	if len(f) != 7 {
		return c, false, errors.New("these are not seven fields with tabs between them")
	}
	seconds, err := strconv.ParseFloat(f[4], 64)
	if err != nil || !(seconds >= -1 && seconds <= 1e12) { // NaN is none either
		return c, false, errors.New("the fifth field is no number of seconds")
	}
	c.Domain, c.Below, c.Path, c.Secure, c.Name, c.Value = f[0], strings.EqualFold(f[1], "TRUE"), f[2], strings.EqualFold(f[3], "TRUE"), f[5], f[6]
	if seconds > 0 {
		c.Expires = time.Unix(int64(seconds), 0)
	}
	return c, true, nil
}

// saveNow saves what has changed, now and then or at once.
func (j *Jar) saveNow(atOnce bool) {
	if j.file == "" {
		return
	}
	now := j.clock.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.changed || !atOnce && now.Sub(j.saved) < saveEvery {
		return
	}
	j.saved = now
	if j.failed = folder.WritePrivate(j.file, j.text(now)); j.failed == nil {
		j.changed = false
	} else {
		j.failed = fmt.Errorf("the cookies cannot be kept: %w", j.failed)
	}
}

// text is the jar as a file: what was given, then what sites set, each site by site.
func (j *Jar) text(now time.Time) []byte {
	var b bytes.Buffer
	b.WriteString(preamble)
	j.write(&b, now, true)
	b.WriteString(ofSites)
	j.write(&b, now, false)
	return b.Bytes()
}

func (j *Jar) write(b *bytes.Buffer, now time.Time, given bool) {
	for _, domain := range slices.Sorted(maps.Keys(j.sites)) {
		for _, c := range j.sites[domain].cookies {
			if !c.live(now) || c.given != given {
				continue
			}
			host, ends := c.Domain, int64(0)
			if c.Below {
				host = "." + host
			}
			if c.HTTPOnly {
				host = httpOnly + host
			}
			if !c.Expires.IsZero() {
				ends = c.Expires.Unix()
			}
			fmt.Fprintf(b, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", host, upper(c.Below), c.Path, upper(c.Secure), ends, c.Name, c.Value)
		}
	}
}

func upper(b bool) string { return strings.ToUpper(strconv.FormatBool(b)) }
