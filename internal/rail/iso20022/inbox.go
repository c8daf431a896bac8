package iso20022

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"bursar/internal/rail"
)

const (
	// maxFile bounds a file from the bank, and with it the memory for reading one. It has room for a day of some 30,000 payments.
	maxFile = 32 << 20
	// maxNotices bounds the notices of a file.
	maxNotices = 100_000
	// filesAtOnce is how many files Receive reads at a time.
	filesAtOnce = 8
)

// Receive implements rail.Connector. It returns files in the order of their names, and moves files that it does not accept to refused/. If
// there are more than it returns at once, the next call continues with them. So files with notices left do not keep others waiting.
func (c *Connector) Receive(ctx context.Context) ([]rail.Message, error) {
	files, err := os.ReadDir(c.path("in"))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next, _ := slices.BinarySearchFunc(files, c.last, func(file os.DirEntry, last string) int { return cmp.Compare(file.Name(), last+"\x00") })
	files = slices.Concat(files[next:], files[:next])
	c.last = ""
	var all []rail.Message
	var failed []error
	for _, file := range files {
		if !file.Type().IsRegular() || unfinished(file.Name()) {
			continue
		}
		if len(all) == filesAtOnce || ctx.Err() != nil {
			break
		}
		m, err := c.readOrRefuse(ctx, file.Name())
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist): // another node may have moved it
			failed = append(failed, fmt.Errorf("read %s: %w", file.Name(), err))
		case err == nil && m.ID != "":
			all = append(all, m)
		}
		if len(all) == filesAtOnce {
			c.last = file.Name()
		}
	}
	if len(all) > 0 {
		return all, nil // a file that cannot be read must not keep the others waiting
	}
	return nil, errors.Join(failed...)
}

// unfinished reports whether a name is one that programs give to files that they are still writing.
func unfinished(name string) bool {
	return strings.HasPrefix(name, ".") || slices.ContainsFunc([]string{".tmp", ".part", ".filepart"}, func(end string) bool { return strings.HasSuffix(name, end) })
}

// readOrRefuse reads a file, or moves it to refused/ with the reason; then the message has no id. An error means that the file cannot be read at
// this time.
func (c *Connector) readOrRefuse(ctx context.Context, name string) (rail.Message, error) {
	file, err := os.Open(c.path("in", name))
	if err != nil {
		return rail.Message{}, err
	}
	defer file.Close()
	source := &source{from: file, digest: sha256.New(), left: maxFile}
	notices, err := c.read(source)
	var system *fs.PathError // about a file in sent/
	switch {
	case source.err != nil:
		return rail.Message{}, source.err
	case errors.As(err, &system):
		return rail.Message{}, err
	case source.left < 0:
		err = fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	if err != nil {
		return rail.Message{}, c.refuse(ctx, name, err)
	}
	return rail.Message{ID: name + " " + source.sum(), Notices: notices}, nil
}

// Done implements rail.Connector. A newer file of the same name stays, and so does one with notices left.
func (c *Connector) Done(ctx context.Context, m rail.Message) error {
	if m.Left > 0 {
		return nil
	}
	at := strings.LastIndexByte(m.ID, ' ')
	if at < 0 {
		return fmt.Errorf("%q is no message of this connector", m.ID)
	}
	name, digest := m.ID[:at], m.ID[at+1:]
	return c.locked(ctx, func() error {
		file, err := os.Open(c.path("in", name))
		if errors.Is(err, os.ErrNotExist) {
			return nil // another node was faster
		}
		if err != nil {
			return err
		}
		source := &source{from: file, digest: sha256.New(), left: maxFile}
		_, err = io.Copy(io.Discard, source)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		if source.sum() != digest {
			return nil
		}
		return c.move(name, "done", c.free("done", name))
	})
}

// refuse moves a file to refused/, with a reason for people.
func (c *Connector) refuse(ctx context.Context, name string, why error) error {
	return c.locked(ctx, func() error {
		if _, err := os.Lstat(c.path("in", name)); err != nil {
			return err
		}
		as := c.free("refused", name)
		if err := c.writeFile("refused", as+".reason.txt", []byte("Bursar did not take this file: "+why.Error()+"\n")); err != nil {
			return err
		}
		return c.move(name, "refused", as)
	})
}

func (c *Connector) move(name, folder, as string) error {
	if err := os.Rename(c.path("in", name), c.path(folder, as)); err != nil {
		return err
	}
	return errors.Join(syncFolder(c.path(folder)), syncFolder(c.path("in")))
}

// free returns a file name that is not used in a folder.
func (c *Connector) free(folder, name string) string {
	for as, n := name, 2; ; n++ {
		if _, err := os.Lstat(c.path(folder, as)); errors.Is(err, os.ErrNotExist) {
			return as
		}
		as = name + "." + strconv.Itoa(n)
	}
}

// source reads a file up to a size. It keeps the digest and the error that stopped it.
type source struct {
	from   io.Reader
	digest hash.Hash
	left   int64
	err    error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.digest.Write(p[:n])
	if s.left -= int64(n); s.left < 0 {
		return 0, errors.New("the file is too large")
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (s *source) sum() string { return hex.EncodeToString(s.digest.Sum(nil)) }
