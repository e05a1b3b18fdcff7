package plan_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// Every routing on whole, wide, partly filled and broken trees. The closed forms
// say where they end.
func TestEveryRoutingIsJudged(t *testing.T) {
	for _, tr := range []*topology.Tree{
		topologytest.Tree(t, ft44),
		topologytest.Tree(t, ft44, "leaf0-spine0"),
		topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 8}, "leaf0-spine0", "leaf3-spine2", "spine3"),
		topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 4, Spines: 3}, "leaf3-spine2"),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 3, Spines: 2}),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5, Fill: []int{3, 3, 0, 3, 1}}),
		topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 5, Fill: []int{1, 3, 2, 3, 0}}, "leaf1-spine1", "leaf4-spine0"),
	} {
		for _, name := range plan.Routings(engines.Trees()) {
			p, err := plan.Build(tr, plan.Options{Engines: engines.Trees(), Schedule: "linear-shift", Routing: name})
			switch {
			case !tr.Full() && (name == "dmodk" || name == "qft"), len(tr.Dead()) > 0 && name == "dmodk":
				expect.Error(t, err, "engine "+name)
				continue
			case err != nil && name == routing.Pinned: // a phase of a linear shift may have no routing
				continue
			case err != nil:
				t.Errorf("%s down %v: %v", tr.Notation(), tr.DownNames(), err)
				continue
			}
			judged(t, p)
		}
	}
}

// tableEngines are the routings with one path for each destination.
func tableEngines() []string {
	return slices.DeleteFunc(plan.Routings(engines.Trees()), func(n string) bool {
		return n == routing.ECMP || routing.PerPacket(n) || n == routing.Pinned || n == plan.NoRouting
	})
}

// On broken trees the tables of every engine join exactly the servers whose leaves
// share a live spine; those of the closed form of whole trees are refused. A walk
// between all pairs decides. Half of the trees are cut apart.
func TestTablesJoinAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 60 {
		o := topology.Options{Ports: 1 + rng.IntN(4), Leaves: 2 + rng.IntN(5), Spines: 1 + rng.IntN(5)}
		tr := topologytest.Tree(t, o)
		for l := range tr.Leaves() {
			for k := range tr.Spines() {
				if rng.IntN(3) == 0 {
					tr, _ = tr.Without(topology.Link{Leaf: l, Spine: k})
				}
			}
		}
		for _, name := range tableEngines() {
			tables, err := plan.Tables(engines.Trees(), tr, name)
			switch {
			case err == nil:
				joined(t, &tr.Live, tables)
			case name == "dmodk" && len(tr.Dead()) > 0:
			case strings.Contains(err.Error(), "no root switches") && !anySpine(&tr.Live):
			default:
				t.Errorf("%s on %s down %v: %v", name, tr.Notation(), tr.DownNames(), err)
			}
		}
	}
}

// TestTablesHoldOnePath: where senders choose no paths, tables by destination send each message
// the way that the plan has for it, on two and three levels and over parallel cables.
func TestTablesHoldOnePath(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	for i := range 90 {
		tr := topologytest.Tree(t, topology.Options{Ports: 1 + rng.IntN(5), Leaves: 2 + rng.IntN(5)})
		switch i % 3 {
		case 1:
			tr = brokenPods(t, rng, 0.2)
		case 2:
			tr = topologytest.Cables(t, rng, 5, 5, 3)
		}
		if dead, err := tr.Random(rng.IntN(3), rng.Uint64()); err == nil {
			tr, _ = tr.Without(dead...)
		}
		if tr.Connected() != nil {
			continue
		}
		o := plan.Options{Engines: engines.Trees(), Schedule: schedules.FORS, Objective: schedules.FewestPaths, OnePath: true, Seed: rng.Uint64()}
		p := expect.Value(plan.Build(tr, o))(t)
		for m := range p.Schedule.All() {
			path, ok := p.Tables.PathOf(m.Src, m.Dst)
			want := p.Path(m.Src, m.Dst)
			expect.MustFalse(t, tr.Leaf(m.Src) != tr.Leaf(m.Dst) && (!ok || path != want),
				"%s down %v: %d to %d takes path %d, want %d", tr.Notation(), tr.DownNames(), m.Src, m.Dst, path, want)
			expect.OK(t, p.Tables.Walk(m.Src, m.Dst))
		}
		for _, s := range p.Row(0) {
			expect.MustTrue(t, s.ToSpine == scheduler.None && s.FromSpine == scheduler.None, "%s: rank 0 is told spines: %+v", tr.Notation(), s)
		}
	}
}

func TestOnePathRefuses(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "leaf0-spine0")
	for _, o := range []plan.Options{{Schedule: schedules.FORS}, {Schedule: schedules.RepairPrefix + schedules.LinearShift}} {
		o.OnePath = true
		_, err := plan.Build(tr, o)
		expect.Error(t, err, "the plan needs several paths from leaf", "write schedule: fors, objective: paths")
	}
	p, err := plan.Build(tr, plan.Options{Engines: engines.Trees(), Schedule: schedules.LinearShift, OnePath: true})
	expect.True(t, err == nil && !p.OnePath, "tables choose, and one path is asked for: %v, %v", p, err)
}

// anySpine reports whether a spine joins any two leaves.
func anySpine(tr *topology.Live) bool {
	return len(tr.Unreachable()) < tr.Leaves()*(tr.Leaves()-1)/2
}

func joined(t *testing.T, tr *topology.Live, tables *routing.Tables) {
	t.Helper()
	for src := range tr.Servers() {
		for dst := range tr.Servers() {
			a, b := tr.Leaf(src), tr.Leaf(dst)
			err := tables.Walk(src, dst)
			common := a == b || len(tr.CommonSpines(a, b)) > 0
			expect.True(t, common == (err == nil), "%s on %s down %v: joined %v: %v", tables.Engine, tr.Notation(), tr.DownNames(), common, err)
		}
	}
}
