package jobs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evbench/internal/proc"
	"evbench/site/network"
	"evbench/study/jobs"
	"evbench/testing/expect"
)

// options are those for two jobs across the leaves of a small tree.
func options(t *testing.T) (o jobs.Options, file func(name, text string) string) {
	t.Helper()
	dir := t.TempDir()
	file = func(name, text string) string {
		name = filepath.Join(dir, name)
		expect.Must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	n := expect.Value(network.Parse("FT(2;2,2)", 0))(t)
	return jobs.Options{Source: "FT(2;2,2)", Net: n, List: file("jobs", "a: h0,h2\nb: h1,h3\n"), Wait: time.Minute}, file
}

// Tables are written once for equal jobs, and the list of the last time says what has changed.
func TestOnce(t *testing.T) {
	o, file := options(t)
	o.Out = file("lft", "")
	last := filepath.Join(filepath.Dir(o.Out), "last")
	for i, want := range []struct {
		list    string
		written bool
		change  jobs.Change
	}{
		{"a: h0,h2\nb: h1,h3\n", true, jobs.Change{Started: []string{"a", "b"}}},
		{"a: h0,h2\nb: h1,h3\n", false, jobs.Change{}},
		{"a: h0,h3\n", true, jobs.Change{Ended: []string{"b"}, Moved: []string{"a"}}},
	} {
		file("jobs", want.list)
		f := expect.Value(jobs.NewFollowing(o))(t)
		r := expect.Value(jobs.Once(t.Context(), f, last))(t)
		c := r.Change
		if r.Written != want.written || len(c.Started) != len(want.change.Started) || len(c.Ended) != len(want.change.Ended) || len(c.Moved) != len(want.change.Moved) {
			t.Errorf("look %d: written %v, change %+v", i, r.Written, *c)
		}
	}
}

// What is wrong with the input is said before anything is written.
func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *jobs.Options, file func(name, text string) string)
		want   string
	}{
		{"no list", func(o *jobs.Options, _ func(string, string) string) { o.List += "x" }, "jobsx: no such file"},
		{"a line that is none", func(_ *jobs.Options, file func(string, string) string) { file("jobs", "a b c\n") }, "jobs: line 1"},
		{"no classes", func(o *jobs.Options, _ func(string, string) string) { o.Classes = "/missing" }, "/missing: no such file"},
		{"no command", func(o *jobs.Options, _ func(string, string) string) { o.Queue = " " }, "--queue: names no command"},
		{"a command that is not there", func(o *jobs.Options, _ func(string, string) string) { o.Net, o.Discover = nil, "/missing" }, "--discover: "},
		{"no time", func(o *jobs.Options, _ func(string, string) string) { o.Queue, o.Wait = "true", 0 }, "--wait 0s: must be more than 0"},
	} {
		o, file := options(t)
		o.Out = filepath.Join(filepath.Dir(o.List), "lft")
		tt.change(&o, file)
		f, err := jobs.NewFollowing(o)
		if err == nil {
			_, err = jobs.Once(t.Context(), f, "")
		}
		if _, input := errors.AsType[*proc.UsageError](err); !input || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		expect.True(t, expect.Err(os.Stat(o.Out)) != nil, "%s: tables are written", tt.name)
	}
}
