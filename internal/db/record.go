package db

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// recordField is a field of a struct with a tag db:"column".
type recordField struct {
	index    int
	column   string
	computed bool // db:"name,computed": an expression that is read and never stored
	null     bool // db:"column,null": the zero value is stored as NULL
}

// recordFields returns the fields of a struct that have a tag. They are exported, and texts, int64, *int64, bool or []byte.
func recordFields[T any]() (list []recordField) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		f := t.Field(i)
		column, option, _ := strings.Cut(f.Tag.Get("db"), ",")
		if column == "" {
			continue
		}
		switch reflect.Zero(f.Type).Interface().(type) {
		case int64, *int64, bool, []byte:
		default:
			if f.Type.Kind() != reflect.String {
				panic(fmt.Sprintf("%s.%s: a %s is no column", t, f.Name, f.Type)) // the same at each start
			}
		}
		list = append(list, recordField{i, column, option == "computed", option == "null"})
	}
	return list
}

// Selection is a list of columns that are read into a T.
type Selection[T any] struct {
	Columns string // as in SELECT and RETURNING
	Count   int
	fields  []int
}

// Select returns the selection of the tagged fields of T, or only of the named columns. table is the table or its alias; computed has the
// expressions of computed columns.
func Select[T any](table string, computed map[string]string, only ...string) Selection[T] {
	var s Selection[T]
	wanted := map[string]bool{}
	for _, name := range only {
		wanted[name] = true
	}
	var columns []string
	for _, f := range recordFields[T]() {
		if len(only) > 0 && !wanted[f.column] {
			continue
		}
		delete(wanted, f.column)
		text := table + "." + f.column
		if f.computed {
			if text = computed[f.column]; text == "" {
				panic("no expression for the computed column " + f.column) // the same at each start
			}
		}
		columns, s.fields = append(columns, text), append(s.fields, f.index)
	}
	if len(wanted) > 0 {
		panic(fmt.Sprint("no fields for the columns ", wanted)) // the same at each start
	}
	s.Columns, s.Count = strings.Join(columns, ", "), len(columns)
	return s
}

// Read returns a row that begins with the columns of the selection.
func (s Selection[T]) Read(r Rows) T { return s.ReadAt(r, 0) }

// ReadAt returns a row in which the columns of the selection begin at a position.
func (s Selection[T]) ReadAt(r Rows, at int) (record T) {
	v := reflect.ValueOf(&record).Elem()
	for i, field := range s.fields {
		switch to := v.Field(field).Addr().Interface().(type) {
		case *string:
			*to = r.Text(at + i)
		case *int64:
			*to = r.Int(at + i)
		case **int64:
			if !r.Null(at + i) {
				*to = new(r.Int(at + i))
			}
		case *bool:
			*to = r.Bool(at + i)
		case *[]byte:
			*to = bytes.Clone(r.Raw(at + i))
		default:
			v.Field(field).SetString(r.Text(at + i))
		}
	}
	return record
}

// Derived is a column whose value follows from the other fields.
type Derived[T any] struct {
	Column string
	Of     func(*T) any
}

// values are the stored columns of a record.
type values[T any] struct {
	fields  []recordField
	derived []Derived[T]
	columns []string
}

func valuesOf[T any](derived []Derived[T], wanted func(column string) bool) values[T] {
	v := values[T]{derived: derived}
	for _, f := range recordFields[T]() {
		if !f.computed && wanted(f.column) {
			v.fields, v.columns = append(v.fields, f), append(v.columns, f.column)
		}
	}
	for _, d := range derived {
		v.columns = append(v.columns, d.Column)
	}
	return v
}

func (v values[T]) appendTo(args []any, record *T) []any {
	fields := reflect.ValueOf(record).Elem()
	for _, f := range v.fields {
		value := fields.Field(f.index)
		switch from := value.Addr().Interface().(type) {
		case **int64:
			if *from == nil {
				args = append(args, nil)
			} else {
				args = append(args, **from)
			}
		case *int64:
			args = append(args, *from)
		case *bool:
			args = append(args, *from)
		case *[]byte:
			args = append(args, *from)
		case *string:
			args = append(args, *from)
		default:
			args = append(args, value.String())
		}
		if f.null && value.IsZero() {
			args[len(args)-1] = nil
		}
	}
	for _, d := range v.derived {
		args = append(args, d.Of(record))
	}
	return args
}

// Insertion stores new records.
type Insertion[T any] struct {
	into, row, after string
	values           values[T]
}

// OrIgnore returns the insertion that leaves rows as they are that have the same value in a unique column.
func (in Insertion[T]) OrIgnore(column string) Insertion[T] {
	in.after = " ON CONFLICT (" + column + ") DO NOTHING"
	return in
}

// InsertInto returns the insertion of the tagged fields of T, except computed ones, and of derived columns.
func InsertInto[T any](table string, derived ...Derived[T]) Insertion[T] {
	in := Insertion[T]{values: valuesOf(derived, func(string) bool { return true })}
	places := make([]string, len(in.values.columns))
	for i := range places {
		places[i] = "$" + strconv.Itoa(i+1)
	}
	in.into = "INSERT INTO " + table + " (" + strings.Join(in.values.columns, ", ") + ") VALUES "
	in.row = "(" + strings.Join(places, ", ") + ")"
	return in
}

// Insert stores records, many by one statement.
func (in Insertion[T]) Insert(tx *Tx, records ...*T) error {
	rows := make([][]any, len(records))
	for i, record := range records {
		rows[i] = in.values.appendTo(make([]any, 0, len(in.values.columns)), record)
	}
	return tx.insertRows(in.into, in.row, in.after, rows)
}

// InsertNew stores a record, unless it conflicts with another one by the columns of an index. It reports whether it is stored.
func (in Insertion[T]) InsertNew(tx *Tx, conflict string, record *T) (stored bool, err error) {
	var one int64
	return tx.Row(in.into+in.row+" ON CONFLICT "+conflict+" DO NOTHING RETURNING 1", in.values.appendTo(nil, record)...).Scan(&one)
}

// Update changes columns of a stored record.
type Update[T any] struct {
	sql    string
	values values[T]
}

// UpdateOf returns the update of all stored columns but the id and the given ones, which never change or are changed elsewhere.
func UpdateOf[T any](table string, derived []Derived[T], but ...string) Update[T] {
	return update(table, derived, func(column string) bool { return column != "id" && !slices.Contains(but, column) })
}

// UpdateOnly returns the update of some columns.
func UpdateOnly[T any](table string, columns ...string) Update[T] {
	u := update[T](table, nil, func(column string) bool { return slices.Contains(columns, column) })
	if len(u.values.columns) != len(columns) {
		panic(fmt.Sprint("no fields for some of the columns ", columns)) // the same at each start
	}
	return u
}

func update[T any](table string, derived []Derived[T], wanted func(column string) bool) Update[T] {
	u := Update[T]{values: valuesOf(derived, wanted)}
	set := make([]string, len(u.values.columns))
	for i, column := range u.values.columns {
		set[i] = column + " = $" + strconv.Itoa(i+2)
	}
	u.sql = "UPDATE " + table + " SET " + strings.Join(set, ", ") + " WHERE id = $1"
	return u
}

// If returns the update for a record that has a value in a column, which Update gets last.
func (u Update[T]) If(column string) Update[T] {
	u.sql += " AND " + column + " = $" + strconv.Itoa(len(u.values.columns)+2)
	return u
}

// Update stores a record by its id.
func (u Update[T]) Update(tx *Tx, id string, record *T, has ...any) error {
	return tx.Exec(u.sql, append(u.values.appendTo(append(make([]any, 0, len(u.values.columns)+2), id), record), has...)...)
}
