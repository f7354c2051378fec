package collection

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/waggle-crawler/waggle/crawl"
	"github.com/waggle-crawler/waggle/store"
)

func (s *source) damaged(err error) error {
	return fmt.Errorf("%w: repair that folder first, waggle repair %s", err, s.w.dir)
}

// tells tells whether the log tells of a visit to an address.
func (s *source) tells(url string) (bool, error) {
	if s.visits == nil {
		visits := map[uint64]bool{}
		for e, err := range s.entries() {
			if err != nil {
				return false, err
			}
			if u := visited(e.Event); !u.IsZero() {
				visits[hashOf(u.String())] = true
			}
		}
		s.visits = visits
	}
	return s.visits[hashOf(url)], nil
}

// readMarks reads up to where archive and log are acknowledged.
func (s *source) readMarks(ctx context.Context) error {
	logged, err := s.remains.State(crawl.StateEvents)
	if err != nil {
		return err
	}
	if logged == nil {
		kept, err := s.w.keepsRecords()
		if kept || s.w.tellsOfTurns() {
			err = errors.Join(err, s.damaged(fmt.Errorf("%s is missing or empty", s.w.FrontierDir())))
		}
		return err
	}
	if s.logEnd, err = strconv.ParseInt(string(logged), 10, 64); err != nil {
		return s.damaged(fmt.Errorf("%s: the mark of the event log: %w", s.w.FrontierDir(), err))
	}
	archived, err := s.remains.State(crawl.StateArchive)
	if err != nil {
		return err
	}
	if archived != nil {
		if s.archiveFile, s.archiveEnd, err = store.MarkedFile(archived); err != nil {
			return err
		}
	}
	return s.checkArchive(ctx)
}

// checkArchive finds files of the archive that are missing, and a last one that is too
// short. What is wrong within them is found as they are read.
func (s *source) checkArchive(ctx context.Context) error {
	files, err := s.w.archiveFiles()
	if err != nil {
		return err
	}
	files = upTo(s.archiveFile, files)
	sizes := map[int]int64{}
	for _, f := range files {
		sizes[f.number] = f.size
	}
	for n := range s.archiveFile + 1 {
		size, ok := sizes[n]
		if n == s.archiveFile && s.archiveEnd == 0 {
			break // nothing was written to it
		}
		if !ok || n == s.archiveFile && size < s.archiveEnd {
			return s.damaged(fmt.Errorf("%s: of file %d there are %d bytes, fewer than were written", s.w.ArchiveDir(), n, size))
		}
	}
	behind, err := exchangesBehind(ctx, files, s.archiveFile, s.archiveEnd)
	if behind > 1 {
		err = errors.Join(err, s.damaged(fmt.Errorf("%s lags behind its archive", s.w.FrontierDir())))
	}
	return err
}
