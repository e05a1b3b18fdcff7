package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// shellOf returns a command that runs another one on a node of a lab, unless a file refuse says that
// the node does nothing. Beside it, a file NODE.away is of a node that does not answer, NODE.frozen of
// one that never does, and NODE.dies of one that is away from its next batch on.
func shellOf(t *testing.T, l *lab.Lab, tree *topology.Live) (command []string, refuse string) {
	t.Helper()
	dir := t.TempDir()
	for n := range tree.Switches() {
		cmd := exec.Command("cat") // until the test ends
		in := expect.Value(cmd.StdinPipe())(t)
		expect.Must(t, l.StartCommand(lab.Node(n), cmd))
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Wait()
		})
		expect.Must(t, os.WriteFile(filepath.Join(dir, tree.SwitchName(n)), fmt.Append(nil, cmd.Process.Pid), 0o600))
	}
	refuse = filepath.Join(dir, "refuse")
	// It starts no process of its own: there are hundreds of commands.
	script := fmt.Sprintf("#!/bin/sh\ncd '%s' || exit\ncase $* in *-batch*) [ ! -e $1.dies ] || mv $1.dies $1.away;; esac\n"+
		"[ ! -e $1.away ] || { echo \"no route to $1\" >&2; exit 255; }\n[ ! -e $1.frozen ] || sleep 1000\nno=none\n[ ! -e refuse ] || read -r no <refuse 2>/dev/null\n"+
		"case $* in \"$no\"*-batch*) rm refuse; cat >/dev/null; exit;; esac\nread -r pid <$1; shift; exec nsenter -t $pid -n -- \"$@\"\n", dir)
	expect.Must(t, os.WriteFile(filepath.Join(dir, "sh"), []byte(script), 0o700))
	return []string{filepath.Join(dir, "sh")}, refuse
}

// TestShell has switches take the routes of one plan and of another, by a command for each, and give
// back what they held: routes that a lab has made, and no address of ours.
func TestShell(t *testing.T) {
	need.Heavy(t)
	t.Run("2", func(t *testing.T) { shells(t, small(t), small(t, "leaf0-spine1"), "leaf1") })
	t.Run("3", func(t *testing.T) {
		shells(t, trees(t, "FT(3;2,2,2)"), trees(t, "FT(3;2,2,2)", "pod1-spine0-top1"), "pod1-spine0")
	})
}

func trees(t *testing.T, notation string, down ...string) *topology.Tree {
	t.Helper()
	o := expect.Value(topology.Parse(notation))(t)
	tree, err := topology.New(o)
	for _, name := range down {
		dead, linkErr := tree.Links(name)
		expect.Must(t, errors.Join(err, linkErr))
		tree, err = tree.Without(dead...)
	}
	expect.Must(t, err)
	return tree
}

func shells(t *testing.T, tree, broken *topology.Tree, refuses string) {
	t.Helper()
	l, _ := start(t, newPlan(t, tree, routing.ECMP), 0)
	command, refuse := shellOf(t, l, &tree.Live)
	first, second := build(t, tree, plan.Options{Schedule: "fors"}), build(t, broken, plan.Options{Schedule: "fors"})
	s, dir := NewShell(command, first), t.TempDir()
	before, err := s.Before(t.Context(), first)
	expect.Must(t, err)
	same := func() {
		t.Helper()
		now := expect.Value(s.Before(t.Context(), first))(t)
		for name, x := range before.(former) {
			y := now.(former)[name]
			if out := lacking(x.Routes, y); len(out) > 0 || len(x.Routes) != len(y.Routes) || fmt.Sprint(x.Addresses) != fmt.Sprint(y.Addresses) {
				t.Errorf("%s: %d routes are missing, %d before, %d now, addresses %v now", name, len(out), len(x.Routes), len(y.Routes), y.Addresses)
			}
		}
	}
	i := companion.Installation{Switches: s, Kind: Kind, Dir: dir, Lends: true}
	for n, b := range []*Batch{first, first, second} {
		if changed, err := i.Install(t.Context(), b); err != nil || (changed > 0) != (n != 1) {
			t.Errorf("%d routes changed, %v", changed, err)
		}
	}
	expect.Must(t, os.WriteFile(refuse, []byte(refuses), 0o600))
	_, err = i.Install(t.Context(), first)
	if _, ok := errors.AsType[*companion.InstallError](err); !ok || !strings.Contains(err.Error(), refuses+" has not taken its table: ") || !strings.Contains(err.Error(), "the former tables are back") {
		t.Errorf("%v", err)
	}
	expect.Must(t, i.Undo(t.Context()))
	same()

	// Another process undoes what a third one has installed.
	i = companion.Installation{Switches: s, Kind: Kind, Dir: dir}
	_, err = i.Install(t.Context(), first)
	expect.Must(t, errors.Join(err, i.Close()))
	_, changed, err := companion.Undo(t.Context(), dir, func(f companion.Former) (companion.Switches, companion.Tables, error) {
		return Former(command, f.Files)
	})
	expect.False(t, err != nil || changed == 0, "%d routes changed, %v", changed, err)
	same()
}

func TestNormal(t *testing.T) {
	for line, want := range map[string]string{
		"default via 10.0.0.1 dev eth0 proto 16 src 10.0.0.5 metric 100 ": "0.0.0.0/0 dev eth0 metric 100 proto 16 src 10.0.0.5 via 10.0.0.1",
		"10.1.0.1 dev server0 proto 201 scope 253 linkdown ":              "10.1.0.1/32 dev server0 proto 201 scope 253",
		"10.1.0.1/32 proto 201 dev server0 scope link":                    "10.1.0.1/32 dev server0 proto 201 scope 253",
		"blackhole 10.9.0.0/16 proto 3":                                   "blackhole 10.9.0.0/16 proto 3",
		"10.2.0.0/24 proto 4 \\\tnexthop via 1.0.0.2 dev b weight 1 onlink \\\tnexthop via 1.0.0.1 dev a weight 3 dead linkdown ": "10.2.0.0/24 proto 4 nexthop dev a via 1.0.0.1 weight 3 nexthop dev b onlink via 1.0.0.2",
	} {
		if _, got := normal(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// A switch that cannot be reached is named before anything is done.
func TestShellUnreachable(t *testing.T) {
	b := build(t, small(t), plan.Options{Schedule: "fors"})
	dir := t.TempDir()
	i := companion.Installation{Switches: NewShell([]string{"false"}, b), Kind: Kind, Dir: dir}
	_, err := i.Install(t.Context(), b)
	if _, tried := errors.AsType[*companion.InstallError](err); tried || err == nil || !strings.HasPrefix(err.Error(), "routes of leaf0: ip -N -4 -o route show table main: false: exit status 1") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
