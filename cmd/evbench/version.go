package main

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/cmd/open"
	"evbench/model/capacity"
	"evbench/scenario"
	"evbench/site/host"
)

// version is the last release, or the linker's value (see Makefile).
var version = "0.1.0"

func versionAction(c *cli.Context) error {
	b := open.NewBuild(version)
	return printed(c, b.WriteText, document("evbench/version/1", b))
}

// checkMemory refuses a scenario whose event buffers do not fit into this machine, with here
// servers on it.
func checkMemory(s *scenario.Scenario, here int) error {
	return host.Fits("event buffers need", float64(capacity.EventBytes(s, here)), "take smaller fragments, fewer credits or deliver: discard")
}

// perPair is the memory, in bytes, of making a schedule for each ordered pair of servers: measured,
// with its messages.
const perPair = 10

// checkPlans refuses to make atOnce schedules at once whose tables of pairs do not fit into this
// machine.
func checkPlans(servers, atOnce int) error {
	return host.Fits(fmt.Sprintf("schedules of %d servers need", servers), float64(servers)*float64(servers)*float64(perPair*atOnce), "take a smaller network")
}

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
	{exitInvalid, "finished, but a case is wrong or, with --require resolved, not resolved; results are written and marked"},
	{exitHungUp, "interrupted: the terminal was closed"},
	{exitInterrupted, "interrupted: Ctrl-C; what was measured is written and marked incomplete"},
	{exitUnread, "standard output was closed"},
	{exitTerminated, "interrupted: SIGTERM"},
}

// Scripts for shells. Each asks the program, so none knows the commands.
//
//go:embed completion
var scripts embed.FS

func shellNames() []string { return []string{"bash", "zsh", "fish"} }

func completionAction(c *cli.Context) error {
	script, err := scripts.ReadFile("completion/evbench." + c.Args().First())
	if err != nil {
		return usagef("completion: no shell %q; there are %s", c.Args().First(), strings.Join(shellNames(), ", "))
	}
	_, err = c.App.Writer.Write(script)
	return err
}
