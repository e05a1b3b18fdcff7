// Package expect has common checks for tests.
package expect

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Must ends the test if err is an error. what names the action, as by fmt.Sprintf. Not for
// goroutines that the test starts.
func Must(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Fatalf("%s%v", said(what), err)
	}
}

// OK fails the test if err is an error. what names the action, as by fmt.Sprintf.
func OK(t testing.TB, err error, what ...any) {
	if err != nil {
		t.Helper()
		t.Errorf("%s%v", said(what), err)
	}
}

func said(what []any) string {
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf(what[0].(string), what[1:]...) + ": "
}

// All reports whether tests take all of their samples, as with EVBENCH_ALL=1, which CI sets once a week: else they take some, of each kind. With
// -short, as where they meet the race detector, they never do.
func All() bool { return os.Getenv("EVBENCH_ALL") != "" && !testing.Short() }

// Samples is how many of all samples a test takes.
func Samples(all, some int) int {
	if All() {
		return all
	}
	return some
}

// Value returns the value of a call that must not fail, as in x := expect.Value(f())(t): an error
// ends the test. Not for goroutines that the test starts.
func Value[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return v
	}
}

// Err is the error of a call whose value is irrelevant.
func Err[T any](_ T, err error) error { return err }

// Err2 is Err for a call with two further values.
func Err2[T, U any](_ T, _ U, err error) error { return err }

// Is fails the test unless err is target according to errors.Is.
func Is(t testing.TB, err, target error) {
	if !errors.Is(err, target) {
		t.Helper()
		t.Errorf("error %v, want %v", err, target)
	}
}

// Error fails the test unless err is an error whose text contains all parts.
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

// ErrorIf fails the test unless err is nil if want is empty, or else an error whose text contains
// want.
func ErrorIf(t testing.TB, err error, want string) {
	t.Helper()
	if want != "" {
		Error(t, err, want)
	} else if err != nil {
		t.Errorf("error %v, want none", err)
	}
}

// Equal fails the test unless got equals want according to reflect.DeepEqual. what names it as by
// fmt.Sprintf.
func Equal[T any](t testing.TB, got, want T, what string, args ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", fmt.Sprintf(what, args...), got, want)
	}
}

// True fails the test unless ok, with a message as by fmt.Sprintf.
func True(t testing.TB, ok bool, wrong string, args ...any) {
	if !ok {
		t.Helper()
		t.Errorf(wrong, args...)
	}
}

// MustTrue ends the test unless ok, with a message as by fmt.Sprintf. Not for goroutines that the
// test starts.
func MustTrue(t testing.TB, ok bool, wrong string, args ...any) {
	if !ok {
		t.Helper()
		t.Fatalf(wrong, args...)
	}
}

// False fails the test if is holds, with a message as by fmt.Sprintf.
func False(t testing.TB, is bool, wrong string, args ...any) {
	if is {
		t.Helper()
		t.Errorf(wrong, args...)
	}
}

// MustFalse ends the test if is holds, with a message as by fmt.Sprintf. Not for goroutines that
// the test starts.
func MustFalse(t testing.TB, is bool, wrong string, args ...any) {
	if is {
		t.Helper()
		t.Fatalf(wrong, args...)
	}
}

// Contains fails the test unless text contains all parts.
func Contains(t testing.TB, text string, parts ...string) {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Helper()
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}
