package topology_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestNewPods(t *testing.T) {
	p := parsed(t, "PGFT(3;4,3,2;1,5,6;1,1,1)")
	expect.False(t, p.Servers() != 24 || p.Leaves() != 6 || p.Spines() != 5 || p.Levels() != 3 || p.Pods() != 2 || p.PodLeaves() != 3 || p.Tops() != 6 || p.Pod(3) != 1,
		"%+v", p)
}

func TestPodsNotation(t *testing.T) {
	for _, notation := range []string{"FT(3;4,3,2)", "FT(3;2,1,1)", "PGFT(3;4,3,2;1,2,3;1,1,1)", "PGFT(3;4,3,2;1,4,9;1,1,1)"} {
		expect.Equal(t, parsed(t, notation).Notation(), notation, "Notation of %s", notation)
	}
}

// walk reports whether some path leads from leaf a to leaf b, switch by switch.
func walk(p *topology.Tree, a, b int) bool {
	for k := range p.Spines() {
		if !p.Alive(a, k) || !p.Alive(b, k) {
			continue
		}
		if p.Levels() == 2 || p.Pod(a) == p.Pod(b) {
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

// Unreachable lists the leaves with servers that no path of live links joins, on two levels and three.
func TestConnected(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 500 {
		o := topology.Options{Ports: 2, Pods: rng.IntN(4), Spines: 1 + rng.IntN(3)}
		o.Leaves = max(o.Pods, 1) * (1 + rng.IntN(3))
		if o.Pods > 0 {
			o.Tops = 1 + rng.IntN(3)
		}
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
			missing := map[int]string{2: "spine in common that is alive", 3: "live path"}[p.Levels()]
			expect.Error(t, err, fmt.Sprintf("leaf%d and leaf%d have no %s", u.A, u.B, missing))
		}
	}
	expect.True(t, apart >= 50 && apart <= 450, "%d of 500 trees are apart", apart)
}

// Both levels are drawn from alike.
func TestPodsRandom(t *testing.T) {
	p := parsed(t, "FT(3;3,3,3)", "leaf0-spine0", "pod2-spine1-top1")
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
