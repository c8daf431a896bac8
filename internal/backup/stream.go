package backup

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"bursar/internal/db"
	"bursar/internal/db/engine"
)

// form is the first line of a stream. earlierForm is that of builds before the first version of the schema.
const (
	form        = "bursar archive 2\n"
	earlierForm = "bursar archive 1\n"
)

// maxPart bounds how much of a stream is read at once. Rows are far smaller; the largest are chunks of
// imports.
const maxPart = 1 << 28

// Header is the beginning of a stream.
type Header struct {
	Schema string `json:"schema"` // the last migration
	Engine string `json:"engine"`
	At     int64  `json:"at"` // the moment of the store, in Unix milliseconds
}

// Manifest is the end of a stream.
type Manifest struct {
	Header
	Tables []TableDigest `json:"tables"`
	// Checkpoint is the newest head of the audit log's tree, nil if there is none.
	Checkpoint *Checkpoint `json:"checkpoint"`
}

// Checkpoint is a head of the audit log's tree.
type Checkpoint struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	Root   []byte `json:"root"`
	At     int64  `json:"at"`
}

// Rows counts the rows of all tables.
func (m Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// tableHead precedes the rows of a table.
type tableHead struct {
	Table   string       `json:"table"`
	Columns []columnHead `json:"columns"`
}

type columnHead struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Each part of a stream begins with one of these bytes, followed by JSON.
const (
	tablePart    = 'T'
	manifestPart = 'M'
)

// write writes all of a store as a stream.
func write(q db.Q, d *db.DB, to io.Writer, progress func(rows int64)) (m Manifest, err error) {
	out := bufio.NewWriterSize(to, 1<<17)
	if m.Header, err = readHeader(q, d); err != nil {
		return m, err
	}
	if m.Checkpoint, err = readCheckpoint(q); err != nil {
		return m, err
	}
	tables, err := q.Tables(d)
	if err != nil {
		return m, err
	}
	if _, err := out.WriteString(form); err != nil {
		return m, err
	}
	if err := writeJSON(out, m.Header); err != nil {
		return m, err
	}
	count := counter(progress)
	for _, t := range tables {
		sum, err := writeTable(q, d, t, out, count)
		if err != nil {
			return m, err
		}
		m.Tables = append(m.Tables, sum)
	}
	if err := out.WriteByte(manifestPart); err != nil {
		return m, err
	}
	if err := writeJSON(out, m); err != nil {
		return m, err
	}
	return m, out.Flush()
}

func readHeader(q db.Q, d *db.DB) (h Header, err error) {
	h = Header{Engine: d.Engine(), At: d.Now()}
	h.Schema, err = q.Schema()
	return h, err
}

func readCheckpoint(q db.Q) (*Checkpoint, error) {
	var c Checkpoint
	found, err := q.Row(`SELECT t.origin, h.size, h.root, h.at FROM audit_head h CROSS JOIN audit_tree t ORDER BY h.number DESC LIMIT 1`).Scan(&c.Origin, &c.Size, &c.Root, &c.At)
	if err != nil || !found {
		return nil, err
	}
	return &c, nil
}

func writeTable(q db.Q, d *db.DB, t db.Table, out *bufio.Writer, count func()) (TableDigest, error) {
	head := tableHead{Table: t.Name}
	for _, c := range t.Columns {
		head.Columns = append(head.Columns, columnHead{c.Name, string(c.Kind)})
	}
	var sum digest
	if err := out.WriteByte(tablePart); err != nil {
		return TableDigest{}, err
	}
	if err := writeJSON(out, head); err != nil {
		return TableDigest{}, err
	}
	err := q.EachRow(d, t, func(row []byte) error {
		sum.add(row)
		count()
		return writePart(out, row)
	})
	if err != nil {
		return TableDigest{}, err
	}
	return sum.of(t.Name), out.WriteByte(0) // no row is empty, so this marks the end
}

func writeJSON(out *bufio.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return writePart(out, text)
}

func writePart(out *bufio.Writer, part []byte) error {
	if _, err := out.Write(binary.AppendUvarint(out.AvailableBuffer(), uint64(len(part)))); err != nil {
		return err
	}
	_, err := out.Write(part)
	return err
}

// stream reads a stream that write has written.
type stream struct {
	Header
	in   *bufio.Reader
	part []byte
}

// errDamaged is returned for a malformed or incomplete stream.
var errDamaged = errors.New("the archive is damaged or was cut off")

func openStream(from io.Reader) (*stream, error) {
	s := &stream{in: bufio.NewReaderSize(from, 1<<17)}
	first := make([]byte, len(form))
	if _, err := io.ReadFull(s.in, first); err != nil {
		return nil, damaged(err)
	}
	switch string(first) {
	case form:
		return s, s.readJSON(&s.Header)
	case earlierForm:
		return nil, engine.EarlierBuild("archive")
	}
	return nil, errors.New("the file is no archive of a store, or one of a newer bursar")
}

// damaged returns errDamaged for a stream that ends too early, or another error that keeps it from
// being read.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// tables calls each for every table, with a function that returns its rows until io.EOF, and returns the
// manifest that follows them.
func (s *stream) tables(each func(t db.Table, next func() ([]byte, error)) error) (m Manifest, err error) {
	for {
		kind, err := s.in.ReadByte()
		if err != nil {
			return m, damaged(err)
		}
		switch kind {
		case manifestPart:
			if err := s.readJSON(&m); err != nil {
				return m, err
			}
			if _, err := s.in.ReadByte(); err != io.EOF { // only the end shows that nothing was cut off
				return m, errors.Join(errDamaged, err)
			}
			return m, nil
		case tablePart:
			var head tableHead
			if err := s.readJSON(&head); err != nil {
				return m, err
			}
			t := db.Table{Name: head.Table}
			for _, c := range head.Columns {
				if len(c.Kind) != 1 {
					return m, errDamaged
				}
				t.Columns = append(t.Columns, db.Column{Name: c.Name, Kind: engine.Kind(c.Kind[0])})
			}
			if err := each(t, s.next); err != nil {
				return m, err
			}
		default:
			return m, errDamaged
		}
	}
}

// next returns the next row of a table, which is valid until the next call.
func (s *stream) next() ([]byte, error) {
	err := s.readPart()
	if err == nil && len(s.part) == 0 {
		return nil, io.EOF
	}
	if errors.Is(err, io.EOF) {
		err = errDamaged // io.EOF is the end of a table
	}
	return s.part, err
}

func (s *stream) readPart() error {
	size, err := binary.ReadUvarint(s.in)
	if err != nil {
		return damaged(err)
	}
	if size > maxPart {
		return errDamaged
	}
	if uint64(cap(s.part)) < size {
		s.part = make([]byte, size)
	}
	s.part = s.part[:size]
	_, err = io.ReadFull(s.in, s.part)
	return damaged(err)
}

func (s *stream) readJSON(value any) error {
	if err := s.readPart(); err != nil {
		return err
	}
	if err := json.Unmarshal(s.part, value); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}
