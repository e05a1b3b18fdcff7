package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/topology"
)

// grid calls f for trees of many shapes, full and partly filled.
func grid(t *testing.T, f func(tr *topology.Tree)) {
	for m0 := 1; m0 <= 8; m0++ {
		for m1 := 1; m1 <= 8; m1++ {
			if m0*m1 < 2 {
				continue
			}
			f(tree(t, topology.Options{Ports: m0, Leaves: m1}))
			fill := slices.Repeat([]int{m0}, m1)
			fill[m1/2], fill[m1-1] = m0/2, (m0+1)/2
			if tr, err := topology.New(topology.Options{Ports: m0, Leaves: m1, Fill: fill}); err == nil {
				f(tr)
			}
		}
	}
}

// sends checks that src sends to dst(src, p) in phase p, or to nobody where that
// is src or negative.
func sends(t *testing.T, tr *topology.Tree, s *scheduler.Schedule, dst func(src, p int) int) {
	t.Helper()
	passes(t, tr, s)
	for src := range s.Ranks {
		for p, step := range s.Row(src) {
			want := dst(src, p)
			if want == src || want < 0 {
				want = scheduler.Idle
			}
			if step.To != want {
				t.Fatalf("%s on %s, fill %v: in phase %d %d sends to %d, want %d", s.Name, tr.Notation(), tr.Fill(), p, src, step.To, want)
			}
		}
	}
}

func TestLinearShift(t *testing.T) {
	grid(t, func(tr *topology.Tree) {
		s := scheduler.LinearShift(tr)
		expect.True(t, s.Phases == tr.Servers()-1 && !s.Pinned, "%s: %d phases, pinned %v", tr.Notation(), s.Phases, s.Pinned)
		sends(t, tr, s, func(src, p int) int { return (src + p + 1) % tr.Servers() })
	})
}

// TestLinearShiftPorts checks the formula, phase by phase, that it is the linear shift on
// full leaves, and that with spine = position mod M0 no two messages share a link.
func TestLinearShiftPorts(t *testing.T) {
	grid(t, func(tr *topology.Tree) {
		ports := tr.Ports() * tr.Leaves()
		to := func(src, shift int) int {
			dst, here := tr.Rank((tr.Position(src) + shift) % ports)
			if !here {
				return -1
			}
			return dst
		}
		var shifts []int // those with a message
		for shift := 1; shift < ports; shift++ {
			if slices.ContainsFunc(ranks(tr.Shape), func(src int) bool { return to(src, shift) >= 0 }) {
				shifts = append(shifts, shift)
			}
		}
		s := scheduler.LinearShiftPorts(tr.Shape)
		expect.MustFalse(t, s.Phases != len(shifts) || s.Pinned, "%s, fill %v: %d phases, want %d; pinned %v", tr.Notation(), tr.Fill(), s.Phases, len(shifts), s.Pinned)
		sends(t, tr, s, func(src, p int) int { return to(src, shifts[p]) })
		expect.False(t, tr.Full() && !slices.Equal(slices.Collect(s.All()), slices.Collect(scheduler.LinearShift(tr).All())),
			"%s: not the linear shift", tr.Notation())
		used := map[[4]int]bool{} // phase, leaf, spine, up or down
		for m := range s.All() {
			k := tr.Position(m.Dst) % tr.Ports()
			up, down := [4]int{m.Phase, tr.Leaf(m.Src), k, 0}, [4]int{m.Phase, tr.Leaf(m.Dst), k, 1}
			if up[1] == down[1] {
				continue
			}
			expect.MustFalse(t, used[up] || used[down], "%s, fill %v: %+v meets another message at spine %d", tr.Notation(), tr.Fill(), m, k)
			used[up], used[down] = true, true
		}
	})
}

func TestXOR(t *testing.T) {
	grid(t, func(tr *topology.Tree) {
		n := tr.Servers()
		s, err := scheduler.XOR(tr.Shape)
		expect.MustTrue(t, (strings.Count(string(bits(n)), "1") == 1) == (err == nil), "%d servers: error %v", n, err)
		if err == nil {
			sends(t, tr, s, func(src, p int) int { return src ^ (p + 1) })
		}
	})
	_, err := scheduler.XOR(tree(t, topology.Options{Ports: 20, Leaves: 18}).Shape)
	want := "schedule xor: needs a power of two of servers, such as 256 or 512; here are 360"
	expect.True(t, err != nil && err.Error() == want, "360 servers: error %v, want %s", err, want)
}

// bits returns n in binary.
func bits(n int) []byte {
	var out []byte
	for ; n > 0; n /= 2 {
		out = append(out, byte('0'+n%2))
	}
	return out
}

// TestBandwidthOptimalTable reads thesis Table 5.4, FT(2;2,4).
func TestBandwidthOptimalTable(t *testing.T) {
	const table = `
0 2 4 6 1 3 5 7
2 4 6 0 3 5 7 1
4 6 0 2 5 7 1 3
6 0 2 4 7 1 3 5
1 3 5 7 0 2 4 6
3 5 7 1 2 4 6 0
5 7 1 3 4 6 0 2
7 1 3 5 6 0 2 4
`
	rows := strings.Split(strings.TrimSpace(table), "\n")
	tr := tree(t, topology.Options{Ports: 2, Leaves: 4})
	s := scheduler.BandwidthOptimal(tr.Shape)
	expect.MustTrue(t, s.Phases == 8, "%d phases, want 8", s.Phases)
	sends(t, tr, s, func(src, p int) int { return int(strings.Fields(rows[src])[p][0] - '0') })
}

func TestBandwidthOptimal(t *testing.T) {
	grid(t, func(tr *topology.Tree) {
		m0, m1 := tr.Ports(), tr.Leaves()
		var phases [][]int // destination rank by source rank; -1 is absent
		for p := range m0 * m1 {
			row, used := make([]int, tr.Servers()), false
			for src := range row {
				s := tr.Position(src)
				d := (s/m1+p/m1)%m0 + m0*((s+p)%m1)
				r, here := tr.Rank(d)
				if !here {
					r = -1
				}
				row[src] = r
				used = used || here && r != src
			}
			if used {
				phases = append(phases, row)
			}
		}
		s := scheduler.BandwidthOptimal(tr.Shape)
		if s.Phases != len(phases) {
			t.Fatalf("%s, fill %v: %d phases, want %d", tr.Notation(), tr.Fill(), s.Phases, len(phases))
		}
		sends(t, tr, s, func(src, p int) int { return phases[p][src] })
	})
}

// TestBandwidthOptimalLeaves checks its promise: few messages leave a leaf.
func TestBandwidthOptimalLeaves(t *testing.T) {
	for m1 := 1; m1 <= 6; m1++ {
		for m0 := m1; m0 <= 8; m0++ {
			if m0*m1 < 2 {
				continue
			}
			tr := tree(t, topology.Options{Ports: m0, Leaves: m1})
			s := scheduler.BandwidthOptimal(tr.Shape)
			out := make([]int, s.Phases*m1)
			for m := range s.All() {
				if l := tr.Leaf(m.Src); l != tr.Leaf(m.Dst) {
					out[m.Phase*m1+l]++
				}
			}
			if got := slices.Max(out); got > m0-m0/m1 {
				t.Errorf("%s: %d messages leave a leaf, want at most %d", tr.Notation(), got, m0-m0/m1)
			}
		}
	}
}

func TestViewsAgree(t *testing.T) {
	tr := random(t, topology.Options{Ports: 5, Leaves: 4, Fill: []int{5, 3, 0, 4}}, 3, 1)
	s, _ := plan(t, tr, scheduler.Options{})
	seen := 0
	for rank := range s.Ranks {
		for p, step := range s.Row(rank) {
			if step.To != scheduler.Idle {
				seen++
				phase, spine := s.At(rank, step.To)
				expect.True(t, phase == p && spine == step.ToSpine, "row %d, phase %d: %+v; At says phase %d, spine %d", rank, p, step, phase, spine)
			}
			if step.From != scheduler.Idle {
				if phase, spine := s.At(step.From, rank); phase != p || spine != step.FromSpine {
					t.Errorf("row %d, phase %d: %+v; At says phase %d, spine %d", rank, p, step, phase, spine)
				}
			}
		}
	}
	for m := range s.All() {
		if phase, spine := s.At(m.Src, m.Dst); phase != m.Phase || spine != m.Spine {
			t.Errorf("%+v; At says phase %d, spine %d", m, phase, spine)
		}
	}
	want := s.Ranks * (s.Ranks - 1)
	expect.True(t, seen == want, "rows hold %d messages, want %d", seen, want)
}

func TestByName(t *testing.T) {
	tr := tree(t, topology.Options{Ports: 4, Leaves: 4}, topology.Link{Leaf: 1, Spine: 3})
	for _, name := range schedules.Names() {
		s, b, err := scheduler.ByName(name, tr, scheduler.Options{})
		expect.Must(t, err)
		expect.True(t, s.Name == name && s.Pinned == strings.HasPrefix(name, "fors") && b.Phases == 16 && b.String() == "leaf1",
			"%s: name %q, pinned %v, bound %d by %v", name, s.Name, s.Pinned, b.Phases, b)
		passes(t, tr, s)
	}
	_, _, err := scheduler.ByName("stair", tr, scheduler.Options{})
	want := `no schedule "stair"; there are linear-shift, linear-shift-ports, xor, bandwidth-optimal, fors, fors-closed, fors-published, and repair:NAME for any of them`
	expect.True(t, err != nil && err.Error() == want, "ByName(stair): %v, want %s", err, want)
	_, _, err = scheduler.ByName("fors-published-text", tr, scheduler.Options{})
	want = `no schedule "fors-published-text" any more: take fors-published, the listing of the same section, or fors`
	expect.True(t, err != nil && err.Error() == want, "ByName(fors-published-text): %v, want %s", err, want)
	expect.True(t, expect.Err2(scheduler.ByName("xor", tree(t, topology.Options{Ports: 3, Leaves: 1}), scheduler.Options{})) != nil,
		"xor of 3 servers: no error")
}

func TestByNameRefusesHuge(t *testing.T) {
	tr := tree(t, topology.Options{Ports: 254, Leaves: 4096})
	for _, name := range schedules.Names() {
		_, _, err := scheduler.ByName(name, tr, scheduler.Options{})
		want := "schedule " + name + ": 1040384 servers are more than evbench can plan (at most 32768)"
		expect.True(t, err != nil && err.Error() == want, "%s: %v, want %s", name, err, want)
	}
}

// TestCheck shows that the check the other tests rely on finds offences.
func TestCheck(t *testing.T) {
	tr := tree(t, topology.Options{Ports: 3, Leaves: 3})
	s, _ := plan(t, tr, scheduler.Options{})
	shift := scheduler.LinearShift(tr)
	changed := func(s scheduler.Schedule, change func(s *scheduler.Schedule)) *scheduler.Schedule {
		change(&s)
		return &s
	}
	// Messages 0->3 and 1->4 take one path when moved to one phase and spine.
	p, k := s.At(0, 3)
	for _, tt := range []struct {
		name string
		tree *topology.Tree
		s    *scheduler.Schedule
		want string
	}{
		{"dead link", tree(t, topology.Options{Ports: 3, Leaves: 3}, topology.Link{Leaf: 1, Spine: 2}), s, "the spine is not alive at leaf"},
		{"no spines", tr, changed(*shift, func(s *scheduler.Schedule) { s.Pinned = true }), "the spine is not alive at leaf"},
		{"spines not wanted", tr, changed(*s, func(s *scheduler.Schedule) { s.Pinned = false }), "a spine where none is needed"},
		{"more phases claimed", tr, changed(*shift, func(s *scheduler.Schedule) { s.Phases++ }), "the last message is in phase 7 of 9"},
		{"other leaves", tree(t, topology.Options{Ports: 9, Leaves: 1}), s, "a spine where none is needed"},
		{"link shared", tr, scheduler.Move(s, 1, 4, p, k), fmt.Sprintf("leaf0-spine%d up has a message in this phase already", k)},
		{"server sends twice", tr, scheduler.Move(shift, 0, 2, 0, scheduler.None), "a phase is empty or messages are out of order"},
		{"server receives twice", tr, scheduler.Move(scheduler.Move(shift, 8, 1, 0, scheduler.None), 8, 0, 1, scheduler.None), "server1-leaf0 down has a message in this phase already"},
	} {
		expect.Error(t, wrong(tt.tree, tt.s), tt.want)
	}
}
