package opensm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTail follows a log over half lines, a cut and a rotation.
func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	put := func(flag int, text string) func() error {
		return func() error {
			f, err := os.OpenFile(name, flag|os.O_WRONLY|os.O_CREATE, 0o644)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(text)
			return err
		}
	}
	more := func(text string) func() error { return put(os.O_APPEND, text) }
	if err := more("old\n")(); err != nil {
		t.Fatal(err)
	}
	log, err := follow(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { log.close() }()
	for i, step := range []struct {
		do   []func() error
		want string
	}{
		{nil, ""},
		{[]func() error{more("one\ntwo\nth")}, "one two"},
		{[]func() error{more("ree\n")}, "three"},
		{[]func() error{put(os.O_TRUNC, "a\n")}, "a"},
		{[]func() error{more("last"), func() error { return os.Rename(name, name+".1") }}, ""},
		{[]func() error{more("first\nhalf")}, "last first"},
		{[]func() error{more("\n")}, "half"},
	} {
		for _, do := range step.do {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := log.lines()
		got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
		if err != nil || strings.Join(got, " ") != step.want {
			t.Errorf("step %d: %q, want %q, %v", i, got, step.want, err)
		}
	}
}

func TestLoading(t *testing.T) {
	for _, c := range []struct {
		log    string
		engine string
		up     bool
	}{
		{"SUBNET UP", "", false},
		{"osm_ucast_mgr_process: file tables configured on all switches", "file", false},
		{"osm_ucast_mgr_process: file tables configured on all switches|SUBNET UP", "file", true},
		{"osm_ucast_mgr_process: file tables configured on all switches|SUBNET UP|osm_ucast_mgr_process: minhop tables configured", "minhop", false},
	} {
		var l loading
		for _, s := range strings.Split(c.log, "|") {
			l.line(s)
		}
		if l.engine != c.engine || l.up != c.up {
			t.Errorf("%s: %+v", c.log, l)
		}
	}
}
