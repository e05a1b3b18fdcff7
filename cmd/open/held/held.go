// Package held keeps a lab up in the background: it builds one, records its place, and finds it again for those who look into it or take it
// down.
package held

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/fabric/lab"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/routing"
)

// KeepTree builds a lab of a tree with the routes of a plan, records its place and keeps it until ctx ends,
// re-routing by the engine of the plan, of routing or x, whenever a link changes. When it is up, out gets a line that says so.
func KeepTree(ctx context.Context, p *plan.Plan, x routing.Engines, o lab.Options, out io.Writer) error {
	return Keep(ctx, textOf(p), o, out, func(l *lab.Lab) error {
		_, err := companion.Install(ctx, linux.NewTarget(l), p, l.Addresses())
		return err
	}, func(l *lab.Lab) error { return followLinks(ctx, linux.NewTarget(l), p, x, l) })
}

// Keep builds a lab, installs its routes, records its place, and follows its links until ctx ends.
func Keep(ctx context.Context, text string, o lab.Options, out io.Writer, install, follow func(*lab.Lab) error) (err error) {
	state, err := claimed(text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.release()) }()
	l, err := lab.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := install(l); err != nil {
		return err
	}
	if err := state.up(l); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s: %s\n", upLine, text); err != nil {
		return err
	}
	err = follow(l)
	if ctx.Err() != nil {
		return nil // the normal end
	}
	return err
}

func textOf(p *plan.Plan) string {
	down := "no link dead"
	if names := p.Tree.DownNames(); len(names) > 0 {
		down = "without " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, %d servers, routing %s, %s", p.Tree.Notation(), p.Tree.Servers(), p.Routing, down)
}

func followLinks(ctx context.Context, target companion.Target, p *plan.Plan, x routing.Engines, l *lab.Lab) error {
	net, err := companion.NewRouter(target, l.Addresses(), p, p.Routing, x)
	if err != nil {
		return err
	}
	machine := failover.MinHop.Options(p.Tree, 0)
	machine.Wait = true // no run that could end when servers have no path to each other
	_, err = loop.Run(ctx, loop.Options{Machine: machine, Plan: p, Network: net})
	return err
}

// Down takes down the running lab, and returns when it is gone.
func Down(ctx context.Context) (Lab, error) {
	h, p, err := Find()
	if err != nil {
		return h, proc.Usage(err)
	}
	defer func() { _ = p.Release() }()
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return h, fmt.Errorf("process %d: %w", h.PID, err)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if up, err := isUp(h); err != nil || !up {
			return h, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return h, context.Cause(ctx)
		}
	}
}

// isUp reports whether a lab still exists, without another in its place.
func isUp(h Lab) (bool, error) {
	now, p, err := Find()
	if errors.Is(err, errNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return now.ID == h.ID, p.Release()
}

// Enter returns the arguments of nsenter that run a command on a node, with mounts of its own.
//
// The kernel lets only a single-threaded program into a user namespace, and a Go program has
// several threads: nsenter (util-linux) has one.
func (h Lab) Enter(node string, command []string) ([]string, error) {
	if h.Nodes == nil {
		return nil, proc.Usagef("exec: a lab is %v", h)
	}
	fd, ok := h.Nodes[node]
	if !ok {
		return nil, proc.Usagef("no node %q in the lab: %s; nodes are %s", node, h.Text, show.Some(slices.Sorted(maps.Keys(h.Nodes)), 8, ", "))
	}
	args := []string{"nsenter", fmt.Sprintf("--net=/proc/%d/fd/%d", h.PID, fd)}
	// A command from one node to another, as by mpirun's remote shell, stays in one user namespace,
	// and a process cannot enter its own again.
	if user := fmt.Sprintf("/proc/%d/ns/user", h.PID); h.User && !sameFile(user, "/proc/self/ns/user") {
		args = append(args, "--user="+user, "--preserve-credentials")
	}
	args = append(args, "--")
	if h.User {
		args = append(args, "env", lab.Caller())
	}
	args = append(args, "unshare", "--mount", "--propagation", "slave", "sh", "-c", lab.OwnSys, "sh")
	return append(args, command...), nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
