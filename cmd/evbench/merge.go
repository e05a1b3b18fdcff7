package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/model/sweep"
)

// mergeAction runs the journals' command without --shard, with all results from the journals.
func mergeAction(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("merge: name the journals of all shards")
	}
	m, err := sweep.Merge(c.Args().Slice(), c.Bool("any-build"))
	if err != nil {
		return usage(err)
	}
	app := c.App
	args := append([]string{c.App.Name}, m.Header.Args...)
	if !sweeps(app.Commands, m.Header.Args) {
		return usagef("merge: the journals belong to evbench %s, which has no shards", answer.Typed(m.Header.Args...))
	}
	fmt.Fprintf(c.App.ErrWriter, "evbench %s, from %d journals\n", answer.Typed(m.Header.Args...), c.NArg())
	if dir := c.String("out"); dir != "" {
		args = append(args, "--out", dir)
	}
	if args, err = cmdline.FlagsFirst(app, args); err != nil {
		return usage(err)
	}
	app.Metadata[metaArgs] = m.Header.Args
	return app.RunContext(context.WithValue(c.Context, mergedKey{}, m), args)
}
