package need

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// tester keeps how the test ended that it stands in for.
type tester struct {
	testing.TB
	said string
}

func (r *tester) Helper()                  {}
func (r *tester) Skip(a ...any)            { r.end("skipped: " + fmt.Sprint(a...)) }
func (r *tester) Skipf(f string, a ...any) { r.end("skipped: " + fmt.Sprintf(f, a...)) }
func (r *tester) Fatal(a ...any)           { r.end("failed: " + fmt.Sprint(a...)) }
func (r *tester) end(said string)          { r.said = said; runtime.Goexit() }

// end returns how a test ends that needs something.
func end(needs func(t testing.TB)) string {
	r, ended := &tester{}, make(chan struct{})
	go func() {
		defer close(ended)
		needs(r)
	}()
	<-ended
	return r.said
}

func TestNeed(t *testing.T) {
	t.Setenv("EVBENCH_ALL", "")
	named := flag.Lookup("test.run").Value
	was := named.String()
	t.Cleanup(func() { expect.Must(t, named.Set(was)) })
	expect.Must(t, named.Set("")) // go test -run may have named this test
	dir := t.TempDir()
	expect.Must(t, os.WriteFile(filepath.Join(dir, "there"), []byte("#!/bin/sh\n"), 0o700))
	t.Setenv("PATH", dir)
	program := func(names ...string) func(testing.TB) {
		return func(t testing.TB) { Programs(t, "mpi", names...) }
	}
	for _, c := range []struct {
		name, without, required string
		needs                   func(testing.TB)
		want                    string
	}{
		{"there", "", "1", program("there"), ""},
		{"gone", "", "", program("there", "gone", "lost"), "skipped: need: mpi is missing: gone, lost ("},
		{"gone, required", "", "1", program("gone"), "failed: need: mpi is missing: gone ("},
		{"another left out", "opensm,mpich", "1", program("gone"), "failed: need: mpi is missing: gone ("},
		{"left out", "opensm, mpi", "1", program("gone"), "skipped: need: EVBENCH_WITHOUT names mpi"},
		{"there, left out", "mpi", "", program("there"), "skipped: need: EVBENCH_WITHOUT names mpi"},
		{"heavy", "", "", Heavy, "skipped: need: heavy: the gate runs it"},
		{"heavy, required", "", "1", Heavy, ""},
		{"no cases", "", "1", func(t testing.TB) { Cases(t, dir, "any") }, "skipped: need: optional, and not here: ../shared/cases/any"},
	} {
		t.Setenv(without, c.without)
		t.Setenv(required, c.required)
		said := end(c.needs)
		expect.True(t, strings.HasPrefix(said, c.want) && (said == "") == (c.want == ""), "%s: %q, want %q", c.name, said, c.want)
	}
	t.Setenv(required, "")
	expect.Must(t, named.Set("TestNeed"))
	expect.Equal(t, end(Heavy), "", "a heavy test that -run names")
	expect.Equal(t, Main(os.ErrPermission), 0, "exit code of a package without its lab")
	t.Setenv(required, "1")
	expect.Equal(t, Main(os.ErrPermission), 1, "exit code where it is required")
}
