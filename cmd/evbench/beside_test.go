package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/results"
	"evbench/testing/expect"
)

// TestBeside: another measurement is named where the answer is not known, and a process that the run
// belongs to, or has started, is none.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	expect.Must(t, os.WriteFile(filepath.Join(dir, "run"), []byte("read end\n"), 0o600))
	var pids []int
	for range 2 {
		cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"evbench", "run"}, Dir: dir}
		expect.Value(cmd.StdinPipe())(t)
		expect.Must(t, cmd.Start())
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		expect.Begun(t, cmd.Process.Pid)
		pids = append(pids, cmd.Process.Pid)
	}
	has := func(self, pid int, alike bool) bool { return slices.Contains(measuring(self, alike), pid) }
	expect.True(t, has(pids[0], pids[1], false) && !has(pids[0], pids[1], true), "a process beside it")
	expect.True(t, !has(pids[0], pids[0], false) && !has(os.Getpid(), pids[0], false), "itself, and its child")

	for verdict, want := range map[answer.Verdict]int{answer.Unknown: 1, answer.Good: 0, answer.Bad: 0} {
		b, m := &beside{found: []int{7}, full: func() uint32 { return 0 }}, results.Manifest{}
		b.update(bench.Ended{Summary: results.Summary{Answer: &results.Answer{Answer: answer.Answer{Verdict: verdict}}}}, &m)
		expect.Equal(t, len(m.Warnings), want, "warnings with %s", verdict)
	}
}

// TestBesideQueue: packets that the kernel dropped are named where links lost packets.
func TestBesideQueue(t *testing.T) {
	for _, tt := range []struct {
		full  []uint32 // at the beginning, at the end
		drops uint64
		want  int
	}{{[]uint32{7, 7}, 4, 0}, {[]uint32{7, 9}, 0, 0}, {[]uint32{7, 9}, 4, 1}, {[]uint32{1<<32 - 1, 1}, 4, 1}} {
		n := 0
		b, m := &beside{full: func() uint32 { n++; return tt.full[n-1] }}, results.Manifest{}
		b.update(bench.Begun{}, &m)
		b.update(bench.Ended{Summary: results.Summary{Cases: []results.Case{{Counts: results.Counts{Drops: tt.drops}}}}}, &m)
		expect.True(t, len(m.Warnings) == tt.want && (tt.want == 0 || strings.Contains(m.Warnings[0], "full for 2 packets")), "%+v: %q", tt, m.Warnings)
	}
}
