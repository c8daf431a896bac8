package payfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bursar/api"
	"bursar/internal/payout/payfile"
)

func TestReadsWhatPeopleSave(t *testing.T) {
	ada := payfile.Line{Number: 2, Cells: map[string]string{"amount": "1,500.00", "to": "Ada"}}
	for name, one := range map[string]struct {
		file string
		want []payfile.Line
	}{
		"commas":         {"amount,to\n\"1,500.00\",Ada\n", []payfile.Line{ada}},
		"semicolons":     {"Amount;To\r\n1,500.00;Ada\r\n", []payfile.Line{ada}},
		"tabs, a mark":   {"\ufeffto\tamount\nAda\t1,500.00", []payfile.Line{ada}},
		"empty lines":    {"to,amount,rail\nAda,\"1,500.00\",\n,,\n", []payfile.Line{ada}},
		"an escape":      {"to,amount\nAda,'+1\n", []payfile.Line{{Number: 2, Cells: map[string]string{"to": "Ada", "amount": "+1"}}}},
		"too many cells": {"to,amount\nAda,1,2\n", []payfile.Line{{Number: 2, Cells: map[string]string{"to": "Ada", "amount": "1"}, Fault: "has more cells than there are columns"}}},
		"a long cell":    {"to,amount\n\"A\nda\",1\nBob,2\n", []payfile.Line{{Number: 2, Cells: map[string]string{"to": "A\nda", "amount": "1"}}, {Number: 4, Cells: map[string]string{"to": "Bob", "amount": "2"}}}},
		"Latin-1":        {"to,amount\nPe\xf1a,1\n", []payfile.Line{{Number: 2, Cells: map[string]string{"to": "Pe\xf1a", "amount": "1"}, Fault: "is not UTF-8: save the file as CSV in UTF-8"}}},
		"Latin-1 json":   {"{\"to\":\"Pe\xf1a\"}\n", []payfile.Line{{Number: 1, Cells: map[string]string{}, Fault: "is not UTF-8: save the file as CSV in UTF-8"}}},
		"json": {`{"amount":1500.50,"to":"Ada","rail":null}` + "\n\n" + `{"amount":true}` + "\n[1]\n" + `{"cents":1}` + "\n" + `{"amount":1,"amount":100}` + "\n", []payfile.Line{
			{Number: 1, Cells: map[string]string{"amount": "1500.50", "to": "Ada"}},
			{Number: 3, Cells: map[string]string{}, Fault: "amount must be a text or a number"},
			{Number: 4, Cells: map[string]string{}, Fault: "is not a JSON object, or names a member twice"},
			{Number: 5, Cells: map[string]string{}, Fault: `has an unknown member "cents": the members are ` + strings.Join(payfile.Columns(), ", ")},
			{Number: 6, Cells: map[string]string{}, Fault: "is not a JSON object, or names a member twice"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := payfile.Read(strings.NewReader(one.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(one.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefusesWhatItCannotTrust(t *testing.T) {
	for file, want := range map[string]string{
		"":                         "the file is empty",
		"amount,to\n":              "the file has no payout",
		"to,rail\nAda,instapay\n":  "there is no column amount",
		"amount,who\n1,Ada\n":      `there is no column "who"`,
		"\xff\xfea\x00,\x00":       "the file is not UTF-8",
		"amount,amount\n1,2\n":     "the column amount is there twice",
		"amount,to\n1,\"Ada\nBob,": "extraneous or missing",
	} {
		if _, err := payfile.Read(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}

func TestTheSameFileNamesItsLinesTheSame(t *testing.T) {
	names := func(file, mode string) (list []string) {
		lines, err := payfile.ReadNamed(strings.NewReader(file), mode)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			list = append(list, line.Cells[payfile.ExternalID])
		}
		return list
	}
	const file = "amount,to,external_id\n1,Ada,\n1,Ada,\n2,Bob,mine\n"
	first := names(file, api.ModeLive)
	if first[0] == first[1] || !strings.HasPrefix(first[0], "file-") || first[2] != "mine" {
		t.Errorf("the lines are %v", first)
	}
	if diff := cmp.Diff(first, names(file, api.ModeLive)); diff != "" {
		t.Error(diff)
	}
	if other := names(file+"3,Cy,\n", api.ModeLive); other[0] == first[0] {
		t.Errorf("a line of another file is %s, too", other[0])
	}
	if tried := names(file, api.ModeSandbox); tried[0] == first[0] || tried[2] != "mine" {
		t.Errorf("in the sandbox the lines are %v, as in a live account", tried)
	}
}
