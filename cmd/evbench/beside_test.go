package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		pids = append(pids, cmd.Process.Pid)
	}
	has := func(self, pid int, alike bool) bool { return slices.Contains(measuring(self, alike), pid) }
	expect.True(t, has(pids[0], pids[1], false) && !has(pids[0], pids[1], true), "a process beside it")
	expect.True(t, !has(pids[0], pids[0], false) && !has(os.Getpid(), pids[0], false), "itself, and its child")

	for verdict, want := range map[answer.Verdict]int{answer.Unknown: 1, answer.Good: 0, answer.Bad: 0} {
		b, m := &beside{found: []int{7}}, results.Manifest{}
		b.update(bench.Ended{Summary: results.Summary{Answer: &results.Answer{Answer: answer.Answer{Verdict: verdict}}}}, &m)
		expect.Equal(t, len(m.Warnings), want, "warnings with %s", verdict)
	}
}
