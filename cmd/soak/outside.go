package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"evbench/internal/proc"
	"evbench/results"
	"evbench/topology"
)

// strikes takes links of the running lab down and up, as somebody at a terminal would.
func (g *stage) strikes(ctx context.Context) {
	list := g.s.Strikes()
	if len(list) == 0 {
		return
	}
	since, ok := g.main.measures()
	if !ok {
		return
	}
	doors, err := g.doors(ctx)
	for _, x := range list {
		if err != nil || !g.main.until(since.Add(x.At)) {
			break
		}
		if err = doors[x.Link.Leaf].set(ctx, x.Link.Spine, x.Up); err == nil {
			g.seen.Struck = append(g.seen.Struck, results.LinkEvent{Link: x.Link.String(), Up: x.Up, TSec: time.Since(since).Seconds()})
		}
		if g.s.Kind == Severed {
			g.hit = time.Now()
		}
	}
	if err != nil && g.main.until(time.Now().Add(time.Second)) { // else it has ended meanwhile
		g.seen.Unstruck = err.Error()
	}
}

// A door is how nsenter gets into a network namespace.
type door []string

// maxLinks bounds what ip prints of the links of a leaf.
const maxLinks = 1 << 20

// run runs a command there.
func (d door) run(ctx context.Context, command ...string) (string, error) {
	if d == nil {
		return "", fmt.Errorf("no namespace of that leaf")
	}
	args := append(append([]string{}, d...), command...)
	out, err := proc.Output(exec.CommandContext(ctx, "nsenter", args...), maxLinks)
	if err != nil {
		return "", fmt.Errorf("in %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// set takes the link of a leaf to a spine down, or up.
func (d door) set(ctx context.Context, spine int, up bool) error {
	how := "down"
	if up {
		how = "up"
	}
	_, err := d.run(ctx, "ip", "link", "set", Spine(spine), how)
	return err
}

// doors finds the namespaces of the leaves: the program holds all of its lab open.
func (g *stage) doors(ctx context.Context) (map[int]door, error) {
	tree := g.s.Tree()
	doors := map[int]door{}
	for _, p := range marked(g.mark) {
		if len(doors) < tree.Leaves() {
			findDoors(ctx, p.pid, tree, doors)
		}
	}
	if len(doors) < tree.Leaves() {
		return nil, fmt.Errorf("only %d of %d leaves found among the namespaces of the run", len(doors), tree.Leaves())
	}
	return doors, nil
}

// findDoors adds what a process holds.
func findDoors(ctx context.Context, pid int, tree *topology.Tree, doors map[int]door) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	var user door
	own, _ := os.Readlink("/proc/self/ns/user")
	if its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid)); err != nil || its != own {
		user = door{fmt.Sprintf("--user=/proc/%d/ns/user", pid), "--preserve-credentials"}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if to, _ := os.Readlink(dir + e.Name()); !strings.HasPrefix(to, "net:") {
			continue
		}
		d := append(door{"--net=" + dir + e.Name()}, user...)
		text, err := d.run(ctx, "ip", "-o", "link")
		if leaf, ok := LeafOf(tree, text); err == nil && ok {
			doors[leaf] = d
		}
	}
}
