package opensm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/internal/trust"
	"evbench/testing/expect"
)

func start(t *testing.T, stdout *os.File, name string, args ...string) *trust.Process {
	t.Helper()
	cmd := exec.Command(name, args...)
	if stdout != nil {
		cmd.Stdout = stdout
	}
	in := expect.Value(cmd.StdinPipe())(t)
	expect.Must(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() // it may have been signalled
	})
	expect.Begun(t, cmd.Process.Pid)
	p := expect.Value(trust.Find(cmd.Process.Pid))(t)
	return p
}

// TestLogsTo tells the log of a process from that of another one.
func TestLogsTo(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "sm.log")
	expect.Must(t, os.WriteFile(log, nil, 0o600))
	open := func(name string) *os.File {
		f := expect.Value(os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(t)
		t.Cleanup(func() { f.Close() })
		return f
	}
	r, pipe, err := os.Pipe()
	expect.Must(t, err)
	defer pipe.Close()
	defer r.Close()
	for _, tt := range []struct {
		name, want string
		stdout     *os.File
	}{
		{"the log", "", open(log)},
		{"rotated", "", open(log + ".1")},
		{"a pipe, perhaps to the log", "", pipe},
		{"another log", "logs to " + filepath.Join(dir, "other.log") + ", not to " + log, open(filepath.Join(dir, "other.log"))},
		{"no log", "does not have the log", open(os.DevNull)},
	} {
		_, err := logsTo(start(t, tt.stdout, "cat"), log)
		expect.False(t, tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)), "%s: %v, want %q", tt.name, err, tt.want)
	}
}

// TestRunning refuses what is not OpenSM, by the file that it runs.
func TestRunning(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "opensm")
	expect.Must(t, os.WriteFile(script, []byte("#!/bin/sh\nread x\n"), 0o700))
	for want, p := range map[string]*trust.Process{
		"is cat, not OpenSM":        start(t, nil, "cat"),
		", a wrapper named opensm:": start(t, nil, script),
	} {
		expect.Error(t, expect.Err(Running(p.ID.PID)), want)
	}
	expect.Is(t, expect.Err(Running(1<<30-1)), os.ErrProcessDone)
}

// TestOnly chooses, of several OpenSM, the one that reads a directory.
func TestOnly(t *testing.T) {
	dir := t.TempDir()
	p := start(t, nil, "cat")
	sm := func(engine, lfts string, guid ...uint64) *Process {
		again := expect.Value(trust.Find(p.ID.PID))(t)
		return &Process{p: again, set: settings{known: true, engine: engine, lfts: lfts, guid: append(guid, 0)[0]}}
	}
	mine := filepath.Join(dir, LFTsFile)
	for _, c := range []struct {
		found []*Process
		want  int    // of found
		err   string // in place of it
	}{
		{nil, 0, "this user sees no OpenSM"},
		{[]*Process{sm("minhop", "")}, 0, ""}, // and what it reads is said later
		{[]*Process{sm("file", "/other/"+LFTsFile), sm("file,no_fallback", mine)}, 1, ""},
		{[]*Process{sm("file", mine), sm("file", mine)}, 0, "2 OpenSM run here, processes "},
		{[]*Process{sm("file", mine, 8), sm("file", mine, 9), sm("file", "/other", 9)}, 1, ""},
		{[]*Process{sm("file", mine, 8), sm("file", mine, 7)}, 0, "2 OpenSM run here, processes "},
		{[]*Process{sm("file", mine, 8), sm("minhop", "", 9)}, 0, ""}, // and that it is not master is said later
		{[]*Process{sm("ftree", mine), sm("minhop", "")}, 0, "not exactly one of them reads " + mine},
	} {
		got, err := only(c.found, dir, 9)
		if c.err != "" {
			expect.Error(t, err, c.err)
		} else if err != nil || got != c.found[c.want] {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for want, p := range map[string]*Process{
		"routes by minhop and reads no tables": sm("", mine),
		"reads its tables from no file":        sm("file", ""),
		"reads its tables from /no/such":       sm("file", "/no/such"),
	} {
		expect.Error(t, p.reads(dir), want, "lfts_file "+mine)
	}
}
