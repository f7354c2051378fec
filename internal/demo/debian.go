package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/internal/terminal"
	"github.com/waggle-crawler/waggle/job"
)

// debianTable names the manuals of the larger demo: packages and the public
// addresses their pages are known by.
const debianTable = `debian-policy	https://www.debian.org/doc/debian-policy/
debian-faq	https://www.debian.org/doc/manuals/debian-faq/
debian-reference-en	https://www.debian.org/doc/manuals/debian-reference/
developers-reference	https://www.debian.org/doc/manuals/developers-reference/
apache2-doc	https://httpd.apache.org/docs/2.4/
sqlite3-doc	https://www.sqlite.org/
python-sqlalchemy-doc	https://docs.sqlalchemy.org/en/latest/
python-django-doc	https://docs.djangoproject.com/en/stable/
buildbot-doc	https://docs.buildbot.net/latest/
proftpd-doc	http://www.proftpd.org/docs/
nova-doc	https://docs.openstack.org/nova/latest/
bind9-doc	https://bind9.readthedocs.io/en/v9.18/
git-doc	https://www.kernel.org/pub/software/scm/git/docs/
`

// Debian builds a web of manuals of many hosts and serves it as a proxy.
func Debian(ctx context.Context, dir string, note func(string, ...any), progress func(done, total int, what string)) (Site, error) {
	place := filepath.Join(dir, "web")
	if !folder.Exists(filepath.Join(place, "web.yaml")) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Site{}, err
		}
		tables, remove, err := folder.Temp("", "waggle-packages-") // a file in dir may be the user's
		if err != nil {
			return Site{}, err
		}
		defer remove() // what is left of it stays among the temporary files
		table := filepath.Join(tables, "packages.tsv")
		if err := os.WriteFile(table, []byte(debianTable), 0o644); err != nil {
			return Site{}, err
		}
		note("Building a web from Debian's manuals …")
		built, err := corpus.Build(ctx, place, corpus.Packages{Table: table}, corpus.Options{
			Name: "debian-manuals", Description: "Manuals as packaged by Debian, under their public addresses",
			Source: "Debian documentation packages", Software: "waggle/" + job.Version, Progress: progress,
		})
		if err != nil {
			return Site{}, fmt.Errorf("%w\nThis demo needs apt-get download and dpkg-deb; waggle demo --web go needs only Go", err)
		}
		note("%s pages on %s hosts.", terminal.Number(built.Count.Pages), terminal.Number(built.Count.Hosts))
	}
	w, err := corpus.Open(place)
	if err != nil {
		return Site{}, err
	}
	s, err := corpus.NewServer(w, corpus.ServerOptions{})
	if err != nil {
		w.Close()
		return Site{}, err
	}
	l, err := corpus.Listen("127.0.0.1:0")
	if err != nil {
		w.Close()
		return Site{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	none := job.Duration(0)
	out := Site{Stop: func() {
		cancel()
		<-served
		w.Close()
	}}
	out.Job.Topic = job.Topic{
		Description: "Transactions and locking in databases",
		Keywords:    []string{"transaction", "isolation level", "lock", "deadlock", "commit", "rollback"},
	}
	for line := range strings.Lines(debianTable) {
		_, base, _ := strings.Cut(strings.TrimSpace(line), "\t")
		out.Job.Seeds = append(out.Job.Seeds, base)
	}
	out.Job.Politeness.Delay = &none
	out.Job.Fetch.Through = "http://" + l.Addr().String()
	out.Job.Fetch.Workers = 1
	return out, nil
}
