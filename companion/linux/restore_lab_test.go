package linux

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// A kernels is a lab whose nodes are reached by a shell, with routes of its own by ecmp.
type kernels struct {
	t      *testing.T
	lab    *lab.Lab
	tree   *topology.Tree
	shell  *Shell
	plan   *Batch
	before former
	puts   companion.Installation

	mu   sync.Mutex
	said []string
}

func newKernels(t *testing.T, tree *topology.Tree) *kernels {
	k := &kernels{t: t, tree: tree, plan: build(t, tree, plan.Options{Schedule: "fors"})}
	k.lab, _ = start(t, newPlan(t, tree, routing.ECMP), 0)
	command, _ := shellOf(t, k.lab, &tree.Live)
	k.shell = NewShell(command, k.plan)
	k.shell.Say = func(what string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.said = append(k.said, what)
	}
	k.before = k.held()
	k.puts = companion.Installation{Switches: k.shell, Kind: Kind, Dir: t.TempDir(), Lends: true}
	return k
}

func (k *kernels) held() former {
	k.t.Helper()
	return expect.Value(k.shell.Before(k.t.Context(), nil))(k.t).(former)
}

// mark makes a node what shellOf says of the ending of a file, or no longer.
func (k *kernels) mark(node, ending string, is bool) {
	k.t.Helper()
	name := filepath.Join(filepath.Dir(k.shell.Command[0]), node+ending)
	if is {
		expect.Must(k.t, os.WriteFile(name, nil, 0o600))
	} else {
		expect.Must(k.t, os.Remove(name))
	}
}

func (k *kernels) install() {
	k.t.Helper()
	expect.Must(k.t, expect.Err(k.puts.Install(k.t.Context(), k.plan)))
}

// has checks which switches have their former routes, and no others of evbench; the rest have those of the plan.
func (k *kernels) has(not ...string) {
	k.t.Helper()
	for name, now := range k.held() {
		_, want := k.plan.change(name, now)
		if !slices.Contains(not, name) {
			want = k.before[name].Routes
		}
		expect.OK(k.t, takes(name, want, now))
	}
}

// recorded checks which switches are still to be restored, according to the record.
func (k *kernels) recorded(names ...string) {
	k.t.Helper()
	text, err := os.ReadFile(filepath.Join(k.puts.Dir, companion.FormerFile))
	if len(names) == 0 {
		expect.Is(k.t, err, os.ErrNotExist)
		return
	}
	expect.Must(k.t, err)
	for n := range k.tree.Switches() {
		name := k.tree.SwitchName(n)
		is := strings.Contains(string(text), fmt.Sprintf("{\"name\":%q", name))
		expect.True(k.t, is == slices.Contains(names, name), "%s is in the record: %v", name, is)
	}
}

func (k *kernels) undo(givenUp ...string) error {
	_, _, err := companion.Undo(k.t.Context(), k.puts.Dir, func(f companion.Former) (companion.Switches, companion.Tables, error) {
		return Former(k.shell.Command, f.Files, givenUp...)
	})
	return err
}

// TestUndoWithoutSome: all switches that answer get their former routes; those that do not are named, are
// left in the record and get theirs later; one that is gone for ever is given up.
func TestUndoWithoutSome(t *testing.T) {
	k := newKernels(t, newTree(t, 2, 2))
	k.install()
	k.has("leaf0", "leaf1", "spine0", "spine1")
	for _, node := range []string{"leaf0", "spine0", "spine1"} {
		k.mark(node, ".away", true)
	}
	expect.Error(t, k.puts.Undo(t.Context()), "THE FORMER TABLES ARE NOT RESTORED (evbench routes undo "+k.puts.Dir+"): not on leaf0, spine0, spine1: ", "no route to leaf0")
	k.recorded("leaf0", "spine0", "spine1")
	k.mark("leaf0", ".away", false)
	expect.Error(t, k.puts.Undo(t.Context()), "not on spine0, spine1: ", "no route to spine0")
	k.recorded("spine0", "spine1")
	expect.Must(t, k.puts.Close())

	k.mark("spine1", ".away", false)
	expect.Error(t, k.undo(), "not on spine0: ")
	k.recorded("spine0")
	expect.Error(t, k.undo("spine1"), "no switch spine1 is to be restored; there are spine0")
	k.recorded("spine0")
	expect.Must(t, k.undo("spine0"))
	k.recorded()
	k.mark("spine0", ".away", false)
	k.has("spine0")
}

// TestRollBackWithoutSome: a switch is lost while routes are installed; all others get their former ones.
func TestRollBackWithoutSome(t *testing.T) {
	k := newKernels(t, newTree(t, 2, 2))
	expect.Must(t, k.puts.Check(t.Context(), k.plan))
	k.mark("leaf1", ".dies", true)
	_, err := k.puts.Install(t.Context(), k.plan)
	expect.Error(t, err, "THE FORMER TABLES ARE NOT RESTORED: not on leaf1: ", "no route to leaf1")
	k.mark("leaf1", ".away", false)
	k.has()
	expect.Must(t, k.puts.Undo(t.Context()))
	k.recorded()
	k.unmarked()
}

// unmarked checks that no switch is left with a mark.
func (k *kernels) unmarked() {
	k.t.Helper()
	for name, now := range k.held() {
		expect.True(k.t, len(now.marks) == 0, "%s is left with the marks %v", name, now.marks)
	}
}

// TestFrozen: a switch that takes a command and never answers ends the waiting at the limit.
func TestFrozen(t *testing.T) {
	k := newKernels(t, newTree(t, 2, 2))
	k.mark("leaf1", ".frozen", true)
	k.shell.Limit = time.Second
	expect.Error(t, expect.Err(k.puts.Install(t.Context(), k.plan)), "not within 1s")
	k.recorded()
}

// TestUndoOverADeadLink: a link dies while evbench's routes are there. What the kernel would have lost without
// evbench, too, is said, and all else is as before.
func TestUndoOverADeadLink(t *testing.T) {
	k := newKernels(t, newTree(t, 2, 2))
	k.install()
	expect.Must(t, k.lab.SetLinks(t.Context(), []topology.Link{{Leaf: 0, Spine: 1}}, false))
	expect.Must(t, k.puts.Undo(t.Context()))
	k.recorded()
	now, shared := k.held(), 0
	for name, was := range k.before {
		for prefix, words := range was.Routes {
			want := words
			switch {
			case name == "leaf0" && strings.Contains(words, "nexthop"):
				want = alive(words, map[string]bool{"spine0": true})
				shared++
			case name == "leaf0" && strings.Contains(words, "dev spine1"): // at the other end it is up, without a carrier
				want = ""
			}
			expect.Equal(t, now[name].Routes[prefix], want, "%s, %s", name, prefix)
		}
		expect.True(t, len(now[name].Routes) <= len(was.Routes), "%s holds %v", name, slices.Collect(maps.Values(now[name].Routes)))
	}
	expect.True(t, shared > 0, "no route has several hops")
	expect.True(t, len(k.said) == 1 && strings.Contains(k.said[0], "leaf0: 3 former routes lead through an interface that is down"), "%q", k.said)
	expect.Must(t, k.puts.Check(t.Context(), k.plan)) // the next run is not refused
	expect.Must(t, k.puts.Close())
}

// TestAnotherEvbench: whoever has the switches keeps others out, from whatever directory; routes that were left there, or
// changed by hand, are named.
func TestAnotherEvbench(t *testing.T) {
	need.Heavy(t)
	k := newKernels(t, newTree(t, 2, 2))
	k.install()
	of := func(lends bool) *companion.Installation {
		s := NewShell(k.shell.Command, k.plan)
		s.mark = "255.0.0.1/32" // the greater one, which leaves at once
		return &companion.Installation{Switches: s, Kind: Kind, Dir: t.TempDir(), Lends: lends}
	}
	const inUse = "leaf0 is in use by another evbench, which has marked it by the route 2"
	for _, other := range []*companion.Installation{of(true), of(false)} {
		for _, err := range []error{other.Check(t.Context(), k.plan), expect.Err(other.Install(t.Context(), k.plan))} {
			expect.Error(t, err, inUse)
		}
	}
	k.has("leaf0", "leaf1", "spine0", "spine1")
	other := build(t, newTree(t, 2, 2, topology.Link{Leaf: 0, Spine: 1}), plan.Options{Schedule: "fors"})
	expect.Must(t, expect.Err(NewShell(k.shell.Command, other).Put(t.Context(), other)))
	expect.Error(t, expect.Err(k.puts.Install(t.Context(), k.plan)), "holds routes of another evbench, which has changed them meanwhile")
	expect.Must(t, k.puts.Undo(t.Context()))
	k.has()
	stays := of(false)
	expect.Must(t, errors.Join(expect.Err(stays.Install(t.Context(), k.plan)), stays.Close()))
	expect.Error(t, of(true).Check(t.Context(), k.plan), "leaf0 holds routes of evbench that were not installed from this directory")
}

// TestTwoAtOnce: of two that install at once one has the switches, and the other changes nothing.
func TestTwoAtOnce(t *testing.T) {
	need.Heavy(t)
	k := newKernels(t, newTree(t, 2, 2))
	for range 3 {
		var two [2]*companion.Installation
		var errs [2]error
		var all sync.WaitGroup
		for i := range two {
			two[i] = &companion.Installation{Switches: NewShell(k.shell.Command, k.plan), Kind: Kind, Dir: t.TempDir(), Lends: true}
			all.Go(func() { _, errs[i] = two[i].Install(t.Context(), k.plan) })
		}
		all.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		expect.OK(t, errs[won])
		expect.Error(t, errs[1-won], "is in use by another evbench")
		k.has("leaf0", "leaf1", "spine0", "spine1")
		expect.Must(t, two[won].Undo(t.Context()))
		k.has()
		k.unmarked()
	}
}

// TestKilledOwner: the mark of a process that was killed keeps others out until its routes are undone.
func TestKilledOwner(t *testing.T) {
	need.Heavy(t)
	k := newKernels(t, newTree(t, 2, 2))
	killed := &companion.Installation{Switches: NewShell(k.shell.Command, k.plan), Kind: Kind, Dir: t.TempDir(), Lends: true}
	expect.Must(t, expect.Err(killed.Install(t.Context(), k.plan)))
	name := filepath.Join(killed.Dir, companion.FormerFile)
	left, dir := expect.Value(os.ReadFile(name))(t), t.TempDir()
	expect.Must(t, os.WriteFile(filepath.Join(dir, companion.FormerFile), left, 0o600))
	expect.Error(t, expect.Err(k.puts.Install(t.Context(), k.plan)), "in use by another evbench")
	expect.Must(t, expect.Err2(companion.Undo(t.Context(), dir, func(f companion.Former) (companion.Switches, companion.Tables, error) {
		return Former(k.shell.Command, f.Files)
	})))
	k.has()
	k.unmarked()
}
