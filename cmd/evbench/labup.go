package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/fabric/open"
	"evbench/internal/cmdline"
	"evbench/plan"
	"evbench/routing"
)

func labUpAction(c *cli.Context) error {
	if err := open.MayBuild(); err != nil {
		return err
	}
	t, err := anyTree(c)
	if err != nil {
		return err
	}
	p, err := plan.Build(t, plan.Options{Routing: c.String("routing")})
	if err != nil {
		return usage(err)
	}
	if p.Routing == routing.Adaptive {
		return usagef("--routing: %w", companion.ErrAdaptive)
	}
	if !c.Bool("foreground") {
		return labUpInBackground(c)
	}
	if err := enterLab(nil); err != nil {
		return err
	}
	return open.KeepLab(c.Context, p, lab.Options{Tree: t, Rate: cmdline.Rate(c, "rate"), MTU: c.Int("mtu"), Packets: p.Routing == routing.Spray}, c.App.Writer)
}

func labUpInBackground(c *cli.Context) error {
	err := open.Background(c.App.Writer, append(os.Args[1:], "--foreground")...)
	if ended, ok := errors.AsType[*open.EndError](err); ok {
		return &exitError{ended.Code, err}
	}
	if err == nil {
		_, err = fmt.Fprintln(c.App.Writer, "look around:  evbench lab exec server0 bash\ntake it down: evbench lab down")
	}
	return err
}

func labExecAction(c *cli.Context) error {
	if a := c.Args().First(); a == "--help" || a == "-h" {
		return cli.ShowSubcommandHelp(c)
	}
	if c.NArg() < 2 {
		return usagef("exec: NODE and COMMAND are needed, for example: evbench lab exec leaf0 ip route")
	}
	h, p, err := open.FindLab()
	if err != nil {
		return usage(err)
	}
	defer func() { _ = p.Release() }()
	args, err := h.Enter(c.Args().First(), c.Args().Tail())
	if err != nil {
		return err
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return usagef("exec needs nsenter (package util-linux): %w", err)
	}
	if command := c.Args().Get(1); c.NArg() == 2 && strings.Contains(strings.TrimSpace(command), " ") {
		return usagef("exec: %.40q…: write each word of a command by itself, or sh -c '…'; "+
			"what mpirun gives to a remote shell goes through scripts/lab-mpirun", command)
	}
	return syscall.Exec(nsenter, args, os.Environ())
}

func labDownAction(c *cli.Context) error {
	h, err := open.DownLab(c.Context)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "down: %s\n", h.Text)
	return err
}
