package proc

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A Signal is the cause of a context cancelled by a signal.
type Signal struct{ Sig os.Signal }

func (s Signal) Error() string {
	if s.Sig == os.Interrupt {
		return "interrupted" // its own name is a verb, beside "terminated"
	}
	return s.Sig.String()
}

// Notify returns a context that the first SIGINT, SIGTERM or SIGHUP cancels; a second SIGINT or
// SIGTERM kills the program as usual. A second SIGHUP does not: the shell and the kernel each send
// one when a terminal is closed, while the program cleans up. If SIGHUP is ignored (nohup) it stays
// so.
func Notify(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch, hup := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hup, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var s os.Signal
		select {
		case s = <-ch:
		case s = <-hup:
		case <-ctx.Done():
			return
		}
		signal.Stop(ch)
		cancel(Signal{s})
	}()
	return ctx, func() {
		signal.Stop(ch)
		signal.Stop(hup)
		cancel(nil)
		<-done
	}
}

// Within does some work. It abandons work that lasts longer than patience after the end of ctx; the
// error is then the cause of ctx.
func Within(ctx context.Context, patience time.Duration, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return context.Cause(ctx)
	}
}

// Made returns the result of work. If ctx ends before, it returns the cause, and abandons the work,
// which holds only memory.
func Made[T any](ctx context.Context, work func() (T, error)) (none T, err error) {
	out := make(chan T, 1)
	err = Within(ctx, 0, func() error {
		x, err := work()
		out <- x
		return err
	})
	if err != nil {
		return none, err
	}
	return <-out, nil
}

// Pause waits; false if ctx ends before.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Writer returns a writer that fails as soon as ctx has ended, so that the file being written is
// abandoned as for any other error.
func Writer(ctx context.Context, w io.Writer) io.Writer { return writer{ctx, w} }

type writer struct {
	ctx context.Context
	w   io.Writer
}

func (o writer) Write(b []byte) (int, error) {
	if o.ctx.Err() != nil {
		return 0, context.Cause(o.ctx)
	}
	return o.w.Write(b)
}
