package ibtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"evbench/internal/proc"
)

// A process is a program in the background whose output is read line by line.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	ended chan struct{} // closed when the program is gone
	more  chan struct{} // holds a token when there may be unread lines

	mu     sync.Mutex
	unread []string
	over   bool
	seen   []string // the last lines read, for errors
}

func start(cmd *exec.Cmd) (*process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	p := &process{cmd: cmd, in: in, more: make(chan struct{}, 1), ended: make(chan struct{})}
	started := make(chan error)
	go p.run(out, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the program and reads all lines: the program must not block while no reader waits. It
// stays on one thread, as the program dies with the thread that started it, and so with a killed
// test.
func (p *process) run(out io.Reader, started chan<- error) {
	defer close(p.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p.cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		p.add(scan.Text(), false)
	}
	p.add("", true)
	_ = p.cmd.Wait() // it was killed, or says why in its output
}

func (p *process) add(line string, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over = over; !over {
		p.unread = append(p.unread, line)
	}
	select {
	case p.more <- struct{}{}:
	default: // the token is there
	}
}

func (p *process) wait(ctx context.Context, text string) (string, error) {
	for {
		line, found, over := p.next(text)
		switch {
		case found:
			return line, nil
		case over:
			return "", fmt.Errorf("ended before it said %q:\n%s", text, strings.Join(p.seen, "\n"))
		}
		select {
		case <-p.more:
		case <-ctx.Done():
			return "", fmt.Errorf("did not say %q: %w; last lines:\n%s", text, ctx.Err(), strings.Join(p.seen, "\n"))
		}
	}
}

func (p *process) next(text string) (line string, found, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, line := range p.unread {
		p.seen = append(p.seen[max(0, len(p.seen)-20):], line)
		if strings.Contains(line, text) {
			p.unread = p.unread[i+1:]
			return line, true, false
		}
	}
	p.unread = nil
	return "", false, p.over
}

func (p *process) enter(format string, args ...any) error {
	_, err := fmt.Fprintf(p.in, format, args...)
	return err
}

func (p *process) stop() {
	p.in.Close()
	_ = p.cmd.Process.Kill()
	<-p.ended
}
