package scheduler_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/topology"
)

// above returns the link between a pod and a top switch.
func above(pod, spine, top int) topology.Link {
	return topology.Link{Leaf: pod, Spine: spine, Above: true, Top: top}
}

// deadOf returns the tree with that many random dead links of leaves and of top
// switches, or nil when it is not connected.
func deadOf(t testing.TB, p *topology.Tree, low, tops int, rng *rand.Rand) *topology.Tree {
	t.Helper()
	planes, perPlane := p.Spines(), p.Tops()
	var links []topology.Link
	for _, id := range rng.Perm(p.Leaves() * planes)[:low] {
		links = append(links, topology.Link{Leaf: id / planes, Spine: id % planes})
	}
	for _, id := range rng.Perm(p.Pods() * planes * perPlane)[:tops] {
		k := id / perPlane
		links = append(links, above(k/planes, k%planes, id%perPlane))
	}
	v := expect.Value(p.Without(links...))(t)
	if v.Connected() != nil {
		return nil
	}
	return v
}

// randomPods returns a connected three-level tree of at most that many servers
// with dead links on neither level, the lower, the upper or both. Odd ones have
// random fills, planes and top switches.
func randomPods(t testing.TB, rng *rand.Rand, kind, most int, odd bool) *topology.Tree {
	for {
		o := topology.Options{Ports: 1 + rng.IntN(8), Pods: 1 + rng.IntN(8)}
		o.Leaves = o.Pods * (1 + rng.IntN(8))
		if n := o.Ports * o.Leaves; n < 8 || n > most {
			continue
		}
		if odd {
			o.Spines, o.Tops = 1+rng.IntN(o.Ports+2), 1+rng.IntN(o.Leaves/o.Pods+2)
			for range o.Leaves {
				o.Fill = append(o.Fill, rng.IntN(o.Ports+1))
			}
		}
		p, err := topology.New(o)
		if err != nil {
			continue
		}
		low, tops := p.Leaves()*p.Spines(), p.Pods()*p.Spines()*p.Tops()
		share := rng.Float64() * 0.25
		dead := func(n, bit int) int {
			if kind&bit == 0 {
				return 0
			}
			return 1 + int(float64(n-1)*share)
		}
		if p = deadOf(t, p, dead(low, 1), dead(tops, 2), rng); p != nil {
			return p
		}
	}
}

// planPods returns the schedule after checking it and the witness of its bound.
func planPods(t testing.TB, p *topology.Tree, o scheduler.Options) (*scheduler.Schedule, scheduler.Bound) {
	t.Helper()
	s, b, err := scheduler.FORS(p, o)
	if err != nil {
		t.Fatalf("%s, fill %v, down %v: %v", p.Notation(), p.Fill(), p.DownNames(), err)
	}
	passes(t, p, s)
	if got := proven(&p.Live, b); s.Phases < b.Phases || got != b.Phases || !s.Pinned {
		t.Fatalf("%s, fill %v, down %v: %d phases, bound %d by %v, which proves %d",
			p.Notation(), p.Fill(), p.DownNames(), s.Phases, b.Phases, b, got)
	}
	return s, b
}

var kinds = []string{"no dead links", "dead links of leaves", "dead links of top switches", "dead links of both"}

// TestPodsRandom plans random trees of 8 to 512 servers of every kind, as
// they are and with random fills, planes and top switches.
func TestPodsRandom(t *testing.T) {
	t.Parallel()
	for _, odd := range []bool{false, true} {
		for kind, name := range kinds {
			rng := rand.New(rand.NewPCG(uint64(kind), 1))
			var gaps []float64
			for i := range expect.Samples(podCases, 5) {
				most := 128
				if i%8 == 0 && (kind == 0 || expect.All()) {
					most = 512
				}
				s, b := planPods(t, randomPods(t, rng, kind, most, odd), scheduler.Options{Seed: uint64(i)})
				gaps = append(gaps, 100*float64(s.Phases-b.Phases)/float64(b.Phases))
				if testing.Verbose() && gaps[i] > 3 {
					t.Logf("%d over %d by %v", s.Phases, b.Phases, b)
				}
			}
			slices.Sort(gaps)
			t.Logf("%s, odd %v: %d trees, %d above the bound, median %.2f %%, worst %.2f %%",
				name, odd, len(gaps), len(gaps)-countPods(gaps, 0), gaps[len(gaps)/2], gaps[len(gaps)-1])
			if gaps[len(gaps)/2] > 5 {
				t.Errorf("%s: median %.1f %% above the bound", name, gaps[len(gaps)/2])
			}
		}
	}
}

const podCases = 19

func countPods(s []float64, v float64) int {
	n := 0
	for _, x := range s {
		if x == v {
			n++
		}
	}
	return n
}

// TestPodsHealthy plans trees without failures in S-1 phases, and pins other
// schedules on them in the phases they have.
func TestPodsHealthy(t *testing.T) {
	t.Parallel()
	for m0 := 1; m0 <= 4; m0++ {
		for m1 := 1; m1 <= 4; m1++ {
			for m2 := 1; m2 <= 4; m2++ {
				if m0*m1*m2 < 2 {
					continue
				}
				p := tree(t, topology.Options{Ports: m0, Leaves: m1 * m2, Pods: m2})
				s, b := planPods(t, p, scheduler.Options{})
				expect.False(t, s.Phases != m0*m1*m2-1 || b.String() != "server", "%s: %d phases, bound by %v", p.Notation(), s.Phases, b)
				for _, name := range []string{"linear-shift", "linear-shift-ports", "xor", "bandwidth-optimal", "fors"} {
					s, _, err := scheduler.ByName(name, p, scheduler.Options{})
					if err != nil {
						expect.True(t, name == "xor", "%v", err)
						continue
					}
					passes(t, p, s)
					pin(t, p, s, scheduler.Options{})
				}
			}
		}
	}
}

// TestPodsPinDead pins the phases of schedules that are known to fit: those of
// fors on the same tree. Some are so full that the search misses them.
func TestPodsPinDead(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 1))
	failed := 0
	for range pinCases {
		p := randomPods(t, rng, 3, 96, false)
		s, _ := planPods(t, p, scheduler.Options{})
		out, err := scheduler.Pin(s, p, scheduler.Options{})
		if err != nil {
			failed++
			continue
		}
		passes(t, p, out)
	}
	if t.Logf("%d of %d schedules that fit were not pinned", failed, pinCases); failed > pinCases/8 {
		t.Errorf("%d of %d schedules that fit were not pinned", failed, pinCases)
	}
}

const pinCases = 24

// TestPodsKnown has a few dead links and what they cost.
func TestPodsKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		notation string
		fill     []int
		down     []string
		phases   int
		bound    string
	}{
		{"one link of a leaf", "FT(3;4,4,4)", nil, []string{"leaf5-spine2"}, 80, "leaf5"},
		{"one link of a top switch costs nothing", "FT(3;4,4,4)", nil, []string{"pod1-spine2-top3"}, 63, "server"},
		{"two top switches", "FT(3;4,4,4)", nil, []string{"spine0-top0", "spine3-top1"}, 63, "server"},
		{"half the links of a pod", "FT(3;2,2,2)", nil, []string{"pod0-spine0-top0", "pod0-spine1-top1"}, 8, "pod0"},
		{"a middle switch", "FT(3;4,4,4)", nil, []string{"pod1-spine2"}, 80, "leaf4"},
		{"a plane", "FT(3;4,4,4)", nil, []string{"spine1"}, 80, "leaf0"},
		{"half the top switches", "PGFT(3;4,4,4;1,4,2;1,1,1)", nil, nil, 96, "pod0"},
		{"missing servers make up for a dead link", "FT(3;4,2,3)", []int{3, 3, 3, 3, 3, 3}, []string{"leaf0-spine0"}, 17, "server"},
		{"no top switch in common on a plane", "FT(3;2,2,2)", nil, []string{"pod0-spine0-top0", "pod1-spine0-top1"}, 8, "lp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := expect.Value(topology.Parse(tt.notation))(t)
			o.Fill = tt.fill
			p := tree(t, o)
			for _, name := range tt.down {
				links := expect.Value(p.Links(name))(t)
				p, _ = p.Without(links...)
			}
			s, b := planPods(t, p, scheduler.Options{})
			expect.True(t, s.Phases == tt.phases && b.Phases == tt.phases && b.String() == tt.bound,
				"%d phases, bound %d by %v, want %d by %s", s.Phases, b.Phases, b, tt.phases, tt.bound)
			again := scheduler.LowerBound(p, scheduler.Options{})
			expect.True(t, again.Phases == b.Phases, "LowerBound gives %d by %v, FORS %d by %v", again.Phases, again, b.Phases, b)
		})
	}
}

// TestPodsLarge plans 512 servers with dead links of both levels.
func TestPodsLarge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		p := deadOf(t, tree(t, topology.Options{Ports: 8, Leaves: 64, Pods: 8}), 6, 6, rand.New(rand.NewPCG(seed, 2)))
		s, b := planPods(t, p, scheduler.Options{})
		expect.True(t, s.Phases <= b.Phases+b.Phases/20, "%d phases, bound %d", s.Phases, b.Phases)
	}
}

func TestPodsRefuses(t *testing.T) {
	t.Parallel()
	whole := tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	cut := expect.Value(whole.Without(topology.Link{Leaf: 0, Spine: 0}, above(0, 1, 0), above(1, 1, 1)))(t)
	for _, name := range []string{"fors", "repair:linear-shift"} {
		_, _, err := scheduler.ByName(name, cut, scheduler.Options{})
		var u *topology.UnreachableError
		expect.True(t, errors.As(err, &u) && u.A == 0 && u.B == 2, "%s, leaf0 and leaf2 cut apart: error %v", name, err)
		s, _, err := scheduler.ByName(name, cut, dropping)
		expect.Must(t, err)
		passes(t, cut, s)
		if s.Meets(0, 4) || !s.Meets(2, 4) {
			t.Errorf("%s: server0 sends to server4 %v, server2 %v", name, s.Meets(0, 4), s.Meets(2, 4))
		}
	}
	alone := expect.Value(tree(t, topology.Options{Ports: 1, Leaves: 2, Pods: 2}).Without(above(0, 0, 0)))(t)
	for _, name := range []string{"fors", "linear-shift", "repair:linear-shift"} {
		if _, _, err := scheduler.ByName(name, alone, dropping); err == nil || err.Error() != "no two servers can reach each other: there is no message to plan" {
			t.Errorf("%s without a message: error %v", name, err)
		}
	}
	huge := tree(t, topology.Options{Ports: 20, Leaves: 4000, Pods: 1000, Tops: 1})
	for _, tt := range []struct {
		name string
		p    *topology.Tree
		o    scheduler.Options
		want string
	}{
		{"stair", whole, scheduler.Options{}, `no schedule "stair" for three levels; there are linear-shift, linear-shift-ports, xor, bandwidth-optimal, fors, and repair:NAME for any of them`},
		{"fors", whole, scheduler.Options{Objective: "time"}, `schedule fors: no objective "time"; there are phases, paths, balanced`},
		{"repair:repair:xor", whole, scheduler.Options{}, "the base is itself a repaired schedule"},
		{"fors", huge, scheduler.Options{}, "schedule fors: 80000 servers on 4000 leaves"},
		{"xor", tree(t, topology.Options{Ports: 3, Leaves: 4, Pods: 2}), scheduler.Options{}, "schedule xor: needs a power of two"},
	} {
		expect.Error(t, expect.Err2(scheduler.ByName(tt.name, tt.p, tt.o)), tt.want)
	}
	b := scheduler.LowerBound(cut, scheduler.Options{})
	expect.True(t, b.Phases == 12 && b.String() == "leaf0", "a tree that is not connected: bound %d by %v", b.Phases, b)
	refusesPins(t, whole, cut)
}

func refusesPins(t *testing.T, whole, cut *topology.Tree) {
	t.Helper()
	without := func(links ...topology.Link) *topology.Tree {
		p := expect.Value(whole.Without(links...))(t)
		return p
	}
	shift := scheduler.LinearShift(whole)
	for _, tt := range []struct {
		p    *topology.Tree
		want string
	}{
		{cut, "leaf0 and leaf2 have no live path"},
		{tree(t, topology.Options{Ports: 2, Leaves: 2, Pods: 2}), "schedule linear-shift has 8 servers, FT(3;2,1,2) has 4"},
		{without(topology.Link{Leaf: 1}), "schedule linear-shift: phase 1 cannot be routed without contention: leaf1 has 2 messages for other leaves, or from them, and 1 live links"},
		{without(above(1, 0, 1)), "schedule linear-shift: phase 3 cannot be routed without contention: pod1 has 4 messages for other pods, or from them, and 3 live links"},
	} {
		expect.Error(t, expect.Err(scheduler.Pin(shift, tt.p, scheduler.Options{})), tt.want)
	}
}

// TestRaise checks that a bound of the lower levels holds on all: that of a set of
// leaves in weights.
func TestRaise(t *testing.T) {
	p := tree(t, topology.Options{Ports: 4, Leaves: 4, Pods: 2})
	p = expect.Value(p.Without(topology.Link{Leaf: 2}, topology.Link{Leaf: 2, Spine: 1}, topology.Link{Leaf: 2, Spine: 2}))(t)
	// Leaf 0 has 16 messages for leaf 2, over the one spine that they share.
	b := scheduler.Raise(p, scheduler.Bound{Phases: 16, Kind: scheduler.KindHall, At: 0, Subset: []int{2}})
	if b.Kind != scheduler.KindLP || b.Phases != 16 || len(b.Weights) != p.AllWires() || proven(&p.Live, b) < 16 {
		t.Errorf("bound %+v proves %d", b, proven(&p.Live, b))
	}
}

// TestCheckPods shows that the check the other tests rely on finds offences.
func TestCheckPods(t *testing.T) {
	p := tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	s, _ := planPods(t, p, scheduler.Options{})
	shift := scheduler.LinearShift(p)
	phase, plane := s.At(0, 4)
	top := s.Top(0, 4)
	at, _ := s.At(0, 2)
	within, _ := s.At(0, 1)
	without := func(links ...topology.Link) *topology.Tree {
		v := expect.Value(p.Without(links...))(t)
		return v
	}
	pin := *shift
	pin.Pinned = true
	more := *shift
	more.Phases++
	for _, tt := range []struct {
		name string
		p    *topology.Tree
		s    *scheduler.Schedule
		want string
	}{
		{"dead plane", without(topology.Link{Leaf: 0, Spine: plane}), s, "the spine is not alive at leaf"},
		{"dead top switch", without(above(0, plane, top)), s, "the top switch is not alive"},
		{"no planes", p, &pin, "the spine is not alive"},
		{"no top switch", p, scheduler.MoveTop(s, 0, 4, phase, plane, scheduler.None), "the top switch is not alive"},
		{"a top switch within a pod", p, scheduler.MoveTop(s, 0, 2, at, 0, 1), "a top switch within a pod"},
		{"a plane within a leaf", p, scheduler.Move(s, 0, 1, within, 1), "a spine where none is needed"},
		{"more phases claimed", p, &more, "the last message is in phase 6 of 8"},
		{"top link shared", p, sharedTop(p.Shape, s), "has a message in this phase already"},
		{"server sends twice", p, scheduler.Move(shift, 0, 2, 0, scheduler.None), "out of order"},
	} {
		expect.Error(t, wrong(tt.p, tt.s), tt.want)
	}
}

// sharedTop gives a message between pods the top switch of another of its phase,
// plane and pod.
func sharedTop(p *topology.Shape, s *scheduler.Schedule) *scheduler.Schedule {
	pod := func(rank int) int { return p.Pod(p.Leaf(rank)) }
	for m := range s.All() {
		for n := range s.All() {
			if m != n && m.Phase == n.Phase && m.Spine == n.Spine && m.Top != n.Top && m.Top >= 0 && n.Top >= 0 && pod(m.Src) == pod(n.Src) {
				return scheduler.MoveTop(s, m.Src, m.Dst, m.Phase, m.Spine, n.Top)
			}
		}
	}
	return s
}

// TestPodsTooLarge: 10,000 hosts whose fewest phases are too many are refused with the bound and the way on, before any search:
// where top switches are few, and where planes are.
func TestPodsTooLarge(t *testing.T) {
	for notation, want := range map[string]string{
		"PGFT(3;20,20,25;1,20,10;1,1,1)": "no plan takes less than 19200 phases (bound proven by pod0)",
		"PGFT(3;20,20,25;1,5,20;1,1,1)":  "no plan takes less than 39920 phases (bound proven by leaf0)",
	} {
		tr := tree(t, expect.Value(topology.Parse(notation))(t))
		_, _, err := scheduler.FORS(tr, scheduler.Options{})
		expect.Error(t, err, want)
		expect.Error(t, err, "--schedule linear-shift --routing ftree")
	}
}
