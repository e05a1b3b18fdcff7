package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion"
	companionlab "evbench/companion/kernel"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/unit"
	"evbench/plan"
	"evbench/routing"
	"evbench/routing/twolevel"
)

func labUpCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "up",
		Usage: "build a lab and keep it up in the background",
		Flags: append(treeFlags(),
			&cli.StringFlag{Name: "routing", Aliases: []string{"r"}, Value: twolevel.Ftree, Usage: "`NAME` of the tables: " + strings.Join(routing.TreeNames(), ", ")},
			&cli.StringFlag{Name: "rate", Value: "100Mbit/s", Usage: "`RATE` of every link"},
			&cli.IntFlag{Name: "mtu", Value: 9000, Usage: "`BYTES` of a packet"},
			&cli.BoolFlag{Name: "foreground", Usage: "stay, until Ctrl-C takes the lab down"},
		),
		Action: labUpAction,
	}, "  evbench lab up -t 'FT(2;4,4)' --down leaf0-spine0 -r minhop\n  evbench lab exec server0 ping -c 3 10.200.1.1")
}

func labUpAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	if err := noLabYet(); err != nil {
		return err
	}
	t, err := tree(c)
	if err != nil {
		return err
	}
	rate, err := unit.ParseRate(c.String("rate"))
	if err != nil {
		return usagef("--rate: %w", err)
	}
	p, err := plan.Build(t, plan.Options{Routing: c.String("routing")})
	if err != nil {
		return usage(err)
	}
	if !c.Bool("foreground") {
		return labUpInBackground(c)
	}
	if err := enterLab(); err != nil {
		return err
	}
	return hold(c, p, lab.Options{Tree: t, Rate: rate, MTU: c.Int("mtu")})
}

// upLine is what the holder prints when the lab is up.
const upLine = "lab is up"

// labUpInBackground starts the holder and waits until its lab is up.
func labUpInBackground(c *cli.Context) error {
	holder := exec.Command("/proc/self/exe", append(os.Args[1:], "--foreground")...)
	holder.Args[0] = os.Args[0]
	holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	var complaint strings.Builder
	holder.Stderr = &complaint
	if err := holder.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Fprintln(c.App.Writer, lines.Text())
		if strings.HasPrefix(lines.Text(), upLine) {
			fmt.Fprintln(c.App.Writer, "look around:  evbench lab exec server0 bash\ntake it down: evbench lab down")
			return holder.Process.Release()
		}
	}
	err = holder.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &exitError{exit.ExitCode(), errors.New(strings.TrimPrefix(strings.TrimSpace(complaint.String()), "evbench: "))}
	}
	return errors.Join(err, errors.New("the lab's process ended without a word"))
}

// hold builds the lab, writes down where it is and keeps it until ctx ends,
// re-routing whenever a link changes.
func hold(c *cli.Context, p *plan.Plan, o lab.Options) (err error) {
	state, err := claimLab(heldText(p))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.release()) }()
	l, err := lab.Start(c.Context, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	target := companionlab.New(l)
	if _, err := companion.Install(c.Context, target, p, l.Addresses()); err != nil {
		return err
	}
	if err := state.up(l); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", upLine, heldText(p)); err != nil {
		return err
	}
	err = followLinks(c.Context, target, p, l)
	if c.Context.Err() != nil {
		return nil // that is how it ends
	}
	return err
}

func heldText(p *plan.Plan) string {
	down := "no link dead"
	if names := p.Tree.DownNames(); len(names) > 0 {
		down = "without " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, %d servers, routing %s, %s", p.Tree.Notation(), p.Tree.Servers(), p.Routing, down)
}

// followLinks re-routes on link events until ctx ends.
func followLinks(ctx context.Context, target companion.Target, p *plan.Plan, l *lab.Lab) error {
	net, err := companion.NewRouter(target, l.Addresses(), p, p.Routing)
	if err != nil {
		return err
	}
	_, err = loop.Run(ctx, loop.Options{Machine: failover.MinHop.Options(p.Tree, 0), Plan: p, Network: net})
	return err
}

func labExecCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "exec",
		Usage:     "run a command on a server or switch of the lab that is up",
		ArgsUsage: "NODE COMMAND [ARG…]",
		// What follows belongs to the command that is run.
		SkipFlagParsing: true,
		Action:          labExecAction,
	}, "  evbench lab exec leaf0 ip route\n  evbench lab exec server3 bash")
}

func labExecAction(c *cli.Context) error {
	if a := c.Args().First(); a == "--help" || a == "-h" {
		return cli.ShowSubcommandHelp(c)
	}
	if c.NArg() < 2 {
		return usagef("exec: NODE and COMMAND are needed, for example: evbench lab exec leaf0 ip route")
	}
	h, p, err := readHeld()
	if err != nil {
		return usage(err)
	}
	defer func() { _ = p.Release() }()
	if h.Nodes == nil {
		return usagef("exec: a lab is %v", h)
	}
	fd, ok := h.Nodes[c.Args().First()]
	if !ok {
		return usagef("no node %q in the lab: %s; nodes are leaf0…, spine0…, server0…", c.Args().First(), h.Text)
	}
	// A Go program has threads, and the kernel lets only a program with one
	// thread into a user namespace: nsenter (util-linux) does that.
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return usagef("exec needs nsenter (package util-linux): %w", err)
	}
	if command := c.Args().Get(1); c.NArg() == 2 && strings.Contains(strings.TrimSpace(command), " ") {
		return usagef("exec: %.40q…: write each word of a command by itself, or sh -c '…'; "+
			"what mpirun gives to a remote shell goes through scripts/lab-mpirun", command)
	}
	args := []string{"nsenter", fmt.Sprintf("--net=/proc/%d/fd/%d", h.PID, fd)}
	if h.User {
		args = append(args, fmt.Sprintf("--user=/proc/%d/ns/user", h.PID), "--preserve-credentials")
	}
	args = append(append(args, "--"), c.Args().Tail()...)
	return syscall.Exec(nsenter, args, os.Environ())
}

func labDownCommand() *cli.Command {
	return command(&cli.Command{
		Name:   "down",
		Usage:  "take down the lab that is up",
		Action: labDownAction,
	}, "  evbench lab down")
}

func labDownAction(c *cli.Context) error {
	if err := needArgs(c, 0, 0, ""); err != nil {
		return err
	}
	h, p, err := readHeld()
	if err != nil {
		return usage(err)
	}
	defer func() { _ = p.Release() }()
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d: %w", h.PID, err)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if up, err := isUp(h); err != nil {
			return err
		} else if !up {
			_, err := fmt.Fprintf(c.App.Writer, "down: %s\n", h.Text)
			return err
		}
		select {
		case <-ticker.C:
		case <-c.Context.Done():
			return context.Cause(c.Context)
		}
	}
}

// isUp reports whether a lab is there still, and no other one in its place.
func isUp(h held) (bool, error) {
	now, p, err := readHeld()
	if errors.Is(err, errNoLab) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return now.ID == h.ID, p.Release()
}
