package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
)

// TestSilentHost: a host that takes the connection and never answers is given up at the limit, with all that
// ssh has started.
func TestSilentHost(t *testing.T) {
	dir := t.TempDir()
	expect.Must(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\nsleep 1000 & echo $! >> "+dir+"/started\nwait\n"), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := expect.Value(NewSSH(nil, "x"))(t)
	s.answer = time.Second
	failed := make(chan struct{}, 1)
	_, err := s.Start(t.Context(), Start{
		Workers: []Worker{{Host: "n1", Name: "server0"}}, Abort: t.Context(), Failed: func() { failed <- struct{}{} },
	})
	expect.Error(t, err, "n1: no answer in time")
	<-failed
	for _, pid := range strings.Fields(string(expect.Value(os.ReadFile(filepath.Join(dir, "started")))(t))) {
		for { // it is killed, and perhaps not yet gone
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(state), ") Z ") {
				break
			}
		}
	}
}
