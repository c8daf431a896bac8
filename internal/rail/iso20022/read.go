package iso20022

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"bursar/internal/rail"
)

// namespace is the beginning of the namespaces of ISO 20022.
const namespace = "urn:iso:std:iso:20022:tech:xsd:"

// read returns the notices of a file. The error is why the file is refused.
func (c *Connector) read(from io.Reader) ([]rail.Notice, error) {
	d := &reader{Decoder: xml.NewDecoder(from), c: c, counts: map[string]int{}, sent: map[string][]note{}}
	root, err := d.root()
	if err != nil {
		return nil, err
	}
	if root.Name.Local != "Document" {
		return nil, fmt.Errorf("its root is <%s>, not <Document>", root.Name.Local)
	}
	switch kind := strings.TrimPrefix(root.Name.Space, namespace); kind {
	case "pain.002.001.10":
		err = d.inside(func(e xml.StartElement) error { return d.only(e, "CstmrPmtStsRpt", d.statusReport) })
	case "camt.053.001.08":
		err = d.inside(func(e xml.StartElement) error {
			return d.only(e, "BkToCstmrStmt", func() error { return d.statement("Stmt") })
		})
	case "camt.054.001.08":
		err = d.inside(func(e xml.StartElement) error {
			return d.only(e, "BkToCstmrDbtCdtNtfctn", func() error { return d.statement("Ntfctn") })
		})
	default:
		return nil, fmt.Errorf("it is a %q, not a pain.002.001.10, camt.053.001.08 or camt.054.001.08", kind)
	}
	if err == nil && !d.body {
		err = errors.New("it has no content")
	}
	if err == nil {
		err = d.end()
	}
	return d.notices, err
}

// reader steps through a file.
type reader struct {
	*xml.Decoder
	c       *Connector
	body    bool
	msgID   string
	notices []rail.Notice
	counts  map[string]int    // how often a name of an entry occurred
	sent    map[string][]note // messages that were already looked up
}

// root finds the first element. It refuses document types, which can name other files.
func (d *reader) root() (xml.StartElement, error) {
	for {
		token, err := d.Token()
		switch t := token.(type) {
		case xml.StartElement:
			return t, nil
		case xml.Directive:
			return xml.StartElement{}, errors.New("it has a document type, which messages of banks do not have")
		case xml.CharData:
			if strings.Trim(string(t), " \t\r\n\ufeff") != "" {
				return xml.StartElement{}, errors.New("it is no XML")
			}
		}
		if err == io.EOF {
			return xml.StartElement{}, errors.New("it is empty")
		}
		if err != nil {
			return xml.StartElement{}, fmt.Errorf("it is no XML: %w", err)
		}
	}
}

// inside calls fn with every child of the element that has just begun. fn reads the child to its end.
func (d *reader) inside(fn func(e xml.StartElement) error) error {
	for {
		token, err := d.Token()
		if err != nil {
			return fmt.Errorf("it is damaged: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := fn(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// only steps into an element of a name, and refuses any other.
func (d *reader) only(e xml.StartElement, name string, then func() error) error {
	if e.Name.Local != name {
		return fmt.Errorf("it has <%s> where <%s> belongs", e.Name.Local, name)
	}
	d.body = true
	return then()
}

// decode reads an element into a struct.
func (d *reader) decode(e xml.StartElement, into any) error {
	if err := d.DecodeElement(into, &e); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	return nil
}

// skip skips an element.
func (d *reader) skip() error {
	if err := d.Skip(); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	return nil
}

// end refuses anything after the root.
func (d *reader) end() error {
	for {
		token, err := d.Token()
		switch t := token.(type) {
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return errors.New("it continues after its end")
			}
		case xml.StartElement, xml.Directive:
			return errors.New("it continues after its end")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it continues after its end: %w", err)
		}
	}
}

// header reads the group header, which names the message.
func (d *reader) header(e xml.StartElement) error {
	var h struct{ MsgId string }
	if err := d.decode(e, &h); err != nil {
		return err
	}
	d.msgID = strings.TrimSpace(h.MsgId)
	return nil
}

// add adds a notice. Notices with the same name, such as those of two identical entries, are numbered.
func (d *reader) add(n rail.Notice) error {
	name := n.MessageID + "\n" + n.EntryID
	if d.counts[name]++; d.counts[name] > 1 {
		n.EntryID = fmt.Sprintf("%s#%d", n.EntryID, d.counts[name])
	}
	if len(d.notices) == maxNotices {
		return fmt.Errorf("it has more than %d entries", maxNotices)
	}
	d.notices = append(d.notices, n)
	return nil
}

func trim(texts ...*string) {
	for _, text := range texts {
		*text = strings.TrimSpace(*text)
	}
}

// references trims references, and empties those that mean none.
func references(texts ...*string) {
	for _, text := range texts {
		if trim(text); isNone(*text) {
			*text = ""
		}
	}
}

// isNone reports whether a reference is empty, or a word that banks write instead of one. Many payments have it, so it identifies none.
func isNone(reference string) bool {
	word := strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, reference))
	switch word {
	case "NOTPROVIDED", "NOTAVAILABLE", "NOTAPPLICABLE", "NOTKNOWN", "UNKNOWN", "NONREF", "NOREF", "NOREFERENCE", "NONE", "NA", "NULL", "NIL":
		return true
	}
	return strings.Trim(word, "0") == ""
}

// ours returns the payments of a message that we sent, none if it is not ours.
func (d *reader) ours(message string) ([]note, error) {
	if list, known := d.sent[message]; known {
		return list, nil
	}
	list, err := d.c.ofMessage(message)
	d.sent[message] = list
	return list, err
}
