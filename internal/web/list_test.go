package web

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"bursar/internal/fault"
)

// pageOf requests a page.
func pageOf(t *testing.T, limit, cursor string) PageParams {
	t.Helper()
	var p PageParams
	if limit != "" {
		p.Limit = &limit
	}
	if cursor != "" {
		p.Cursor = &cursor
	}
	var v fault.Violations
	p.Validate(&v)
	if err := v.Err(); err != nil {
		t.Fatalf("limit %q: %v", limit, err)
	}
	return p
}

func TestLimitRule(t *testing.T) {
	for limit, good := range map[string]bool{
		"1": true, "25": true, "100": true,
		"0": false, "101": false, "-1": false, "1.5": false, "": false, "+5": false, "007": false, " 5": false, "1e1": false, "0x10": false, "١": false,
	} {
		t.Run(limit, func(t *testing.T) {
			p := PageParams{Limit: &limit}
			var v fault.Violations
			p.Validate(&v)
			if v.Has("limit") == good {
				t.Errorf("refused: %v", v.Has("limit"))
			}
		})
	}
}

// envelope is a page as it is read from the wire.
type envelope struct {
	OK      bool    `json:"ok"`
	Data    []int   `json:"data"`
	Cursor  *string `json:"cursor"`
	HasMore *bool   `json:"has_more"`
}

// answers are the two ways to make a page of numbers from the rows that a store
// found for a window.
var answers = map[string]func(w Window, rows []int) ([]byte, error){
	"rows": func(w Window, rows []int) ([]byte, error) { return appendAnswer(nil, NewPage(w, rows, strconv.Itoa)) },
	"encoded": func(w Window, rows []int) ([]byte, error) {
		page := NewJSONPage[struct{}](w)
		for _, row := range rows {
			page.Row([]byte(strconv.Itoa(row)), func(dst []byte) []byte { return strconv.AppendInt(dst, int64(row), 10) })
		}
		return page.finish(), nil
	},
}

// numbers are the rows behind a position in the list 10, 11, … of a length, as a
// store would find them.
func numbers(w Window, length int) []int {
	from := 10
	if w.After != "" {
		n, _ := strconv.Atoi(w.After)
		from = n + 1
	}
	rows := []int{}
	for n := from; n < 10+length && len(rows) < w.Limit; n++ {
		rows = append(rows, n)
	}
	return rows
}

func TestPagesShowEveryRowOnce(t *testing.T) {
	cursors := NewCursors([]byte("key"))
	for name, answer := range answers {
		for _, length := range []int{0, 1, 2, 3, 4, 5, 24, 25, 26, 51} {
			for _, limit := range []string{"", "1", "2", "5", "100"} {
				t.Run(fmt.Sprintf("%s/%d by %s", name, length, limit), func(t *testing.T) {
					size := defaultLimit
					if limit != "" {
						size, _ = strconv.Atoi(limit)
					}
					seen, cursor := 0, ""
					for {
						w, err := cursors.Paged(pageOf(t, limit, cursor), Ascending, "list")
						if err != nil {
							t.Fatal(err)
						}
						body, err := answer(w, numbers(w, length))
						var page envelope
						if err := json.Unmarshal(body, &page); err != nil {
							t.Fatalf("%s: %v", body, err)
						}
						if err != nil || !page.OK || page.Data == nil || page.HasMore == nil || *page.HasMore != (page.Cursor != nil) {
							t.Fatalf("the page is %s, %v", body, err)
						}
						if want := min(size, length-seen); len(page.Data) != want {
							t.Fatalf("%d rows after %d of %d, want %d", len(page.Data), seen, length, want)
						}
						for i, row := range page.Data {
							if row != 10+seen+i {
								t.Fatalf("row %d is %d", seen+i, row)
							}
						}
						seen += len(page.Data)
						if page.Cursor == nil {
							break
						}
						cursor = *page.Cursor
					}
					if seen != length {
						t.Errorf("saw %d rows of %d", seen, length)
					}
				})
			}
		}
	}
}

func TestWholeListPagesOnlyWhenAsked(t *testing.T) {
	cursors := NewCursors([]byte("key"))
	w, err := cursors.Unpaged(pageOf(t, "", ""), Ascending, "list")
	if err != nil {
		t.Fatal(err)
	}
	body, err := answers["rows"](w, numbers(w, 130))
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if rows, _ := whole["data"].([]any); len(whole) != 2 || len(rows) != 130 {
		t.Errorf("the whole list is %s", body)
	}
	if w, err = cursors.Unpaged(pageOf(t, "3", ""), Ascending, "list"); err != nil || w.Limit != 4 || !w.paged {
		t.Errorf("with a limit of 3 the window is %+v, %v", w, err)
	}
	cursor := cursors.make(scopeText([]string{"list"}), "12")
	if w, err = cursors.Unpaged(pageOf(t, "", cursor), Ascending, "list"); err != nil || w.Limit != defaultLimit+1 || w.After != "12" {
		t.Errorf("with a cursor the window is %+v, %v", w, err)
	}
}

func TestWindowBeginsWhereTheOrderSays(t *testing.T) {
	cursors := NewCursors([]byte("key"))
	for _, order := range []Order{Ascending, Descending} {
		w, err := cursors.Paged(PageParams{}, order, "list")
		if err != nil || w.After != string(order) || w.Limit != defaultLimit+1 {
			t.Errorf("the window is %+v, %v", w, err)
		}
	}
	if first := "entry_zzzzzzzzzzzzzzzzzzzzzzzzzz"; string(Descending) <= first || string(Ascending) >= first[:1] {
		t.Error("an id lies outside the list")
	}
	wrong := cursors.make(scopeText([]string{"other"}), "x")
	if _, err := cursors.Paged(PageParams{Cursor: &wrong}, Ascending, "list"); wrongFields(t, err)["cursor"] == "" {
		t.Errorf("a cursor of another list: %v", err)
	}
}
