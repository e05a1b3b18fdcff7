package inject

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"evbench/internal/proc"
)

const (
	// pollEvery is the pause between two probes.
	pollEvery = 100 * time.Millisecond
	// againEvery is the pause before a retry of a command to bring a link up.
	againEvery = 500 * time.Millisecond
)

type operator struct{ Header }

// lower takes a link down. The answer of a disabled port may have to pass through that very port:
// if ibportstate fails, the probe decides.
func (o operator) lower(ctx context.Context, link string, r recipe) error {
	err := o.command(ctx, link, "down", r.down)
	e, ok := errors.AsType[*linkError](err)
	lost := ok && e.Reason == failed && o.Kind == kindIBPortState
	if err != nil && !lost {
		return err
	}
	seen := o.await(ctx, link, "down", linkDown, r.Probe)
	if seen != nil && lost {
		return err
	}
	return seen
}

// raise brings a link up. A command may fail because the link is up already, which the probe then
// shows, or because the network has not found its way around the link yet. So it is retried as long
// as there is time.
func (o operator) raise(ctx context.Context, link string, r Remedy) error {
	giveUp := time.Now().Add(o.Timeout)
	for {
		err := o.command(ctx, link, "up", r.Up)
		if err == nil {
			return o.await(ctx, link, "up", linkUp, r.Probe)
		}
		a, probeErr := o.probe(ctx, r.Probe)
		switch {
		case probeErr != nil:
			return probeErr
		case a.state == linkUp:
			return nil
		case !time.Now().Add(againEvery).Before(giveUp):
			return err
		}
		if !proc.Pause(ctx, againEvery) {
			return context.Cause(ctx)
		}
	}
}

func (o operator) command(ctx context.Context, link string, doing string, p Program) error {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	// A down that outlives this process would undo a restore. An up should end.
	e := start(limited, o.Dir, p, doing == "down")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil && e.code < 0: // else it has ended by itself, though this process saw that late
		return &linkError{Link: link, Reason: hung, Doing: doing, After: o.Timeout, Said: e.said}
	case e.code != 0:
		return &linkError{Link: link, Reason: failed, Doing: doing, Exit: e.code, Said: e.said}
	}
	return nil
}

// await probes until the link is in the wanted state, or time is up.
func (o operator) await(ctx context.Context, link string, doing string, want linkState, probe []Program) error {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var last heard
	for {
		a, err := o.probe(limited, probe)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && a.state == want:
			return nil
		case err == nil || last.said == "" && last.state == linkUnknown:
			last = a // an interrupted one tells nothing new
		}
		if !proc.Pause(limited, pollEvery) {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &linkError{Link: link, Reason: lied, Doing: doing, After: o.Timeout}
	if last.state == linkUnknown {
		e.Reason, e.Said = unclear, last.said
	}
	return e
}

type heard struct {
	state linkState
	said  string
}

// probe tries one probe after the other until one can tell. It returns an error only if ctx has
// ended, and then ignores any answer.
func (o operator) probe(ctx context.Context, probe []Program) (heard, error) {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var a heard
	for _, p := range probe {
		e := start(limited, o.Dir, p, true)
		if err := ctx.Err(); err != nil {
			return heard{said: "it did not end"}, context.Cause(ctx)
		}
		if limited.Err() != nil && e.code < 0 {
			return heard{said: "it did not end within " + o.Timeout.String()}, nil
		}
		if a.state = verdict(o.Kind, e.code, e.out); a.state != linkUnknown {
			return a, nil
		}
		a.said = exitText(e.code) + after(e.said)
	}
	return a, nil
}

type ended struct {
	code int    // exit code; -1: ended by a signal, or not started
	out  string // start of standard output
	said string // last line of standard error, or why it did not start
}

// drainAfter is how long to wait for the output of a program that has ended but left child
// processes with the same standard output.
const drainAfter = time.Second

// start runs a program to its end. It has a process group of its own: a Ctrl-C at the terminal is
// for this process, which then uses the program to bring links up. At the end of ctx the whole
// group is killed. With bound it also dies with this process.
func start(ctx context.Context, dir string, p Program, bound bool) ended {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	if p.Args[0] == "evbench" {
		cmd.Path, cmd.Err = "/proc/self/exe", nil
		cmd.Args[0] = os.Args[0]
	}
	out, said := &beginning{}, &proc.Tail{}
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), p.Env...), said
	cmd.WaitDelay = drainAfter
	cmd.SysProcAttr = proc.Group(0)
	if bound {
		// It would die with the thread that starts it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := proc.Run(cmd, out)
	if cmd.ProcessState == nil {
		return ended{code: -1, said: err.Error()}
	}
	e := ended{code: cmd.ProcessState.ExitCode(), out: string(out.text), said: lastLine(said.String())}
	if _, exited := errors.AsType[*exec.ExitError](err); exited && e.said == "" && e.code < 0 {
		e.said = err.Error()
	}
	return e
}

type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), 64<<10-len(b.text))]...)
	return len(p), nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
