package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/proc"
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
	return proc.Within(c.Context, toFinish, func() error { return action(c) })
}

type leaving struct{}

// withLeave marks the context of a program that ends with its command, so that work
// may be left behind: it ends with the program.
func withLeave(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaving{}, true)
}
