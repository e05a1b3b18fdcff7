package ibtest

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"evbench/internal/expect"
)

// routes has TestKilled do nothing but route.
const routes = "EVBENCH_TEST_ROUTES"

// An OpenSM that routes once ends when the program that asked for it is killed.
func TestKilled(t *testing.T) {
	Need(t)
	if os.Getenv(routes) != "" {
		n, roots := tree(t, 0)
		_, err := Route(t.Context(), n, "minhop", roots)
		t.Fatal(err)
	}
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	// It has the pipe open for as long as it runs.
	endless := "#!/bin/sh\nexec >" + pipe + "\necho up\nexec sleep 1000\n"
	expect.Must(t, errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(filepath.Join(dir, "opensm"), []byte(endless), 0o700)))
	up, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0) // does not wait for a writer
	expect.Must(t, err)
	end, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	expect.Must(t, err)
	defer end.Close()
	self := exec.Command("/proc/self/exe", "-test.run=^TestKilled$")
	self.Env = append(os.Environ(), routes+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir)
	expect.Must(t, self.Start())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = self.Wait()
		_ = up.SetReadDeadline(time.Unix(1, 0))
	}()
	_, err = bufio.NewReader(up).ReadString('\n')
	_ = self.Process.Kill()
	<-gone
	expect.Must(t, errors.Join(err, up.Close()))
	if rest, err := io.ReadAll(end); err != nil || len(rest) > 0 { // until nobody has it
		t.Errorf("%q, %v", rest, err)
	}
}
