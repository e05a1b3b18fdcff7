// Package expect has the checks that most tests make.
package expect

import (
	"reflect"
	"strings"
	"testing"
)

// Must ends the test if err is an error. Not for goroutines that the test starts.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// OK fails the test if err is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Error fails the test unless err is an error whose text has all parts.
func Error(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %v\nlacks %q", err, p)
		}
	}
}

// Equal fails the test unless got is want, as reflect.DeepEqual has it; what says of what they are values.
func Equal[T any](t testing.TB, what any, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v, want %+v", what, got, want)
	}
}
