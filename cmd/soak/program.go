package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

func (g *stage) path(name string) string { return filepath.Join(g.dir, name) }

func (g *stage) write(name, text string) error {
	return os.WriteFile(g.path(name), []byte(text), 0o600)
}

// sweep kills what is left of a round, which is only processes with its mark, and returns
// how many there were.
func (g *stage) sweep() int {
	left := marked(g.mark)
	for _, p := range left {
		syscall.Kill(p.pid, syscall.SIGKILL) // an error says that it has ended
	}
	return len(left)
}

type program struct {
	cmd   *exec.Cmd
	heard watch
	done  chan struct{} // closed when it has ended
}

// start starts a proc.Command, whose end the caller waits for.
func (g *stage) start(cmd *exec.Cmd) (*program, error) {
	p := &program{cmd: cmd, done: make(chan struct{})}
	p.heard.measuring = make(chan struct{})
	p.cmd.Dir, p.cmd.Stderr = g.dir, &p.heard
	// The race detector would keep each process for a second at its end.
	p.cmd.Env = append(p.cmd.Env, "XDG_RUNTIME_DIR="+g.dir, "GORACE=atexit_sleep_ms=0", g.mark)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.cmd.Wait() // how it ended is in ProcessState
	}()
	return p, nil
}

// signalGroup sends a signal to all processes of its group: without root, the lab is in a
// child.
func (p *program) signalGroup(s syscall.Signal) error {
	select {
	case <-p.done:
		return os.ErrProcessDone
	default:
		return syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// holder is the process that has the lab of a program: without root a child with the same arguments.
func (g *stage) holder(p *program) int {
	for _, other := range marked(g.mark) {
		if other.pid != p.cmd.Process.Pid && slices.Equal(other.args, p.cmd.Args) {
			return other.pid
		}
	}
	return p.cmd.Process.Pid
}

// A watch keeps what a program says and notices when it begins to measure.
type watch struct {
	mu        sync.Mutex
	text      bytes.Buffer
	since     time.Time
	measuring chan struct{} // closed then
}

// begins is what evbench run says when the measured part of the case begins.
const begins = "chaos: measure"

// maxHeard bounds what is kept: reports of races are long.
const maxHeard = 16 << 20

func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text.Len() < maxHeard {
		w.text.Write(p)
	}
	if w.since.IsZero() && bytes.Contains(w.text.Bytes(), []byte(begins)) {
		w.since = time.Now()
		close(w.measuring)
	}
	return len(p), nil
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// measures waits until the program measures, and returns since when; false if it ends
// before.
func (p *program) measures() (time.Time, bool) {
	select {
	case <-p.heard.measuring:
		p.heard.mu.Lock()
		defer p.heard.mu.Unlock()
		return p.heard.since, true
	case <-p.done:
		return time.Time{}, false
	}
}

// until waits for a moment; false if the program ends before.
func (p *program) until(t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.done:
		return false
	}
}
