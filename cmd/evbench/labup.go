package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion"
	companionlab "evbench/companion/lab"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/atomicfile"
	"evbench/internal/unit"
	"evbench/lab"
	"evbench/plan"
	"evbench/routing"
	"evbench/routing/engine"
)

// A held lab is one that a process in the background keeps up, as its state
// file describes it.
type held struct {
	PID   int            `json:"pid"`   // the process whose descriptors hold the namespaces
	User  bool           `json:"user"`  // they are in a user namespace of its own
	Nodes map[string]int `json:"nodes"` // node -> descriptor of its namespace
	Text  string         `json:"text"`  // what is up, for people
}

// stateFile is where the one lab of a user is written down.
func stateFile() string {
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("evbench-%d", hostUID()))
	}
	return filepath.Join(dir, "evbench-lab.json")
}

// hostUID is the user's ID outside the user namespace that the lab may have
// put this process in.
func hostUID() int {
	var inside, outside, n int
	if _, err := fmt.Sscan(readString("/proc/self/uid_map"), &inside, &outside, &n); err == nil && n == 1 {
		return outside
	}
	return os.Getuid()
}

// readHeld returns the lab that is up, or errNoLab.
func readHeld() (held, error) {
	var h held
	b, err := os.ReadFile(stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return h, errNoLab
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("%s: %w", stateFile(), err)
	}
	if syscall.Kill(h.PID, 0) != nil {
		return h, errNoLab // killed, and its lab with it
	}
	return h, nil
}

func labUpCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "up",
		Usage: "build a lab and keep it up in the background",
		Flags: append(treeFlags(),
			&cli.StringFlag{Name: "routing", Aliases: []string{"r"}, Value: routing.Ftree, Usage: "`NAME` of the tables: " + strings.Join(engine.TreeNames(), ", ")},
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
	if h, err := readHeld(); err == nil {
		return usagef("a lab is up already: %s; take it down first: evbench lab down", h.Text)
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
	l, err := lab.Start(c.Context, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	target := companionlab.New(l)
	if _, err := companion.Install(c.Context, target, p, l.Addresses()); err != nil {
		return err
	}
	if err := writeHeld(l, p); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.Remove(stateFile()))
		if os.Getenv("XDG_RUNTIME_DIR") == "" {
			_ = os.Remove(filepath.Dir(stateFile())) // ours; stays if something else is in it
		}
	}()
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

func writeHeld(l *lab.Lab, p *plan.Plan) error {
	h := held{PID: os.Getpid(), User: hostUID() != os.Getuid(), Nodes: map[string]int{}, Text: heldText(p)}
	for n := range l.Nodes() {
		h.Nodes[l.Name(lab.Node(n))] = l.Descriptor(lab.Node(n))
	}
	if err := os.MkdirAll(filepath.Dir(stateFile()), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(stateFile(), func(w io.Writer) error { return json.NewEncoder(w).Encode(h) })
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
	h, err := readHeld()
	if err != nil {
		return usage(err)
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
	h, err := readHeld()
	if err != nil {
		return usage(err)
	}
	if err := syscall.Kill(h.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("process %d: %w", h.PID, err)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := readHeld(); errors.Is(err, errNoLab) {
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
