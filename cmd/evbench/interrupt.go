package main

import (
	"context"
	"io"
	"time"

	"github.com/urfave/cli/v2"
)

// toFinish is how long a command that computes may go on after a signal, to give
// up the file it is writing or to print what it has.
const toFinish = 500 * time.Millisecond

// computing is command for one that reads, computes and prints, and keeps nothing
// that has to be put back: it ends when it is told to, wherever it is. Plans and
// tables are made by packages that know no context, in loops as deep as the
// colouring of a graph; one look from here reaches them all, and those that are yet
// to be written.
func computing(c *cli.Command, example string) *cli.Command {
	action := c.Action
	c.Action = func(c *cli.Context) error {
		if c.Context.Err() != nil {
			return context.Cause(c.Context)
		}
		return action(c)
	}
	return interruptible(c, example)
}

// interruptible is computing for a command that has something to show when it is
// interrupted, as long as that does not take it longer than toFinish.
func interruptible(c *cli.Command, example string) *cli.Command {
	action := c.Action
	c.Action = func(c *cli.Context) error { return leavable(c, action) }
	return command(c, example)
}

// leavable does the work of a command, and leaves it some time after a signal.
func leavable(c *cli.Context, action func(*cli.Context) error) error {
	if c.Context.Value(leaving{}) == nil {
		return action(c)
	}
	return within(c.Context, toFinish, func() error { return action(c) })
}

type leaving struct{}

// withLeave marks the context of a program that ends with its command, so that work
// may be left behind: it ends with the program.
func withLeave(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaving{}, true)
}

// within does some work. Work that goes on for longer than patience after ctx has
// ended is left behind; the error is why ctx ended.
func within(ctx context.Context, patience time.Duration, work func() error) error {
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

// made returns what work makes. When ctx ends before, it returns why, and the work,
// which holds nothing but memory, is left behind.
func made[T any](ctx context.Context, work func() (T, error)) (none T, err error) {
	out := make(chan T, 1)
	err = within(ctx, 0, func() error {
		x, err := work()
		out <- x
		return err
	})
	if err != nil {
		return none, err
	}
	return <-out, nil
}

// collect returns all that work gives, one after the other. When ctx ends it returns
// what there is, and why; the work is left behind.
func collect[T any](ctx context.Context, work func(give func(T) error) error) (all []T, err error) {
	given, done := make(chan T), make(chan error, 1)
	go func() {
		done <- work(func(x T) error {
			select {
			case given <- x:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		select {
		case x := <-given:
			all = append(all, x)
		case err := <-done:
			return all, err
		case <-ctx.Done():
			return all, context.Cause(ctx)
		}
	}
}

// untilOver returns a writer that fails as soon as ctx is over, so that the file
// that is being written is given up as it is for any other error.
func untilOver(ctx context.Context, w io.Writer) io.Writer { return overWriter{ctx, w} }

type overWriter struct {
	ctx context.Context
	w   io.Writer
}

func (o overWriter) Write(b []byte) (int, error) {
	if o.ctx.Err() != nil {
		return 0, context.Cause(o.ctx)
	}
	return o.w.Write(b)
}
