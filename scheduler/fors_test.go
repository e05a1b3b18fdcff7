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

// random returns a tree with that many random dead links.
func random(t testing.TB, o topology.Options, dead int, seed uint64) *topology.Tree {
	t.Helper()
	links := expect.Value(tree(t, o).Random(dead, seed))(t)
	return tree(t, o, links...)
}

// diagonal returns link i-i for each of the leaves.
func diagonal(leaves ...int) []topology.Link {
	var out []topology.Link
	for _, l := range leaves {
		out = append(out, topology.Link{Leaf: l, Spine: l})
	}
	return out
}

// column returns the links of leaves from..to to one spine.
func column(spine, from, to int) []topology.Link {
	var out []topology.Link
	for l := from; l <= to; l++ {
		out = append(out, topology.Link{Leaf: l, Spine: spine})
	}
	return out
}

// reduced returns a tree whose f highest spines are dead.
func reduced(t testing.TB, o topology.Options, f int) *topology.Tree {
	t.Helper()
	tr := tree(t, o)
	for k := tr.Spines() - f; k < tr.Spines(); k++ {
		tr, _ = tr.Without(column(k, 0, tr.Leaves()-1)...)
	}
	return tr
}

// The fills of 326 servers on FT(2;20,18).
var (
	lhcbA = slices.Concat(slices.Repeat([]int{19}, 2), slices.Repeat([]int{18}, 16))
	lhcbB = slices.Concat(slices.Repeat([]int{20}, 12), slices.Repeat([]int{15}, 2), slices.Repeat([]int{14}, 4))
)

// plan returns the FORS schedule after checking it, its bound, that the bound's
// witness proves it and that the schedule reaches it. No tree is known on which
// it does not.
func plan(t testing.TB, tr *topology.Tree, o scheduler.Options) (*scheduler.Schedule, scheduler.Bound) {
	t.Helper()
	s, b, err := scheduler.FORS(tr, o)
	expect.Must(t, err)
	passes(t, tr, s)
	if s.Phases != b.Phases || proven(&tr.Live, b) != b.Phases {
		t.Fatalf("%s, fill %v, %d spines, down %v: %d phases, bound %d by %v, which proves %d",
			tr.Notation(), tr.Fill(), tr.Spines(), tr.DownNames(), s.Phases, b.Phases, b, proven(&tr.Live, b))
	}
	return s, b
}

func TestFORSKnown(t *testing.T) {
	t.Parallel()
	big := topology.Options{Ports: 20, Leaves: 18}
	on := func(spines int) topology.Options {
		return topology.Options{Ports: 18, Leaves: 18, Spines: spines}
	}
	filled := func(fill []int) topology.Options {
		return topology.Options{Ports: 20, Leaves: 18, Fill: fill}
	}
	nine := diagonal(0, 1, 2, 3, 5, 8, 11, 13, 17)
	for _, tt := range []struct {
		name   string
		o      topology.Options
		down   []topology.Link
		phases int
		bound  string
	}{
		{"no failure", big, nil, 359, "server"},
		{"one of four spines", topology.Options{Ports: 4, Leaves: 4}, diagonal(0), 16, "leaf0"},
		{"FT(2;4,8)", topology.Options{Ports: 4, Leaves: 8}, diagonal(3), 38, "leaf3"},
		{"FT(2;8,8)", topology.Options{Ports: 8, Leaves: 8}, diagonal(0), 64, "leaf0"},
		{"a missing server makes up for a dead link",
			topology.Options{Ports: 8, Leaves: 8, Fill: slices.Repeat([]int{7}, 8)}, diagonal(0, 1, 2, 3, 4, 5, 6, 7), 55, "server"},
		{"13 servers", topology.Options{Ports: 3, Leaves: 5, Fill: []int{3, 3, 3, 2, 2}}, nil, 12, "server"},
		{"more than failures per leaf", topology.Options{Ports: 3, Leaves: 3},
			[]topology.Link{{Leaf: 0, Spine: 0}, {Leaf: 1, Spine: 1}, {Leaf: 2, Spine: 1}}, 18, "hall0"},
		{"one failure per leaf, two lost at leaf0", big, append(diagonal(0), column(1, 1, 17)...), 378, "hall0"},
		{"two leaves with one spine in common",
			topology.Options{Ports: 4, Leaves: 2, Spines: 3}, append(diagonal(0), column(1, 1, 1)...), 16, "hall0"},
		{"lhcb-a, no failure", filled(lhcbA), nil, 325, "server"},
		{"lhcb-b, no failure", filled(lhcbB), nil, 325, "server"},
		{"lhcb-a, nine dead links", filled(lhcbA), nine, 325, "server"},
		{"lhcb-b, nine dead links", filled(lhcbB), nine, 325, "server"},
		{"10 spines", on(10), nil, 551, "leaf0"},
		{"16 spines", on(16), nil, 345, "leaf0"},
		{"18 spines", on(18), nil, 323, "server"},
		{"24 spines", on(24), nil, 323, "server"},
		{"10 spines, nine dead links", on(10), diagonal(0, 1, 2, 3, 4, 5, 6, 7, 8), 612, "leaf0"},
		{"16 spines, nine dead links", on(16), diagonal(0, 1, 2, 3, 4, 5, 6, 7, 8), 368, "leaf0"},
		{"18 spines, nine dead links", on(18), diagonal(0, 1, 2, 3, 4, 5, 6, 7, 8), 324, "leaf0"},
		{"24 spines, nine dead links", on(24), diagonal(0, 1, 2, 3, 4, 5, 6, 7, 8), 323, "server"},
		{"one leaf, no spine alive", topology.Options{Ports: 5, Leaves: 2, Fill: []int{0, 5}}, column(0, 0, 1), 4, "server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := tree(t, tt.o, tt.down...)
			s, b := plan(t, tr, scheduler.Options{})
			expect.True(t, s.Phases == tt.phases && b.String() == tt.bound, "%d phases, bound by %v, want %d by %s", s.Phases, b, tt.phases, tt.bound)
			again := scheduler.LowerBound(tr, scheduler.Options{})
			expect.True(t, again.Phases == b.Phases && again.String() == b.String(),
				"LowerBound gives %d by %v, FORS %d by %v", again.Phases, again, b.Phases, b)
		})
	}
}

// TestFORSReductions plans every tree with M0, M1 <= 6 and every uniform reduction.
func TestFORSReductions(t *testing.T) {
	t.Parallel()
	for m0 := 1; m0 <= 6; m0++ {
		for m1 := 1; m1 <= 6; m1++ {
			if m0*m1 < 2 {
				continue
			}
			for f := range m0 {
				tr := reduced(t, topology.Options{Ports: m0, Leaves: m1}, f)
				s, _ := plan(t, tr, scheduler.Options{})
				expect.Equal(t, s.Phases, max(m0*m1-1, (m0*m0*(m1-1)+m0-f-1)/(m0-f)), "%s, %d spines dead: phases", tr.Notation(), f)
			}
		}
	}
}

// TestFORSRandom plans random dead sets of every tree with M0, M1 <= 6: as it
// is, with random fills, and with fewer or more spines than ports.
func TestFORSRandom(t *testing.T) {
	t.Parallel()
	for m0 := 1; m0 <= 6; m0++ {
		for m1 := 1; m1 <= 6; m1++ {
			t.Run(fmt.Sprintf("FT(2;%d,%d)", m0, m1), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(uint64(m0), uint64(m1)))
				planned := 0
				for i := range 60 {
					if tr := randomTree(t, rng, m0, m1, i%3); tr != nil {
						plan(t, tr, scheduler.Options{Seed: uint64(i)})
						planned++
					}
				}
				expect.False(t, planned < 5 && m0*m1 > 1, "only %d of 60 trees were connected", planned)
			})
		}
	}
}

// randomTree returns a tree with dead links, or nil when there is nothing to
// plan: fewer than two servers, or two that cannot reach each other.
func randomTree(t testing.TB, rng *rand.Rand, m0, m1, kind int) *topology.Tree {
	t.Helper()
	if tr := brokenTree(rng, m0, m1, kind, 0.6); tr != nil && tr.Connected() == nil {
		return tr
	}
	return nil
}

// brokenTree returns a tree of which up to a share of the links are dead, or nil
// when it has fewer than two servers. Kind 0 is full, 1 has a random fill, 2 also
// a random number of spines.
func brokenTree(rng *rand.Rand, m0, m1, kind int, most float64) *topology.Tree {
	o := topology.Options{Ports: m0, Leaves: m1}
	if kind > 0 {
		for range m1 {
			o.Fill = append(o.Fill, rng.IntN(m0+1))
		}
	}
	if kind > 1 {
		o.Spines = 1 + rng.IntN(2*m0)
	}
	tr, err := topology.New(o)
	if err != nil {
		return nil
	}
	share := rng.Float64() * most
	for l := range m1 {
		for k := range tr.Spines() {
			if rng.Float64() < share {
				tr, _ = tr.Without(topology.Link{Leaf: l, Spine: k})
			}
		}
	}
	return tr
}

// TestFORSExhaustive plans every dead set of FT(2;3,3).
func TestFORSExhaustive(t *testing.T) {
	t.Parallel()
	kinds := make(map[string]int)
	for set := range 1 << 9 {
		var down []topology.Link
		for i := range 9 {
			if set>>i&1 == 1 {
				down = append(down, topology.Link{Leaf: i / 3, Spine: i % 3})
			}
		}
		if tr := tree(t, topology.Options{Ports: 3, Leaves: 3}, down...); tr.Connected() == nil {
			_, b := plan(t, tr, scheduler.Options{})
			kinds[b.Kind]++
		}
	}
	expect.True(t, kinds["server"] != 0 && kinds["leaf"] != 0 && kinds["hall"] != 0, "bounds %v: want all three simple kinds", kinds)
}

func TestFORSLarge(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	for _, tt := range []struct {
		o    topology.Options
		dead []int
	}{
		{topology.Options{Ports: 20, Leaves: 18}, []int{9, 60, 180}},
		{topology.Options{Ports: 20, Leaves: 18, Fill: lhcbA}, []int{30}},
		{topology.Options{Ports: 20, Leaves: 18, Fill: lhcbB}, []int{100}},
		{topology.Options{Ports: 24, Leaves: 9, Spines: 30}, []int{40}},
		{topology.Options{Ports: 36, Leaves: 36}, []int{40}},
	} {
		for _, dead := range tt.dead {
			plan(t, random(t, tt.o, dead, 1), scheduler.Options{})
		}
	}
}

// TestFORSShift has leaves with equally many servers and as many whole spines:
// each message has the phase of linear shift, and the spine its destination's.
func TestFORSShift(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    topology.Options
		down []topology.Link
	}{
		{topology.Options{Ports: 7, Leaves: 5}, nil},
		{topology.Options{Ports: 7, Leaves: 5, Spines: 9}, diagonal(1, 2)},
		{topology.Options{Ports: 4, Leaves: 6, Fill: []int{3, 3, 0, 3, 3, 3}}, append(diagonal(0, 2), column(0, 3, 5)...)},
		{topology.Options{Ports: 4, Leaves: 2, Fill: []int{0, 3}}, column(2, 0, 1)},
		{topology.Options{Ports: 1, Leaves: 9}, nil},
	} {
		tr := tree(t, tt.o, tt.down...)
		s, b := plan(t, tr, scheduler.Options{})
		shift, spine := scheduler.LinearShift(tr), make(map[int]int)
		for m := range s.All() {
			p, _ := shift.At(m.Src, m.Dst)
			expect.MustTrue(t, p == m.Phase, "%s: %+v; linear shift has phase %d", tr.Notation(), m, p)
			k, known := spine[m.Dst]
			expect.MustFalse(t, m.Spine != scheduler.None && known && k != m.Spine, "%s: %+v; others took spine %d", tr.Notation(), m, k)
			if m.Spine != scheduler.None {
				spine[m.Dst] = m.Spine
			}
		}
		again := scheduler.LowerBound(tr, scheduler.Options{})
		expect.True(t, b.Kind == scheduler.KindServer && again.Phases == b.Phases && again.Kind == b.Kind,
			"%s: bound %d by %v, LowerBound %d by %v", tr.Notation(), b.Phases, b, again.Phases, again)
	}
}

// TestFORSLooser plans with more phases than needed, as is done where the bound
// is not reached.
func TestFORSLooser(t *testing.T) {
	t.Parallel()
	for _, o := range []topology.Options{
		{Ports: 4, Leaves: 5},
		{Ports: 4, Leaves: 5, Spines: 6, Fill: []int{1, 0, 4, 3, 4}},
		{Ports: 3, Leaves: 1},
	} {
		for extra := range int32(20) {
			tr := tree(t, o, topology.Link{Leaf: 0, Spine: 1})
			s := scheduler.Looser(tr, extra, scheduler.Options{})
			passes(t, tr, s)
			least := scheduler.LowerBound(tr, scheduler.Options{}).Phases
			expect.True(t, s.Phases >= least && s.Phases <= least+int(extra),
				"%s: %d phases with %d to spare, bound %d", tr.Notation(), s.Phases, extra, least)
		}
	}
}

func TestFORSRefuses(t *testing.T) {
	t.Parallel()
	cut := tree(t, topology.Options{Ports: 2, Leaves: 3}, topology.Link{Leaf: 0, Spine: 0}, topology.Link{Leaf: 2, Spine: 1})
	_, _, err := scheduler.FORS(cut, scheduler.Options{})
	var unreachable *topology.UnreachableError
	expect.True(t, errors.As(err, &unreachable) && unreachable.A == 0 && unreachable.B == 2, "leaf0 and leaf2 cut apart: error %v", err)
	huge := tree(t, topology.Options{Ports: 20, Leaves: 4000})
	want := "schedule fors: 80000 servers on 4000 leaves with 20 spines are more than evbench can plan (at most 32768 servers, 268435456 leaves²·spines)"
	if _, _, err := scheduler.FORS(huge, scheduler.Options{}); err == nil || err.Error() != want {
		t.Errorf("80000 servers: error %v\nwant %s", err, want)
	}
}
