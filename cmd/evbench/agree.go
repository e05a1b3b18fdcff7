package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"evbench/internal/proc"
	"evbench/scenario"
)

// agree asks the user, who may have the scenario from others, whether to run the commands in it.
// Where nobody can answer, or with --yes, it asks nothing.
func agree(c *cli.Context, s *scenario.Scenario) error {
	commands := s.Commands()
	if len(commands) == 0 || c.Bool("yes") || !answers(c) {
		return nil
	}
	fmt.Fprintf(c.App.ErrWriter, "scenario %s runs commands as you:\n", s.Name)
	for _, line := range commands {
		fmt.Fprintf(c.App.ErrWriter, "  %s\n", line)
	}
	fmt.Fprint(c.App.ErrWriter, "Run them? [y/N] ")
	said, err := proc.Made(c.Context, func() (string, error) { return bufio.NewReader(os.Stdin).ReadString('\n') })
	switch said = strings.ToLower(strings.TrimSpace(said)); {
	case c.Context.Err() != nil:
		return err
	case said == "y" || said == "yes":
		return nil
	}
	return usagef("scenario %s: its commands were refused, so nothing was done; --yes runs them without a question", s.Name)
}

// answers reports whether a user at a terminal reads questions and can answer. To read from a
// terminal would stop a process in the background.
func answers(c *cli.Context) bool {
	if _, ok := terminal(c.App.ErrWriter); !ok {
		return false
	}
	group, err := unix.IoctlGetUint32(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && int(group) == unix.Getpgrp()
}
