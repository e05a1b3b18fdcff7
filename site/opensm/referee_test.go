package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evbench/companion"
	"evbench/plan"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
	"evbench/topology"
)

// A referee is a running OpenSM with files in a directory.
type referee struct {
	live *ibtest.Live
	o    Manager
}

// judge starts OpenSM, with engine file and these routes, on a network.
func judge(t testing.TB, r *Routes, n *network.Network, args ...string) *referee {
	t.Helper()
	f := &referee{o: Manager{Dir: t.TempDir(), Wait: ibtest.Limit}}
	expect.Must(t, expect.Err(Files{Dir: f.o.Dir}.Put(t.Context(), r)))
	live, err := ibtest.Start(t.Context(), n, "file,no_fallback", nil,
		append([]string{"-U", filepath.Join(f.o.Dir, LFTsFile)}, args...)...)
	expect.Must(t, err)
	t.Cleanup(live.Close)
	f.live = live
	f.o.Process, f.o.LogFile = fmt.Sprint(live.PID()), live.LogFile()
	f.o.ReadBack = func(ctx context.Context, _ int) ([]byte, error) { return live.Program(ctx, "dump_fts").Output() }
	f.o.Master = func(ctx context.Context, _ int) ([]byte, error) {
		return live.Program(ctx, "sminfo", "-t", "1000").Output()
	}
	return f
}

func (f *referee) install(t *testing.T, r *Routes) {
	t.Helper()
	expect.Must(t, expect.Err(f.o.Install(t.Context(), r)))
}

// holds fails the test unless the switches hold these routes.
func (f *referee) holds(t *testing.T, r *Routes) {
	t.Helper()
	have, err := f.o.read(t.Context(), r.Tables)
	if err == nil {
		err = differ(r.Tables, have, false)
	}
	expect.OK(t, err)
}

// TestInstallAfterSweeps installs while OpenSM has not yet said what it has loaded before.
//
//gate:race
func TestInstallAfterSweeps(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	first, second := twoPlans(t)
	f := judge(t, first, networkOf(t, first.Plan.Tree.Wires, 1))
	for _, r := range []*Routes{second, first, second} {
		for range 3 {
			sm := expect.Value(f.o.process(0))(t)
			expect.Must(t, errors.Join(sm.Reload(), sm.Close()))
			if _, err := f.o.ReadBack(t.Context(), 1<<20); err != nil { // a sweep takes less
				t.Fatal(err)
			}
		}
		f.install(t, r)
		f.holds(t, r)
	}
}

var hop = regexp.MustCompile(`-> switch port \{(0x[0-9a-f]+)\}`)

// trace returns the switches on the way to a LID, by ibtracert.
func (f *referee) trace(t *testing.T, n *network.Network, from network.Node, lid int) []network.Node {
	t.Helper()
	out, err := f.live.Program(t.Context(), "ibtracert", fmt.Sprint(n.Info(from).LID), fmt.Sprint(lid)).CombinedOutput()
	if err != nil {
		t.Fatalf("ibtracert to %d: %v\n%s", lid, err, out)
	}
	var way []network.Node
	for _, m := range hop.FindAllSubmatch(out, -1) {
		v := expect.Value(network.Names(n).Node(string(m[1])))(t)
		way = append(way, v)
	}
	return way
}

// traces follows messages from some servers: they take the paths of the plan.
func (f *referee) traces(t *testing.T, r *Routes) {
	t.Helper()
	tree := r.Plan.Tree
	for _, dst := range []int{0, 13, tree.Servers() - 1} {
		for _, leaf := range []int{0, 2} {
			if tree.Leaf(dst) == leaf {
				continue
			}
			for src := tree.First(leaf); src < tree.First(leaf+1); src++ {
				way := f.trace(t, r.Net, r.places.Host[src], r.dlid(src, dst))
				want, at := []network.Node{r.places.Node(leaf)}, leaf
				for _, l := range tree.PathLinks(leaf, tree.Leaf(dst), r.Plan.Path(src, dst)) {
					low, high := tree.Ends(l)
					at = low.Switch + high.Switch - at
					want = append(want, r.places.Node(at))
				}
				expect.True(t, slices.Equal(way, want), "server %d to %d: %v, planned %v", src, dst, way, want)
			}
		}
	}
}

// TestOpenSMLoadsPlans has OpenSM load plans of every LMC over another, and reads
// and traces what the switches then hold.
//
//gate:weekly13
func TestOpenSMLoadsPlans(t *testing.T) {
	ibtest.Need(t)
	for _, c := range []struct {
		name, on  string
		down      []string
		objective schedules.Objective
		schedule  string
		least     int
		lmc       int
	}{
		{"healthy", "FT(2;4,8)", nil, schedules.FewestPaths, "fors", 0, 0},
		{"paths", "FT(2;4,8)", []string{"leaf0-spine0"}, schedules.FewestPaths, "fors", 0, 1},
		{"phases", "FT(2;4,8)", []string{"leaf0-spine0"}, schedules.FewestPhases, "fors", 0, 2},
		{"balanced", "FT(2;4,8)", []string{"leaf0-spine0", "leaf5-spine2"}, schedules.Balanced, "fors", 5, 5},
		{"pods", "FT(3;3,3,3)", []string{"pod1-spine0-top1", "leaf4-spine2"}, schedules.FewestPaths, "fors", 0, 0},
		{"cables", "PGFT(2;4,8;1,2;1,2)", []string{"leaf0-spine1/0"}, schedules.FewestPhases, "fors", 0, 3},
		{"one LID over cables", "PGFT(2;4,8;1,2;1,2)", []string{"leaf0-spine1/0"}, schedules.FewestPaths, "fors", 0, 0},
		{"minhop over cables", "PGFT(2;4,8;1,2;1,2)", []string{"leaf0-spine1/0"}, "", "linear-shift", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := treeOf(t, c.on, c.down...)
			options := plan.Options{Schedule: c.schedule, Objective: c.objective, Routing: "pinned"}
			if c.objective == "" {
				options.Routing = engines.OpenSMMinHop
			}
			p := build(t, tree, options)
			r := compute(t, p, networkOf(t, tree.Wires, c.lmc), c.least)
			expect.MustFalse(t, r.lmc != c.lmc || !r.kept, "LMC %d, LIDs kept %v; want %d, true", r.lmc, r.kept, c.lmc)
			other := compute(t, build(t, tree, plan.Options{Schedule: "linear-shift", Routing: "ftree"}), r.Net, c.lmc)
			f := judge(t, other, r.Net)
			f.holds(t, other)
			f.install(t, r)
			f.holds(t, r)
			f.traces(t, r)
		})
	}
}

// TestOpenSMFollowsAPlan pulls a cable, plans anew and installs that.
//
//gate:debian13
func TestOpenSMFollowsAPlan(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	tree := treeOf(t, "FT(2;4,8)")
	n := networkOf(t, tree.Wires, 2)
	options := plan.Options{Schedule: "fors"}
	before := compute(t, build(t, tree, options), n, 2)
	f := judge(t, before, n)
	f.traces(t, before)

	expect.Must(t, f.live.Unlink(network.End{Node: before.places.Node(0), Port: before.places.Up(topology.Link{Leaf: 0, Spine: 0})}))
	after := compute(t, build(t, treeOf(t, "FT(2;4,8)", "leaf0-spine0"), options), n, 2)
	f.install(t, after)
	f.holds(t, after)
	f.traces(t, after)

	// The cable comes back, and so does the first plan.
	expect.Must(t, f.live.Forget())
	expect.Must(t, f.live.Relink(network.End{Node: before.places.Node(0), Port: before.places.Up(topology.Link{Leaf: 0, Spine: 0})}))
	f.install(t, before)
	f.holds(t, before)
}

// wrong are the ports of LID 16, which is a server of leaf 1.
var wrong = regexp.MustCompile(`(?m)^(0x0010 00)[1-6]`)

// TestOpenSMRestores has the tables read back differ: the earlier ones come back,
// into the files and into the switches.
//
//gate:weekly13
func TestOpenSMRestores(t *testing.T) {
	ibtest.Need(t)
	t.Parallel()
	tree := treeOf(t, "FT(2;4,8)")
	n := networkOf(t, tree.Wires, 1)
	first := compute(t, build(t, tree, plan.Options{Schedule: "linear-shift"}), n, 1)
	second := compute(t, build(t, treeOf(t, "FT(2;4,8)", "leaf1-spine2"), plan.Options{Schedule: "fors", Objective: schedules.FewestPaths}), n, 1)
	f := judge(t, first, n)
	held, err := os.ReadFile(filepath.Join(f.o.Dir, LFTsFile))
	expect.Must(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	o := f.o
	o.ReadBack = func(ctx context.Context, most int) ([]byte, error) {
		out, err := f.o.ReadBack(ctx, most)
		if now, _ := os.ReadFile(filepath.Join(o.Dir, LFTsFile)); bytes.Equal(now, held) {
			return out, err
		}
		cancel(errors.New("seen enough"))
		return wrong.ReplaceAll(out, []byte("${1}7")), err
	}
	_, err = o.Install(ctx, second)
	if _, ok := errors.AsType[*companion.InstallError](err); !ok || !strings.Contains(err.Error(), "differ in") || !strings.Contains(err.Error(), "the former tables are back") {
		t.Fatalf("%v", err)
	}
	now, err := os.ReadFile(filepath.Join(f.o.Dir, LFTsFile))
	expect.False(t, err != nil || !bytes.Equal(now, held), "the file is not the earlier one: %v", err)
	f.holds(t, first)

	o = f.o
	o.Dir = t.TempDir()
	expect.Error(t, expect.Err(o.Install(t.Context(), second)), "reads its tables from "+filepath.Join(f.o.Dir, LFTsFile)+", not from "+o.Dir)
	f.holds(t, first)
}
