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
	_, err := io.WriteString(c.App.Writer, cmdline.Manual(c.App, version, tasks(), exitCodes()))
	return err
}

// exitCodes are those of the program, for its manual page; docs/reference/exit-codes.md says more.
func exitCodes() []cmdline.ExitCode {
	return []cmdline.ExitCode{
		{Code: exitDone, Says: "done"},
		{Code: exitFailed, Says: "failed, or what was checked is wrong"},
		{Code: exitUsage, Says: "wrong use, input or nodes; nothing was done"},
		{Code: exitRegression, Says: "worse than what it was compared with, or than --fail-below allows"},
		{Code: exitInvalid, Says: "finished, but a case is wrong or, with --require resolved, not resolved; results are written and marked"},
		{Code: exitHungUp, Says: "interrupted: the terminal was closed"},
		{Code: exitInterrupted, Says: "interrupted: Ctrl-C; what was measured is written and marked incomplete"},
		{Code: exitUnread, Says: "standard output was closed"},
		{Code: exitTerminated, Says: "interrupted: SIGTERM"},
	}
}
