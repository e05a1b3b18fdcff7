package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/topology"
)

var dropping = scheduler.Options{DropUnreachable: true}

// TestDropRandom plans trees with M0, M1 <= 8 that have lost up to all links.
func TestDropRandom(t *testing.T) {
	t.Parallel()
	for m0 := 1; m0 <= 8; m0++ {
		for m1 := 1; m1 <= 8; m1++ {
			t.Run(fmt.Sprintf("FT(2;%d,%d)", m0, m1), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(uint64(m0), uint64(m1)))
				for i := range 24 {
					if tr := brokenTree(rng, m0, m1, i%3, 1); tr != nil {
						dropped(t, tr)
					}
				}
			})
		}
	}
}

// TestDropExhaustive plans every dead set of FT(2;3,3).
func TestDropExhaustive(t *testing.T) {
	t.Parallel()
	for set := range 1 << 9 {
		tr := tree(t, topology.Options{Ports: 3, Leaves: 3})
		for i := range 9 {
			if set>>i&1 == 1 {
				tr, _ = tr.Without(topology.Link{Leaf: i / 3, Spine: i % 3})
			}
		}
		dropped(t, tr)
	}
}

// picky reports whether a schedule is for some trees only.
func picky(name string) bool { return name == "xor" || strings.HasPrefix(name, "fors-") }

// dropped checks every schedule of a tree without its unreachable pairs.
func dropped(t *testing.T, tr *topology.Tree) {
	t.Helper()
	for _, name := range schedules.Names() {
		s, b, err := scheduler.ByName(name, tr, dropping)
		if silent(&tr.Live) {
			if want := "no two servers can reach each other: there is no message to plan"; !picky(name) && (err == nil || err.Error() != want) {
				t.Fatalf("%s, fill %v, down %v: %s: error %v, want %s", tr.Notation(), tr.Fill(), tr.DownNames(), name, err, want)
			}
			continue
		}
		if err != nil && picky(name) {
			continue
		}
		expect.Must(t, err)
		passes(t, tr, s)
		if b.Phases > s.Phases && name == "fors" || proven(&tr.Live, b) != b.Phases {
			t.Fatalf("%s, fill %v, down %v: %s: %d phases, bound %d by %v, which proves %d",
				tr.Notation(), tr.Fill(), tr.DownNames(), name, s.Phases, b.Phases, b, proven(&tr.Live, b))
		}
		if name == "fors" {
			plan(t, tr, dropping)
			rows(t, s)
		}
	}
}

// silent reports whether no two servers can reach each other.
func silent(t *topology.Live) bool {
	for l := range t.Leaves() {
		if t.ServersOn(l) > 1 || len(met(t, l)) > 0 {
			return false
		}
	}
	return true
}

// rows checks that the rows of a schedule hold its messages and no more.
func rows(t *testing.T, s *scheduler.Schedule) {
	t.Helper()
	steps := 0
	for rank := range s.Ranks {
		for p, step := range s.Row(rank) {
			if step.To != scheduler.Idle {
				steps++
				phase, spine := s.At(rank, step.To)
				expect.MustTrue(t, phase == p && spine == step.ToSpine,
					"row %d, phase %d: %+v; At says phase %d, spine %d", rank, p, step, phase, spine)
			}
		}
	}
	n := len(slices.Collect(s.All()))
	expect.MustTrue(t, n == steps, "rows hold %d messages, the list %d", steps, n)
}

func TestDropKnown(t *testing.T) {
	t.Parallel()
	four := topology.Options{Ports: 4, Leaves: 4}
	for _, tt := range []struct {
		name   string
		o      topology.Options
		down   []topology.Link
		phases int
		bound  string
	}{
		{"a leaf without a live link talks within itself", four, row(2, 0, 3), 11, "server"},
		{"no live link at all", four, slices.Concat(row(0, 0, 3), row(1, 0, 3), row(2, 0, 3), row(3, 0, 3)), 3, "server"},
		// leaf0 and leaf1 keep spine 0 and 1; leaf2 and leaf3 the others: 16 messages over two links.
		{"two halves", four, slices.Concat(row(0, 2, 3), row(1, 2, 3), row(2, 0, 1), row(3, 0, 1)), 8, "leaf0"},
		// leaf0 has spine 0 only, which leaf3 lacks: 4·8 messages over one link.
		{"one pair", four, append(row(0, 1, 3), topology.Link{Leaf: 3, Spine: 0}), 32, "leaf0"},
		{"a server alone on its leaf", topology.Options{Ports: 3, Leaves: 3, Fill: []int{1, 3, 3}}, row(0, 0, 2), 5, "server"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := tree(t, tt.o, tt.down...)
			s, b := plan(t, tr, dropping)
			expect.True(t, s.Phases == tt.phases && b.String() == tt.bound, "%d phases, bound by %v, want %d by %s", s.Phases, b, tt.phases, tt.bound)
			expect.Equal(t, scheduler.LowerBound(tr, dropping).Phases, tt.phases, "LowerBound gives")
			expect.True(t, expect.Err2(scheduler.FORS(tr, scheduler.Options{})) != nil, "without the option: no error")
		})
	}
}

// row returns the links of a leaf to spines from..to.
func row(leaf, from, to int) []topology.Link {
	var out []topology.Link
	for k := from; k <= to; k++ {
		out = append(out, topology.Link{Leaf: leaf, Spine: k})
	}
	return out
}

// TestDropNothing shows that the option changes nothing where all are connected.
func TestDropNothing(t *testing.T) {
	t.Parallel()
	tr := random(t, topology.Options{Ports: 6, Leaves: 5, Fill: []int{6, 2, 5, 6, 1}}, 5, 1)
	for _, name := range schedules.Names() {
		with, bound, err := scheduler.ByName(name, tr, dropping)
		without, _, other := scheduler.ByName(name, tr, scheduler.Options{})
		expect.True(t, (err == nil) == (other == nil), "%s: error %v with the option, %v without", name, err, other)
		if err == nil && (!slices.Equal(slices.Collect(with.All()), slices.Collect(without.All())) || bound.Phases != scheduler.LowerBound(tr, scheduler.Options{}).Phases) {
			t.Errorf("%s: the option changes the schedule or the bound of a connected tree", name)
		}
	}
}
