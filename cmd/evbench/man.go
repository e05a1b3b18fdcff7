package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func manAction(c *cli.Context) error {
	writeUsage("evbench", c.App.Commands)
	c.App.UsageText = "evbench COMMAND [OPTION…] [ARGUMENT…]"
	var codes strings.Builder
	for _, x := range exitCodes {
		fmt.Fprintf(&codes, "\n**%d**: %s\n", x.code, x.says)
	}
	cli.MarkdownDocTemplate += "\n# EXIT STATUS\n" + codes.String()
	page, err := c.App.ToManWithSection(1)
	if err == nil {
		_, err = io.WriteString(c.App.Writer, page)
	}
	return err
}

// writeUsage adds to commands their text in the manual page: usage and example.
func writeUsage(parent string, commands []*cli.Command) {
	for _, c := range commands {
		name := parent + " " + c.Name
		c.UsageText = name + " " + c.ArgsUsage + "\n\n" + c.Description
		writeUsage(name, c.Subcommands)
	}
}

// exitCodes are the program's exit codes; docs/reference/files.md has details.
var exitCodes = []struct {
	code int
	says string
}{
	{exitDone, "done"},
	{exitFailed, "failed, or what was checked is wrong"},
	{exitUsage, "wrong use, input or nodes; nothing was done"},
	{exitRegression, "worse than what it was compared with, or than --fail-below allows"},
	{exitInvalid, "finished, but a case is wrong or, with --require resolved or --fail-below, not known; results are written and marked"},
	{exitHungUp, "interrupted: the terminal was closed"},
	{exitInterrupted, "interrupted: Ctrl-C; what was measured is written and marked incomplete"},
	{exitUnread, "standard output was closed"},
	{exitTerminated, "interrupted: SIGTERM"},
}
