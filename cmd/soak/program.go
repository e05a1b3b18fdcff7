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

	"evbench/internal/proc"
)

// patience is how long after a round its processes may stay before they are killed.
const patience = proc.Patience

// A sandbox is where one round runs: a directory of its own, and a mark by which everything
// it has started is found again.
type sandbox struct {
	dir     string
	mark    string // of the environment
	evbench string
}

func newSandbox(evbench string) (*sandbox, error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, err
	}
	return &sandbox{dir: dir, mark: "EVBENCH_SOAK=" + filepath.Base(dir), evbench: evbench}, nil
}

func (b *sandbox) path(name string) string { return filepath.Join(b.dir, name) }

func (b *sandbox) write(name, text string) error {
	return os.WriteFile(b.path(name), []byte(text), 0o600)
}

// sweep kills what is left of a round, which is only processes with its mark, and returns
// how many there were.
func (b *sandbox) sweep() int {
	left := marked(b.mark)
	for _, p := range left {
		syscall.Kill(p.pid, syscall.SIGKILL) // an error says that it has ended
	}
	return len(left)
}

// close removes everything of a round.
func (b *sandbox) close() error {
	b.sweep()
	b.gone(time.Now(), patience)
	return os.RemoveAll(b.dir)
}

type program struct {
	cmd   *exec.Cmd
	heard watch
	done  chan struct{} // closed when it has ended
}

// start starts a proc.Command, whose end the caller waits for.
func (b *sandbox) start(cmd *exec.Cmd) (*program, error) {
	p := &program{cmd: cmd, done: make(chan struct{})}
	p.heard.measuring = make(chan struct{})
	p.cmd.Dir, p.cmd.Stderr = b.dir, &p.heard
	// The race detector would keep each process for a second at its end.
	p.cmd.Env = append(p.cmd.Env, "XDG_RUNTIME_DIR="+b.dir, "GORACE=atexit_sleep_ms=0", b.mark)
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
func (b *sandbox) holder(p *program) int {
	for _, other := range marked(b.mark) {
		if other.pid != p.cmd.Process.Pid && slices.Equal(other.args, p.cmd.Args) {
			return other.pid
		}
	}
	return p.cmd.Process.Pid
}

// code is how it ended, once it has: -1 by a signal.
func (p *program) code() int { return p.cmd.ProcessState.ExitCode() }

// cpu is what it and those it has waited for have used.
func (p *program) cpu() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
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
