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

// computing is the action of a command that reads, computes and prints, and keeps nothing
// that has to be put back: it ends when it is told to, wherever it is. Plans and
// tables are made by packages that know no context, in loops as deep as the
// colouring of a graph; one look from here reaches them all.
func computing(action cli.ActionFunc) cli.ActionFunc {
	return interruptible(func(c *cli.Context) error {
		if c.Context.Err() != nil {
			return context.Cause(c.Context)
		}
		return action(c)
	})
}

// interruptible is computing for a command that has something to show when it is
// interrupted, as long as that does not take it longer than toFinish.
func interruptible(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Context.Value(leaving{}) == nil {
			return action(c)
		}
		return proc.Within(c.Context, toFinish, func() error { return action(c) })
	}
}

type leaving struct{}

// withLeave marks the context of a program that ends with its command, so that work
// may be left behind: it ends with the program.
func withLeave(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaving{}, true)
}
