package profile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/waggle-crawler/waggle/internal/folder"
	"github.com/waggle-crawler/waggle/web"
)

// Page is a page that a history holds.
type Page struct {
	URL    web.URL
	Title  string // untrusted
	Visits int
}

// Pages are the pages in the history in file, which may also be the folder of a
// profile: the most visited first, at most so many. It is read from a copy.
func Pages(ctx context.Context, file string, most int) (pages []Page, err error) {
	if file, err = find(file); err != nil {
		return nil, err
	}
	dir, remove, err := folder.Temp("", copies)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if _, err := copyQuiet(file, filepath.Join(dir, "copy")); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(filepath.Join(dir, "copy"), sqlite.OpenReadWrite)
	if err != nil {
		return nil, fmt.Errorf("%s: a copy of it cannot be opened as a database: %w", file, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetInterrupt(ctx.Done())
	h, err := recognise(conn, file)
	if err != nil {
		return nil, err
	}
	query := "SELECT url, title, visit_count FROM urls WHERE visit_count > 0 AND hidden = 0 ORDER BY visit_count DESC, id LIMIT ?"
	if h.browser == "firefox" {
		query = "SELECT url, title, visit_count FROM moz_places WHERE visit_count > 0 AND hidden = 0 ORDER BY visit_count DESC, id LIMIT ?"
	}
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: []any{most}, ResultFunc: func(s *sqlite.Stmt) error {
		if u, err := web.Parse(s.ColumnText(0)); err == nil { // other schemes are passed over
			pages = append(pages, Page{u, s.ColumnText(1), s.ColumnInt(2)})
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return pages, nil
}
