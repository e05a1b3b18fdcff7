package inject

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/site/opensm"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/testing/need"
	"evbench/topology"
)

// subnet is a tree of two leaves and two spines with LIDs, and its text as
// ibnetdiscover writes it.
func subnet(t *testing.T) (tree *topology.Tree, n *network.Network, file string) {
	t.Helper()
	o, err := topology.Parse("FT(2;2,2)")
	expect.Must(t, err)
	if tree, err = topology.New(o); err != nil {
		t.Fatal(err)
	}
	if n, err = opensm.Network(tree.Shape, 0); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "fabric.txt")
	write(t, file, n)
	return tree, n, file
}

func write(t *testing.T, file string, n *network.Network) {
	t.Helper()
	f := expect.Value(os.Create(file))(t)
	expect.Must(t, errors.Join(netfile.WriteIB(f, n), f.Close()))
}

func TestPortStates(t *testing.T) {
	tree, n, file := subnet(t)
	o := Options{Kind: kindIBPortState, Fabric: file, Journal: "j", Tree: tree}
	line := func(o Options, l topology.Link) string {
		t.Helper()
		find := expect.Value(newRecipes(o))(t)
		r := expect.Value(find(l))(t)
		var all []string
		for _, p := range append([]Program{r.down, r.Up}, r.Probe...) {
			all = append(all, strings.Join(p.Args, " "))
		}
		return strings.Join(all, "; ")
	}
	leaf, spine := n.Info(n.Switch(1)).LID, n.Info(n.Switch(2)).LID // leaf1, spine0
	want := fmt.Sprintf("ibportstate %d 3 disable; ibportstate %d 3 enable; ibportstate %d 2 query; ibportstate %d 3 query", leaf, leaf, spine, leaf)
	expect.Equal(t, line(o, topology.Link{Leaf: 1, Spine: 0}), want, "line")
	o.Host = "head"
	got := line(o, topology.Link{Leaf: 1, Spine: 0})
	expect.True(t, strings.HasPrefix(got, fmt.Sprintf("ssh -o BatchMode=yes head -- ibportstate %d 3 disable; ", leaf)), "by ssh: %s", got)
}

func TestPortStatesRefuses(t *testing.T) {
	tree, n, file := subnet(t)
	l := topology.Link{Leaf: 0, Spine: 1}
	refuses := func(o Options, want string) {
		t.Helper()
		find, err := newRecipes(o)
		if err == nil {
			_, err = find(l)
		}
		expect.Error(t, err, want)
	}
	o := Options{Kind: kindIBPortState, Fabric: file, Journal: "j", Tree: tree}
	missing := o
	missing.Fabric += ".not"
	refuses(missing, "inject.fabric: open ")
	none := o
	none.Tree = nil
	refuses(none, "needs the topology")

	cut := n.Without([]network.Cable{{A: network.End{Node: n.Switch(0), Port: 4}, B: network.End{Node: n.Switch(3), Port: 1}}}, nil)
	write(t, file, cut)
	refuses(o, "leaf0-spine1: no such cable in "+file)
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
		info[v].LID = 0
	}
	write(t, file, n.WithInfo(info))
	refuses(o, "has no LID in "+file)
	expect.Must(t, os.WriteFile(file, []byte("nonsense\n"), 0o600))
	refuses(o, "line 1: ")
}

// The real ibportstate disables and enables a port of a simulated network. The
// simulator stores what a port was told, but does not act as a cable would: here
// it is pulled when the port has been disabled, and trains again once it has been
// enabled. The subnet manager routes around it by itself.
func TestIBPortState(t *testing.T) {
	need.Heavy(t)
	ibtest.Need(t)
	t.Parallel()
	tree, n, file := subnet(t)
	sim := expect.Value(ibtest.Start(t.Context(), n, "minhop", nil))(t)
	defer sim.Close()
	dir := t.TempDir()
	told := filepath.Join(dir, "told")
	expect.Must(t, syscall.Mkfifo(told, 0o600))
	o := Options{
		Kind: kindIBPortState, Fabric: file, Tree: tree, program: simulated(t, sim, dir, told),
		Journal: filepath.Join(dir, "journal"), Timeout: time.Minute,
	}
	i := open(t, o)
	// This one carries what the subnet manager's host says to leaf1, and its
	// answers.
	links := []topology.Link{{Leaf: 1, Spine: 0}}
	port := network.End{Node: n.Switch(1), Port: 3}
	for _, step := range []struct {
		name     string
		do       func() error
		hardware func(network.End) error
		want     linkState
	}{
		{"at first", func() error { return i.Check(t.Context(), links) }, nil, linkUp},
		{"down", func() error { return i.Down(t.Context(), links) }, sim.Unlink, linkDown},
		{"up", func() error { return i.Up(t.Context(), links) }, sim.Relink, linkUp},
	} {
		followed := make(chan error, 1)
		if step.hardware == nil {
			followed <- nil
		} else {
			go func() {
				_, err := os.ReadFile(told)
				followed <- errors.Join(err, step.hardware(port))
			}()
		}
		expect.Must(t, step.do(), "%s", step.name) // otherwise nothing is told
		expect.Must(t, <-followed, "%s", step.name)
		if s, err := probed(t, i, links[0]); s != step.want || err != nil {
			t.Errorf("%s: %s is %s, %v", step.name, links[0], s, err)
		}
	}
	closed(t, i, o.Journal)
}

// simulated writes a program that is ibportstate in a simulated network, and says
// in a pipe that it has told a port something.
func simulated(t *testing.T, sim *ibtest.Live, dir, told string) string {
	t.Helper()
	cmd := sim.Program(t.Context(), "ibportstate")
	var b strings.Builder
	fmt.Fprintln(&b, "#!/bin/sh")
	for _, v := range cmd.Env {
		if name, value, _ := strings.Cut(v, "="); name == "IBSIM_SOCKNAME" || name == "SIM_HOST" {
			fmt.Fprintf(&b, "export %s='%s'\n", name, value)
		}
	}
	fmt.Fprintf(&b, "%s %s \"$@\"; code=$?\n", cmd.Path, cmd.Args[1])
	fmt.Fprintf(&b, "test \"$3\" = query || { mkdir '%s/'\"$3\" && echo > '%s'; }\nexit $code\n", dir, told)
	name := filepath.Join(dir, "ibportstate")
	expect.Must(t, os.WriteFile(name, []byte(b.String()), 0o700))
	return name
}
