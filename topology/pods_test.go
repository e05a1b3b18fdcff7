package topology_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/topology"
	"evbench/topology/topologytest"
)

func pods(t testing.TB, notation string, down ...string) *topology.Tree {
	t.Helper()
	o := expect.Value(topology.Parse(notation))(t)
	return topologytest.Tree(t, o, down...)
}

func TestNewPods(t *testing.T) {
	p := pods(t, "PGFT(3;4,3,2;1,5,6;1,1,1)")
	if p.Servers() != 24 || p.Leaves() != 6 || p.Spines() != 5 || p.Levels() != 3 || p.Pods() != 2 || p.PodLeaves() != 3 || p.Tops() != 6 || p.Pod(3) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestPodsNotation(t *testing.T) {
	for _, notation := range []string{"FT(3;4,3,2)", "FT(3;2,1,1)", "PGFT(3;4,3,2;1,2,3;1,1,1)", "PGFT(3;4,3,2;1,4,9;1,1,1)"} {
		expect.Equal(t, pods(t, notation).Notation(), notation, "Notation of %s", notation)
	}
}

func TestPodsLinks(t *testing.T) {
	p := pods(t, "PGFT(3;4,3,2;1,5,7;1,1,1)")
	for _, tt := range []struct {
		name      string
		low, tops int
		err       string
	}{
		{name: "leaf5-spine4", low: 1},
		{name: "pod1-spine4-top6", tops: 1},
		{name: "pod1-spine4", low: 3, tops: 7},
		{name: "spine4-top6", tops: 2},
		{name: "spine4", low: 6, tops: 14},
		{name: "leaf6-spine0", err: `no link "leaf6-spine0"; PGFT(3;4,3,2;1,5,7;1,1,1) has leaf0..leaf5, pod0..pod1, spine0..spine4 and top0..top6 of each spine`},
		{name: "pod2-spine0-top0", err: `no link "pod2-spine0-top0"`},
		{name: "pod0-spine5", err: `no middle switch "pod0-spine5"`},
		{name: "spine0-top7", err: `no top switch "spine0-top7"`},
		{name: "spine5", err: `no plane "spine5"`},
		{name: "pod1", err: `"pod1" is none of a link`},
		{name: "spine99999999999999999999", err: "no plane"},
	} {
		links, err := p.Links(tt.name)
		if tt.err != "" {
			expect.Error(t, err, tt.err)
			continue
		}
		low := 0
		for _, l := range links {
			if !l.Above {
				low++
			}
		}
		expect.True(t, err == nil && low == tt.low && len(links)-low == tt.tops && slices.IsSortedFunc(links, topology.Link.Compare),
			"Links(%q) = %v, %v; want %d and %d", tt.name, links, err, tt.low, tt.tops)
		v := topologytest.Without(t, topology.Options{Ports: 4, Leaves: 6, Pods: 2, Spines: 5, Tops: 7}, links...)
		names := v.DownNames()
		expect.True(t, len(names) == len(links) && len(p.DownNames()) == 0 && reflect.DeepEqual(v, pods(t, p.Notation(), names...)),
			"without %s: %v are dead, which does not give the tree back", tt.name, names)
	}
}

// walk reports whether some path leads from leaf a to leaf b, switch by switch.
func walk(p *topology.Tree, a, b int) bool {
	for k := range p.Spines() {
		if !p.Alive(a, k) || !p.Alive(b, k) {
			continue
		}
		if p.Pod(a) == p.Pod(b) {
			return true
		}
		for top := range p.Tops() {
			if p.TopAlive(p.Pod(a), k, top) && p.TopAlive(p.Pod(b), k, top) {
				return true
			}
		}
	}
	return false
}

func TestPodsConnected(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 500 {
		o := topology.Options{Ports: 2, Pods: 1 + rng.IntN(3), Spines: 1 + rng.IntN(3), Tops: 1 + rng.IntN(3)}
		o.Leaves = o.Pods * (1 + rng.IntN(3))
		o.Fill = []int{1}
		for len(o.Fill) < o.Leaves {
			o.Fill = append(o.Fill, rng.IntN(3))
		}
		o.Fill[0] = 2
		var dead []topology.Link
		for id := range (o.Leaves + o.Pods*o.Tops) * o.Spines {
			if rng.Float64() < 0.3 {
				dead = append(dead, topologytest.Without(t, o).LinkOf(id))
			}
		}
		p := topologytest.Without(t, o, dead...)
		var want [][2]int
		for a := range o.Leaves {
			for b := a + 1; b < o.Leaves; b++ {
				if o.Fill[a] > 0 && o.Fill[b] > 0 && !walk(p, a, b) {
					want = append(want, [2]int{a, b})
				}
			}
		}
		got := p.Unreachable()
		expect.MustTrue(t, slices.Equal(got, want), "%s down %v: unreachable %v, want %v", p.Notation(), p.DownNames(), got, want)
		err := p.Connected()
		var u *topology.UnreachableError
		expect.MustFalse(t, len(want) == 0 && err != nil || len(want) > 0 && (!errors.As(err, &u) || [2]int{u.A, u.B} != want[0]),
			"%s down %v: %v, want %v", p.Notation(), p.DownNames(), err, want)
		if len(want) > 0 {
			apart++
			expect.True(t, strings.Contains(err.Error(), fmt.Sprintf("leaf%d and leaf%d have no live path", u.A, u.B)), "error %v", err)
		}
	}
	expect.True(t, apart >= 50 && apart <= 450, "%d of 500 trees are apart", apart)
}

// Both levels are drawn from alike.
func TestPodsRandom(t *testing.T) {
	p := pods(t, "FT(3;3,3,3)", "leaf0-spine0", "pod2-spine1-top1")
	upper := 0
	for seed := range uint64(50) {
		links := expect.Value(p.Random(3, seed))(t)
		for _, l := range links {
			if l.Above {
				upper++
			}
		}
	}
	expect.True(t, upper >= 40 && upper <= 110, "%d upper links of 150 drawn: both levels are of equal size", upper)
	for _, n := range []int{-1, 53, 52} {
		expect.True(t, expect.Err(p.Random(n, 1)) != nil, "%d of 52 links were drawn", n)
	}
}

func TestPodsWires(t *testing.T) {
	p := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2, Spines: 3, Tops: 2, Fill: []int{2, 1, 0, 2}})
	seen := map[string]bool{}
	for w := range p.Wires() {
		link, direction := p.WireName(topology.Wire(w))
		seen[link+" "+direction] = true
	}
	expect.True(t, len(seen) == p.Wires() && len(seen) == 2*(12+5+12), "%d names for %d wires", len(seen), p.Wires())
	for _, tt := range []struct {
		src, dst, plane, top int
		want                 string
	}{
		{0, 1, -1, -1, "server0-leaf0 up, server1-leaf0 down"},
		{0, 2, 1, -1, "server0-leaf0 up, leaf0-spine1 up, leaf1-spine1 down, server2-leaf1 down"},
		{4, 2, 2, 1, "server7-leaf3 up, leaf3-spine2 up, pod1-spine2-top1 up, pod0-spine2-top1 down, leaf1-spine2 down, server2-leaf1 down"},
	} {
		var names []string
		for _, w := range p.Path(nil, tt.src, tt.dst, p.PathOf(tt.plane, tt.top)) {
			link, direction := p.WireName(w)
			names = append(names, link+" "+direction)
		}
		expect.Equal(t, strings.Join(names, ", "), tt.want, "path")
	}
}
