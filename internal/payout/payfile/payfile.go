// Package payfile reads files of payouts: CSV and NDJSON, one payout a line.
package payfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"bursar/api"
	"bursar/internal/spreadsheet"
)

// The columns of a CSV file, which are also the members of a line of NDJSON.
const (
	Amount        = "amount"
	To            = "to" // a payee of the directory, or one of their receiving methods after a slash
	MethodID      = "receiving_method_id"
	BankCode      = "bank_code"
	AccountNumber = "account_number"
	AccountName   = "account_name"
	Rail          = "rail"
	ExternalID    = "external_id"
	Description   = "description"
)

// Columns lists all columns.
func Columns() []string {
	return []string{Amount, To, MethodID, BankCode, AccountNumber, AccountName, Rail, ExternalID, Description}
}

// Line is a payout as read from a file.
type Line struct {
	Number int               // of its first line in the file
	Cells  map[string]string // by column; empty cells are left out
	Fault  string            // why the line cannot be read
}

// notUTF8 is the fault of text that a spreadsheet has saved in another encoding: no one is to be paid under a misread name.
const notUTF8 = "is not UTF-8: save the file as CSV in UTF-8"

// maxLines is how many payouts one file may have.
const maxLines = 100_000

// Read reads a file. One that begins with { is NDJSON. A line that cannot be read has a Fault; a file that cannot be read is an error.
func Read(from io.Reader) ([]Line, error) {
	in := bufio.NewReader(from)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = in.Discard(len(mark))
	}
	first, err := in.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	read := readCSV
	if first[0] == '{' {
		read = readNDJSON
	}
	lines, err := read(in)
	if err == nil && len(lines) == 0 {
		err = errors.New("the file has no payout")
	}
	return lines, err
}

// ReadNamed reads a file as Read does. It gives every line without an external id one made of the digest of the file and the line's number.
// So sending the same file again means the same payouts, whether a browser or a command line sends it. A file that was tried in the sandbox
// can still be paid from a live account: the external ids of its lines differ there.
func ReadNamed(from io.Reader, mode string) ([]Line, error) {
	digest := sha256.New()
	lines, err := Read(io.TeeReader(from, digest))
	prefix := "file-"
	if mode == api.ModeSandbox {
		prefix = "sandbox-file-"
	}
	sum := hex.EncodeToString(digest.Sum(nil))[:20]
	for _, line := range lines {
		if line.Cells[ExternalID] == "" {
			line.Cells[ExternalID] = prefix + sum + "-" + strconv.Itoa(line.Number)
		}
	}
	return lines, err
}

func readCSV(in *bufio.Reader) ([]Line, error) {
	head, err := in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !utf8.Valid(head) {
		return nil, errors.New("the file " + notUTF8)
	}
	table := csv.NewReader(io.MultiReader(bytes.NewReader(head), in))
	table.Comma, table.FieldsPerRecord = delimiter(head), -1
	header, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("read the names of the columns: %w", err)
	}
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(Columns(), header[i]) {
			return nil, fmt.Errorf("there is no column %q: the columns are %s", name, strings.Join(Columns(), ", "))
		}
		if slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("the column %s is there twice", header[i])
		}
	}
	if !slices.Contains(header, Amount) {
		return nil, fmt.Errorf("there is no column %s: the first line names the columns, of %s", Amount, strings.Join(Columns(), ", "))
	}
	var lines []Line
	for len(lines) <= maxLines {
		row, err := table.Read()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err // where quotes do not match, no later line can be trusted
		}
		number, _ := table.FieldPos(0)
		line := Line{Number: number, Cells: map[string]string{}}
		for i, cell := range row {
			if cell = strings.TrimSpace(spreadsheet.Unescape(cell)); cell == "" {
				continue
			}
			if i >= len(header) {
				line.Fault = "has more cells than there are columns"
				break
			}
			if !utf8.ValidString(cell) || strings.Contains(cell, "\x00") {
				line.Fault = notUTF8
			}
			line.Cells[header[i]] = cell
		}
		if len(line.Cells) > 0 || line.Fault != "" {
			lines = append(lines, line)
		}
	}
	return nil, tooMany()
}

// delimiter returns what separates the columns: a comma, a semicolon or a tab, the one that the header has most of.
func delimiter(head []byte) rune {
	return slices.MaxFunc([]rune{',', ';', '\t'}, func(a, b rune) int {
		return bytes.Count(head, []byte(string(a))) - bytes.Count(head, []byte(string(b)))
	})
}

func readNDJSON(in *bufio.Reader) ([]Line, error) {
	var lines []Line
	for number := 1; len(lines) <= maxLines; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if text := bytes.TrimSpace(text); len(text) > 0 {
			lines = append(lines, parse(number, text))
		}
		if err != nil {
			return lines, nil
		}
	}
	return nil, tooMany()
}

func tooMany() error { return fmt.Errorf("the file has more than %d payouts: divide it", maxLines) }

// parse reads a JSON object. A number keeps its digits.
func parse(number int, text []byte) Line {
	line := Line{Number: number, Cells: map[string]string{}}
	if !utf8.Valid(text) {
		line.Fault = notUTF8
		return line
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(text, &members) != nil {
		line.Fault = "is not a JSON object, or names a member twice"
		return line
	}
	for name, value := range members {
		if !slices.Contains(Columns(), name) {
			line.Fault = fmt.Sprintf("has an unknown member %q: the members are %s", name, strings.Join(Columns(), ", "))
			return line
		}
		switch value.Kind() {
		case '"':
			unquoted, _ := jsontext.AppendUnquote(nil, value)
			line.Cells[name] = strings.TrimSpace(string(unquoted))
		case '0':
			line.Cells[name] = string(value)
		case 'n':
		default:
			line.Fault = name + " must be a text or a number"
			return line
		}
		if line.Cells[name] == "" {
			delete(line.Cells, name)
		}
	}
	return line
}
