package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/internal/lists"
	"evbench/internal/proc"
)

// A Worker is a worker to start on a host.
type Worker struct {
	Host string
	Name string   // in messages: "server17"
	Args []string // after "worker"
}

// A Start is the workers to start, with their end.
type Start struct {
	Workers []Worker
	Token   string
	Abort   context.Context // ends starting, too
	Failed  func()          // called as soon as a worker has failed
}

// Start starts workers and gives each a line with the token on its standard input, which stays
// open: a worker ends when that closes, so also when this process is killed. It returns when all
// workers run, or with an error that names all that do not, after ending the others. When ctx ends,
// workers are told to end. wait returns when all have ended, with the errors of those that failed
// before they were told to end.
func (s *SSH) Start(ctx context.Context, o Start) (wait func() error, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	undo := context.AfterFunc(o.Abort, func() { stop(context.Cause(o.Abort)) })
	byHost := lists.Groups(o.Workers, func(w Worker) string { return w.Host })
	f := &fleet{ctx: ctx, total: len(byHost), alert: o.Failed}
	s.each("starting workers", len(byHost), func(i int) {
		for _, w := range byHost[i] {
			if ctx.Err() != nil || !f.start(s, w, o.Token) {
				return
			}
		}
	})
	undo()
	if err := f.failed(o.Abort); err != nil {
		stop(err)
		f.running.Wait()
		return nil, err
	}
	return func() error {
		f.running.Wait()
		stop(nil)
		return f.failures("reported errors")
	}, nil
}

type fleet struct {
	ctx     context.Context
	total   int // hosts
	running sync.WaitGroup
	alert   func() // called when a worker has failed

	mu       sync.Mutex
	problems []Problem
}

// failed returns why not all workers run; nil if they do.
func (f *fleet) failed(abort context.Context) error {
	if abort.Err() != nil {
		return context.Cause(abort)
	}
	if err := f.failures("could not start a worker"); err != nil {
		return err
	}
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	return nil
}

func (f *fleet) failures(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.problems) == 0 {
		return nil
	}
	return &BadHosts{What: what, Total: f.total, Problems: slices.Clone(f.problems)}
}

// start starts one worker, and reports whether it runs. Its later output is recorded when it ends. A
// host that does not answer in time is given up.
func (f *fleet) start(s *SSH, w Worker, token string) bool {
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer time.AfterFunc(s.answer, func() { cancel(context.DeadlineExceeded) }).Stop()
	cmd := s.command(ctx, w.Host, s.at.worker(w.Args))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		f.note(w, err.Error())
		return false
	}
	cmd.Cancel = func() error { // tells the worker to end; after WaitDelay ssh is killed
		if silent(ctx) {
			return killGroup(cmd)
		}
		return stdin.Close()
	}
	first := &firstLine{seen: make(chan struct{})}
	cmd.Stdout = first
	if err := cmd.Start(); err != nil {
		f.note(w, why(f.ctx, w.Host, cmd, err))
		return false
	}
	// An error means that ssh has ended, and Wait returns why.
	_, _ = io.WriteString(stdin, token+"\n")
	ended := make(chan struct{})
	f.running.Go(func() {
		defer close(ended)
		f.end(ctx, w, cmd)
	})
	return first.await(ended)
}

func silent(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.DeadlineExceeded) }

// lostControl is in the message of a worker that has lost the controller: a consequence of the end,
// not its cause.
const lostControl = "control connection"

// end waits for a worker, and records why it failed, unless it was told to end and reports only
// that.
func (f *fleet) end(ctx context.Context, w Worker, cmd *exec.Cmd) {
	err := cmd.Wait()
	_ = killGroup(cmd) // a command of ssh for the connection, if ssh was killed
	told := f.ctx.Err() != nil
	switch {
	case cmd.ProcessState.Success():
	case silent(ctx) && !told:
		f.note(w, why(ctx, w.Host, cmd, err))
	case told && cmd.ProcessState.ExitCode() < 0:
		f.note(w, w.Name+": did not end when it was told to, and ssh was killed")
	case cmd.Stderr.(*proc.Tail).String() == "":
		f.note(w, fmt.Sprintf("%s: %v", w.Name, err))
	default:
		if said := why(context.Background(), w.Host, cmd, err); !told || !strings.Contains(said, lostControl) {
			f.note(w, said)
		}
	}
}

func (f *fleet) note(w Worker, reason string) {
	f.mu.Lock()
	f.problems = append(f.problems, Problem{w.Host, reason})
	f.mu.Unlock()
	f.alert()
}

// maxFirst bounds the output of a shell before the first line of the worker.
const maxFirst = 8 << 10

// firstLine detects the line of the worker's shell that says that it runs.
type firstLine struct {
	seen chan struct{}
	said bytes.Buffer
	done bool
}

func (l *firstLine) Write(p []byte) (int, error) {
	if !l.done {
		if l.said.Len() < maxFirst {
			l.said.Write(p)
		}
		if bytes.Contains(l.said.Bytes(), []byte(workerStarted+"\n")) {
			l.done = true
			close(l.seen)
		}
	}
	return len(p), nil
}

func (l *firstLine) await(ended <-chan struct{}) bool {
	select {
	case <-l.seen:
		return true
	case <-ended:
		return false
	}
}
