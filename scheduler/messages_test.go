package scheduler_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// All gives what Messages gives, and FromMessages takes both apart and together
// again, in whatever order the messages come.
func TestFromMessagesRestores(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for m0 := 1; m0 <= 6; m0++ {
		for m1 := 2; m1 <= 6; m1++ {
			o := topology.Options{Ports: m0, Leaves: m1, Fill: make([]int, m1), Spines: 1 + rng.IntN(m0+2)}
			for l := range o.Fill {
				o.Fill[l] = rng.IntN(m0 + 1)
			}
			o.Fill[0], o.Fill[1] = max(1, o.Fill[0]), max(1, o.Fill[1])
			tr := topologytest.Tree(t, o)
			if links, err := tr.Random(rng.IntN(3), rng.Uint64()); err == nil {
				tr, _ = tr.Without(links...)
			}
			for _, name := range []string{"linear-shift", "bandwidth-optimal", "fors"} {
				s, _, err := scheduler.ByName(name, tr, scheduler.Options{})
				expect.Must(t, err)
				ms := slices.Collect(s.All())
				if all := slices.Collect(s.All()); !slices.Equal(all, ms) {
					t.Fatalf("%s on %s: All and Messages differ", name, tr.Notation())
				}
				shuffled := slices.Clone(ms)
				rng.Shuffle(len(ms), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				again := scheduler.FromMessages(name, tr.Wires, s.Pinned, slices.Values(shuffled))
				passes(t, tr, again)
				expect.MustFalse(t, again.Name != name || again.Phases != s.Phases || again.Pinned != s.Pinned || !slices.Equal(slices.Collect(again.All()), ms),
					"%s on %s: another schedule comes back", name, tr.Notation())
			}
		}
	}
}

// Pairs that cannot reach each other are absent, and only they.
func TestFromMessagesWithAbsentPairs(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0", "leaf1-spine1") // leaf0, leaf1 cut apart
	var ms []scheduler.Message
	for src := range tr.Servers() {
		for dst := range tr.Servers() {
			a, b := tr.Leaf(src), tr.Leaf(dst)
			if src == dst || min(a, b) == 0 && max(a, b) == 1 {
				continue
			}
			m := scheduler.Message{Phase: len(ms), Src: src, Dst: dst, Spine: scheduler.None, Top: scheduler.None}
			if a != b {
				m.Spine = tr.CommonSpines(a, b)[0]
			}
			ms = append(ms, m)
		}
	}
	s := scheduler.FromMessages("x", tr.Wires, true, slices.Values(ms))
	expect.True(t, !s.Meets(0, 2) && !s.Meets(3, 1) && s.Meets(0, 4) && slices.Equal(slices.Collect(s.All()), ms), "other pairs meet than were given")
	open := scheduler.FromMessages("x", tr.Wires, false, slices.Values(ms))
	p, k := open.At(0, 4)
	expect.True(t, !open.Pinned && p >= 0 && k == scheduler.None, "a schedule that is not pinned: phase %d, spine %d", p, k)
}

// apart returns the schedule of a three-level tree that sends every message in a
// phase of its own, over the first path.
func apart(t *testing.T, p *topology.Tree) []scheduler.Message {
	t.Helper()
	var ms []scheduler.Message
	tr := p
	for src := range tr.Servers() {
		for dst := range tr.Servers() {
			if src == dst {
				continue
			}
			m := scheduler.Message{Phase: len(ms), Src: src, Dst: dst, Spine: scheduler.None, Top: scheduler.None}
			if a, b := tr.Leaf(src), tr.Leaf(dst); a != b {
				if m.Spine = 0; p.Pod(a) != p.Pod(b) {
					m.Top = 1
				}
			}
			ms = append(ms, m)
		}
	}
	return ms
}

func TestFromMessagesThreeLevels(t *testing.T) {
	p := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 4, Pods: 2}))(t)
	ms := apart(t, p)
	s := scheduler.FromMessages("apart", p.Wires, true, slices.Values(ms))
	if !s.Pinned || s.Top(0, 7) != 1 || s.Top(0, 2) != scheduler.None || !slices.Equal(slices.Collect(s.All()), ms) {
		t.Errorf("another schedule comes back: pinned %v, top %d, %d", s.Pinned, s.Top(0, 7), s.Top(0, 2))
	}
	less := s.Without(p.Shape, [][2]int{{0, 3}})
	ms = slices.DeleteFunc(ms, func(m scheduler.Message) bool { return m.Src/2+m.Dst/2 == 3 && m.Src/2 != 1 && m.Dst/2 != 1 })
	for i := range ms {
		ms[i].Phase = i
	}
	expect.True(t, less.Phases == len(ms) && slices.Equal(slices.Collect(less.All()), ms) && s.Phases == 56,
		"without leaf0 and leaf3 there are %d phases, before %d", less.Phases, s.Phases)
}

// Of equal fragments the bound in bytes is the bound on phases.
func TestBoundBytesOfEqualSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	kinds := map[string]int{}
	for m0 := 2; m0 <= 6; m0++ {
		for m1 := 2; m1 <= 6; m1++ {
			for i := range 8 {
				o := topology.Options{Ports: m0, Leaves: m1}
				if i%2 == 1 {
					o.Spines, o.Cables = (m0+1)/2, 2
				}
				tr := topologytest.Tree(t, o)
				links, err := tr.Random(rng.IntN(m0*m1/2+1), rng.Uint64())
				expect.Must(t, err)
				if tr, err = tr.Without(links...); err != nil {
					t.Fatal(err)
				}
				b, shares, err := scheduler.BoundBytes(tr, func(int, int) int64 { return 1 })
				if tr.Connected() != nil {
					if _, ok := errors.AsType[*topology.UnreachableError](err); !ok {
						t.Fatalf("%s without %v: error %v", tr.Notation(), tr.DownNames(), err)
					}
					continue
				}
				expect.Must(t, err)
				if want := scheduler.LowerBound(tr, scheduler.Options{}); b.Phases != want.Phases {
					t.Errorf("%s without %v: %d (%s), want %d (%s)", tr.Notation(), tr.DownNames(), b.Phases, b.Kind, want.Phases, want)
				}
				kinds[b.Kind]++
				for a := range m1 {
					for c := range m1 {
						sum := 0.0
						for k, x := range shares[(a*m1+c)*tr.Spines():][:tr.Spines()] {
							if sum += x; x > 0 && (!tr.Alive(a, k) || !tr.Alive(c, k)) {
								t.Errorf("%s without %v: leaf%d to leaf%d over dead spine%d", tr.Notation(), tr.DownNames(), a, c, k)
							}
						}
						if want := float64(m0 * m0); a != c && (sum < 0.99*want || sum > 1.01*want) {
							t.Errorf("%s: shares of %f, want %f", tr.Notation(), sum, want)
						}
					}
				}
			}
		}
	}
	expect.True(t, kinds[scheduler.KindSend] != 0 && kinds[scheduler.KindUp] != 0 && kinds[scheduler.KindLP] != 0, "kinds of bounds %v", kinds)
}

// Large sizes are summed up exactly, and each direction counts by itself.
func TestBoundBytesKinds(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2})
	one := expect.Value(tr.Without(topology.Link{Leaf: 1, Spine: 0}))(t)
	const n = 1 << 40
	for _, tt := range []struct {
		name  string
		tree  *topology.Tree
		bytes map[[2]int]int64
		want  int
		kind  string
		at    int
	}{
		{"send", tr, map[[2]int]int64{{1, 0}: n, {1, 2}: n + 1}, 2*n + 1, scheduler.KindSend, 1},
		{"receive", tr, map[[2]int]int64{{1, 3}: n, {2, 3}: n + 1}, 2*n + 1, scheduler.KindReceive, 3},
		{"up", one, map[[2]int]int64{{2, 0}: n, {3, 1}: n + 1}, 2*n + 1, scheduler.KindUp, 1},
		{"down", one, map[[2]int]int64{{0, 2}: n, {1, 3}: n + 1}, 2*n + 1, scheduler.KindDown, 1},
	} {
		b, _, err := scheduler.BoundBytes(tt.tree, func(i, j int) int64 { return tt.bytes[[2]int{i, j}] })
		expect.True(t, err == nil && b.Phases == tt.want && b.Kind == tt.kind && b.At == tt.at, "%s: %+v, error %v", tt.name, b, err)
	}
}
