package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"evbench/internal/cmdline"
)

func manCommand() *cli.Command {
	return computing(&cli.Command{
		Name:   "man",
		Usage:  "print the manual page of evbench and its commands",
		Action: manAction,
	}, "  evbench man > evbench.1")
}

func manAction(c *cli.Context) error {
	_, err := io.WriteString(c.App.Writer, cmdline.Manual(c.App, version, tasks()))
	return err
}
