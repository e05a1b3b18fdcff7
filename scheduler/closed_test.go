package scheduler_test

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/topology"
)

// line returns the messages between leaves in closed form, one by one, with the
// spines that are alive everywhere.
func line(m0, m1 int, live []int) []scheduler.Message {
	q, w := m1-1, min(len(live), m0)
	g := gcd(m0, q)
	var out []scheduler.Message
	for n := range m0 * m0 * q {
		for leaf := range m1 {
			skip := 0
			if g > 1 {
				skip = n / (m0 * q / g)
			}
			to := (leaf + 1 + (n+skip)%q) % m1
			slot := (n + n/(m0*q)) % m0
			out = append(out, scheduler.Message{Phase: n / w, Src: leaf*m0 + n%m0, Dst: to*m0 + slot, Spine: live[n%w], Top: scheduler.None})
		}
	}
	return out
}

// closed checks the schedule of a tree on which w spines are alive everywhere.
func closed(t *testing.T, tr *topology.Tree, live []int) {
	t.Helper()
	s := expect.Value(scheduler.ForsClosed(tr, scheduler.Options{}))(t)
	passes(t, tr, s)
	m0, m1 := tr.Ports(), tr.Leaves()
	if m1 == 1 {
		live = make([]int, m0)
	}
	w := min(len(live), m0)
	if want := max(m0*m1-1, (m0*m0*(m1-1)+w-1)/w); s.Phases != want || s.Phases < scheduler.LowerBound(tr, scheduler.Options{}).Phases {
		t.Fatalf("%s, %v alive: %d phases, want %d", tr.Notation(), live, s.Phases, want)
	}
	want := line(m0, m1, live)
	if f := m0 - w; f > 0 && f <= m0/m1 { // only the leaves are known
		between := slices.DeleteFunc(slices.Collect(s.All()), func(m scheduler.Message) bool { return m.Src/m0 == m.Dst/m0 })
		if got, want := leaves(between, m0), leaves(want, m0); !slices.Equal(got, want) {
			t.Fatalf("%s, %v alive: leaves, phases and spines are not those of the closed form", tr.Notation(), live)
		}
		return
	}
	for _, m := range want {
		phase, spine := s.At(m.Src, m.Dst)
		expect.MustTrue(t, phase == m.Phase && spine == m.Spine,
			"%s, %v alive: %+v is in phase %d through spine %d", tr.Notation(), live, m, phase, spine)
	}
}

// leaves replaces servers by leaves, and sorts.
func leaves(list []scheduler.Message, m0 int) []scheduler.Message {
	out := slices.Clone(list)
	for i := range out {
		out[i].Src, out[i].Dst = out[i].Src/m0, out[i].Dst/m0
	}
	slices.SortFunc(out, func(a, b scheduler.Message) int {
		return cmp.Or(a.Phase-b.Phase, a.Src-b.Src, a.Dst-b.Dst, a.Spine-b.Spine)
	})
	return out
}

// touchless returns the spines that no failure touches.
func touchless(tr *topology.Live) []int {
	out := tr.AliveSpines(0)
	for l := range tr.Leaves() {
		out = slices.DeleteFunc(out, func(k int) bool { return !tr.Alive(l, k) })
	}
	return out
}

// TestForsClosed compares with the formula on all trees with M0, M1 <= 8 and all
// uniform reductions, with as many spines as servers on a leaf, one less and two
// more.
func TestForsClosed(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	for m0 := 1; m0 <= 8; m0++ {
		for m1 := 1; m1 <= 8; m1++ {
			for _, spines := range []int{m0 - 1, m0, m0 + 2} {
				for f := range spines {
					if m0*m1 < 2 {
						continue
					}
					tr := uniformTree(t, topology.Options{Ports: m0, Leaves: m1, Spines: spines}, f, uint64(m1))
					closed(t, tr, touchless(&tr.Live))
				}
			}
		}
	}
}

// TestForsClosedSweep checks the messages of a leaf, which all leaves send alike,
// on all trees with M0 and M1 in 2..24 and all reductions.
func TestForsClosedSweep(t *testing.T) {
	t.Parallel()
	cases, alone := 0, 0
	shapes(t, expect.Samples(24, 15), func(tr *topology.Tree, m0, m1, f int) {
		hops, phases, within := scheduler.Stair(&tr.Live)
		cases++
		want := f == 0 || f > m0/m1
		expect.MustTrue(t, within == want, "%s, f=%d: all in closed form: %v, want %v", tr.Notation(), f, within, want)
		if within {
			alone++
		}
		expect.Must(t, sound(hops, phases, m0, m1, m0-f, within), "%s, f=%d", tr.Notation(), f)
	})
	expect.True(t, !expect.All() || cases == 6877 && alone == 6273, "%d trees, %d without lift, want 6877 and 6273", cases, alone)
}

// sound checks what a leaf sends: every slot of every leaf once, a slot sending
// and receiving at most once in a phase, w messages leaving, and two leaves
// meeting as rarely as can be.
func sound(hops iter.Seq[scheduler.Hop], phases, m0, m1, w int, within bool) error {
	q := m1 - 1
	met := make([]bool, m0*m0*m1)
	busy := make([]uint8, phases*m0)        // 1: the slot sends, 2: it receives
	leaving := make([]uint8, phases*(m1+1)) // by step; the last is their sum
	left := m0 * m0 * q
	if within {
		left += m0 * (m0 - 1)
	}
	for h := range hops {
		pair, from, to := (h.Src*m1+h.Step)*m0+h.Dst, h.Phase*m0+h.Src, h.Phase*m0+h.Dst
		if met[pair] || busy[from]&1 != 0 || busy[to]&2 != 0 || h.Step == 0 && h.Src == h.Dst {
			return fmt.Errorf("%+v: twice", h)
		}
		met[pair] = true
		busy[from] |= 1
		busy[to] |= 2
		left--
		if h.Step == 0 {
			continue
		}
		sent := leaving[h.Phase*(m1+1):][:m1+1]
		sent[h.Step]++
		sent[m1]++
		if int(sent[h.Step]) > (w+q-1)/q || int(sent[m1]) > w {
			return fmt.Errorf("%+v: too many leave", h)
		}
	}
	if left != 0 {
		return fmt.Errorf("%d messages are missing", left)
	}
	return nil
}

// TestForsClosedLarge checks the network of the thesis and larger ones.
func TestForsClosedLarge(t *testing.T) {
	need.Heavy(t)
	t.Parallel()
	for _, f := range []int{0, 1, 3, 19, 2, 10}[:expect.Samples(6, 4)] {
		tr := uniformTree(t, topology.Options{Ports: 20, Leaves: 18}, f, 1)
		closed(t, tr, touchless(&tr.Live))
	}
	for _, o := range []topology.Options{{Ports: 36, Leaves: 12}, {Ports: 7, Leaves: 64}} {
		for _, f := range []int{4, 1}[:expect.Samples(2, 1)] {
			tr := uniformTree(t, o, f, 2)
			closed(t, tr, touchless(&tr.Live))
		}
	}
}

func TestForsClosedDoesNotApply(t *testing.T) {
	for _, tt := range []struct {
		name string
		tree *topology.Tree
		want string
	}{
		{"a server missing", tree(t, topology.Options{Ports: 3, Leaves: 2, Fill: []int{3, 2}}),
			"needs a server on every port; here are 5 of 6: use fors"},
		{"two spines touched, one link lost", tree(t, topology.Options{Ports: 4, Leaves: 4}, diagonal(0, 1)...),
			"needs a uniform reduction; 2 spines have no dead link, but every leaf has 3 alive: use fors"},
		{"three spines touched, one to spare", tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 5}, diagonal(0, 1, 2)...),
			"needs a uniform reduction; 2 spines have no dead link, but every leaf has 4 alive: use fors"},
		{"a leaf cut off", tree(t, topology.Options{Ports: 1, Leaves: 2}, diagonal(0)...),
			"leaf0 and leaf1 have no spine in common that is alive: their servers cannot reach each other"},
		{"too large", tree(t, topology.Options{Ports: 254, Leaves: 4096}),
			"1040384 servers are more than evbench can plan (at most 32768)"},
	} {
		_, _, err := scheduler.ByName("fors-closed", tt.tree, scheduler.Options{})
		if want := "schedule fors-closed: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.name, err, want)
		}
	}
	spare := tree(t, topology.Options{Ports: 4, Leaves: 4, Spines: 6}, diagonal(0, 1)...)
	closed(t, spare, touchless(&spare.Live)) // touched spines may be left out where there are enough
}
