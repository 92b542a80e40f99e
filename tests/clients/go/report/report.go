// Package report records what a client can do: one line of JSON for each operation (tests/clients/results.mjs).
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
)

// Suite is one client in one mode.
type Suite struct {
	Client, Version, API, Mode string
}

// Test is the check of one operation. Its methods end the check if something is wrong.
type Test struct{}

type result struct {
	Client    string `json:"client"`
	Language  string `json:"language"`
	Version   string `json:"version"`
	API       string `json:"api"`
	Mode      string `json:"mode"`
	Area      string `json:"area"`
	Operation string `json:"operation"`
	Result    string `json:"result"`
	Note      string `json:"note,omitempty"`
}

type failure struct{ text string }

var failures int

// Works records an operation that does what the documentation of the client promises, which check has compared.
func (s Suite) Works(area, operation string, check func(t Test)) {
	s.record(area, operation, "works", "", check)
}

// Differs records an operation that does something else than with Azure or CouchDB; check notices when that ends.
func (s Suite) Differs(area, operation, note string, check func(t Test)) {
	s.record(area, operation, "differs", note, check)
}

// NotOffered records an operation that fails; check compares how.
func (s Suite) NotOffered(area, operation, note string, check func(t Test)) {
	s.record(area, operation, "not_offered", note, check)
}

func (s Suite) record(area, operation, verdict, note string, check func(t Test)) {
	if text := run(check); text != "" {
		failures++
		fmt.Printf("FAILED: %s %s, %s: %s: %s\n", s.Client, s.Mode, area, operation, text)
		return
	}
	line, err := json.Marshal(result{s.Client, "Go", s.Version, s.API, s.Mode, area, operation, verdict, note})
	if err != nil {
		panic(err)
	}
	file, err := os.OpenFile(os.Getenv("OCTAVO_RESULTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

// run returns what is wrong, or "".
func run(check func(t Test)) (text string) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			text = problem.text
		default:
			text = fmt.Sprintf("%v\n%s", problem, debug.Stack())
		}
	}()
	check(Test{})
	return ""
}

// End ends the program: with 1 if a check has failed.
func End() {
	if failures > 0 {
		os.Exit(1)
	}
}

// Fail ends the check.
func (t Test) Fail(format string, values ...any) { panic(failure{fmt.Sprintf(format, values...)}) }

// OK ends the check if there is an error.
func (t Test) OK(err error) {
	if err != nil {
		t.Fail("%v", err)
	}
}

// True ends the check unless the condition holds.
func (t Test) True(condition bool, format string, values ...any) {
	if !condition {
		t.Fail(format, values...)
	}
}

// Equal ends the check unless both values print alike, or are deeply equal.
func (t Test) Equal(got, want any) {
	if !reflect.DeepEqual(got, want) && fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fail("got %v, want %v", got, want)
	}
}

// Contains ends the check unless the text contains the part.
func (t Test) Contains(text, part string) {
	if !strings.Contains(text, part) {
		t.Fail("%q is missing in %q", part, text)
	}
}
