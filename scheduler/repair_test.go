package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// repair repairs a schedule and checks the result and the number of messages
// moved; base phases may only have vanished.
func repair(t testing.TB, tr *topology.Tree, base string, o scheduler.Options) *scheduler.Schedule {
	t.Helper()
	s, _, err := scheduler.ByName("repair:"+base, tr, o)
	expect.Must(t, err)
	passes(t, tr, s)
	b, _, err := scheduler.ByName(base, tr, o)
	expect.Must(t, err)
	changed := 0
	for src := range s.Ranks {
		for dst := range s.Ranks {
			if src == dst {
				continue
			}
			before, _ := b.At(src, dst)
			after, _ := s.At(src, dst)
			if before != after {
				changed++
				expect.MustTrue(t, tr.Leaf(src) != tr.Leaf(dst), "%d to %d, within a leaf, moved from phase %d to %d", src, dst, before, after)
			}
		}
	}
	expect.MustFalse(t, s.Name != "repair:"+base || !s.Pinned || changed != s.Moved,
		"%s on %s, fill %v, down %v: moved %d; %d have another phase", s.Name, tr.Notation(), tr.Fill(), tr.DownNames(), s.Moved, changed)
	return s
}

func named(t testing.TB, tr *topology.Tree) []string {
	t.Helper()
	var out []string
	for _, s := range bases(t, tr) {
		out = append(out, s.Name)
	}
	return out
}

// TestRepairTable is the example of thesis Table 5.4: eight messages move, and
// there are twelve phases.
func TestRepairTable(t *testing.T) {
	t.Parallel()
	s := repair(t, tree(t, topology.Options{Ports: 2, Leaves: 4}, diagonal(0)...), "bandwidth-optimal", scheduler.Options{})
	expect.True(t, s.Phases == 12 && s.Moved == 8, "%d phases, %d messages moved; the thesis has 12 and 8", s.Phases, s.Moved)
}

// TestRepairReductions repairs on every tree with M0, M1 <= 6 and every uniform
// reduction.
func TestRepairReductions(t *testing.T) {
	t.Parallel()
	for m0 := 1; m0 <= 6; m0++ {
		for m1 := 1; m1 <= 6; m1++ {
			for f := 0; m0*m1 > 1 && f < m0; f++ {
				tr := reduced(t, topology.Options{Ports: m0, Leaves: m1}, f)
				for _, base := range named(t, tr) {
					s := repair(t, tr, base, scheduler.Options{})
					if f == 0 && s.Moved > 0 {
						t.Errorf("%s on a healthy %s: %d messages moved", s.Name, tr.Notation(), s.Moved)
					}
				}
			}
		}
	}
}

// TestRepairRandom repairs on trees with random dead links, fills and spines.
func TestRepairRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 7))
	repaired := 0
	for i := range 500 {
		tr := randomTree(t, rng, 1+rng.IntN(6), 1+rng.IntN(6), i%3)
		if tr == nil {
			continue
		}
		for _, base := range named(t, tr) {
			repair(t, tr, base, scheduler.Options{Seed: uint64(i)})
			repaired++
		}
	}
	expect.True(t, repaired >= 500, "only %d schedules were repaired", repaired)
}

// TestRepairLarge counts phases on FT(2;20,18), which repaired reaches the bound of
// the base (360 phases) and the leaves (thesis 5.4.1).
func TestRepairLarge(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	o := topology.Options{Ports: 20, Leaves: 18}
	for f, want := range []int{360, 360, 378, 400, 425, 454, 486, 524, 567}[:expect.Samples(9, 4)] {
		expect.Equal(t, repair(t, reduced(t, o, f), "bandwidth-optimal", scheduler.Options{}).Phases, want, "%d spines dead: phases", f)
	}
	for i, tt := range []struct {
		o          topology.Options
		base       string
		dead, most int
	}{
		{o, "bandwidth-optimal", 5, 360},
		{o, "bandwidth-optimal", 36, 430},
		{o, "linear-shift", 9, 420},
		{topology.Options{Ports: 20, Leaves: 18, Fill: lhcbA}, "linear-shift", 9, 390},
		{topology.Options{Ports: 20, Leaves: 18, Fill: lhcbA}, "linear-shift-ports", 9, 390},
		{topology.Options{Ports: 20, Leaves: 18, Fill: lhcbB}, "bandwidth-optimal", 9, 390},
	} {
		if i%2 >= expect.Samples(2, 1) {
			continue
		}
		s := repair(t, random(t, tt.o, tt.dead, 1), tt.base, scheduler.Options{})
		expect.True(t, s.Phases <= tt.most, "%s with %d dead links: %d phases, want at most %d", s.Name, tt.dead, s.Phases, tt.most)
	}
}

// TestRepairPinned repairs a schedule that needs no repair.
func TestRepairPinned(t *testing.T) {
	t.Parallel()
	tr := random(t, topology.Options{Ports: 6, Leaves: 7}, 9, 4)
	fors, _ := plan(t, tr, scheduler.Options{})
	s := repair(t, tr, "fors", scheduler.Options{})
	expect.True(t, s.Moved == 0 && slices.Equal(slices.Collect(s.All()), slices.Collect(fors.All())),
		"repair of fors moves %d messages or changes spines", s.Moved)
}

//gate:race
func TestRepairWorkers(t *testing.T) {
	t.Parallel()
	o, dead := topology.Options{Ports: 12, Leaves: 10, Spines: 14}, 40
	if !expect.All() {
		o, dead = topology.Options{Ports: 6, Leaves: 7, Spines: 8}, 12
	}
	tr := random(t, o, dead, 1)
	one := repair(t, tr, "linear-shift", scheduler.Options{Seed: 7, Workers: 1})
	for _, workers := range []int{0, 2, 7} {
		if s := repair(t, tr, "linear-shift", scheduler.Options{Seed: 7, Workers: workers}); !slices.Equal(slices.Collect(s.All()), slices.Collect(one.All())) {
			t.Errorf("%d workers repair in another way than one", workers)
		}
	}
}

func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	tr := tree(t, topology.Options{Ports: 3, Leaves: 2})
	for base, want := range map[string]string{
		"repair:xor": "schedule repair:repair:xor: the base is itself a repaired schedule",
		"xor":        "schedule xor: needs a power of two of servers, such as 4 or 8; here are 6",
		"stair":      `no schedule "stair"; there are linear-shift, linear-shift-ports, xor, bandwidth-optimal, fors, fors-closed, fors-published, and repair:NAME for any of them`,
	} {
		if _, _, err := scheduler.ByName("repair:"+base, tr, scheduler.Options{}); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", base, err, want)
		}
	}
	cut := tree(t, topology.Options{Ports: 2, Leaves: 3}, topology.Link{Leaf: 0, Spine: 0}, topology.Link{Leaf: 2, Spine: 1})
	_, _, err := scheduler.ByName("repair:linear-shift", cut, scheduler.Options{})
	var unreachable *topology.UnreachableError
	expect.True(t, errors.As(err, &unreachable) && unreachable.A == 0 && unreachable.B == 2, "leaf0 and leaf2 cut apart: error %v", err)
}

// BenchmarkRepair repairs bandwidth-optimal on FT(2;20,18).
func BenchmarkRepair(b *testing.B) {
	o := topology.Options{Ports: 20, Leaves: 18}
	for _, bench := range []struct {
		name string
		tree *topology.Tree
	}{
		{"reduction=2", reduced(b, o, 2)},
		{"reduction=8", reduced(b, o, 8)},
		{"dead=9", random(b, o, 9, 1)},
		{"dead=60", random(b, o, 60, 1)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				expect.Must(b, expect.Err2(scheduler.ByName("repair:bandwidth-optimal", bench.tree, scheduler.Options{})))
			}
		})
	}
}
