package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestJobsSignal stands in for OpenSM with a process that dies of SIGHUP: it hears
// of new tables, and not of the same ones.
func TestJobsSignal(t *testing.T) {
	dir := t.TempDir()
	list, out := filepath.Join(dir, "jobs"), filepath.Join(dir, "lft.txt")
	if err := os.WriteFile(list, []byte("1 h[0-15]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	call := func(pid int) string {
		var stdout, stderr bytes.Buffer
		args := []string{"evbench", "routes", "jobs", list, "-t", "FT(2;4,8)", "-o", out, "--pid", strconv.Itoa(pid), "--json"}
		if code := run(t.Context(), args, &stdout, &stderr); code != exitDone {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		return stdout.String()
	}
	cat := exec.CommandContext(t.Context(), "cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	if got := call(cat.Process.Pid); !strings.Contains(got, `"written":true,"signalled":true`) {
		t.Error(got)
	}
	_ = cat.Wait()
	if s, ok := cat.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGHUP {
		t.Errorf("the process ended with %v", cat.ProcessState)
	}
	if got := call(os.Getpid()); !strings.Contains(got, `"written":false,"signalled":false`) {
		t.Error(got)
	}
}
