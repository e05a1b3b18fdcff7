package scheduler_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"evbench/internal/expect"
	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// Of equal fragments the bound in bytes is the bound on phases.
func TestBoundBytesOfEqualSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	kinds := map[string]int{}
	for m0 := 2; m0 <= 6; m0++ {
		for m1 := 2; m1 <= 6; m1++ {
			for range 4 {
				tr := topologytest.Tree(t, topology.Options{Ports: m0, Leaves: m1})
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
				if want := scheduler.LowerBound(tr, scheduler.Options{}); int(b.Time) != want.Phases {
					t.Errorf("%s without %v: %d (%s), want %d (%s)", tr.Notation(), tr.DownNames(), b.Time, b.Kind, want.Phases, want)
				}
				kinds[b.Kind]++
				for a := range m1 {
					for c := range m1 {
						sum := 0.0
						for k, x := range shares.Of(a, c) {
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
	one, err := tr.Without(topology.Link{Leaf: 1, Spine: 0})
	expect.Must(t, err)
	const n = 1 << 40
	for _, tt := range []struct {
		name  string
		tree  *topology.Tree
		bytes map[[2]int]int64
		want  int64
		kind  string
		at    int
	}{
		{"send", tr, map[[2]int]int64{{1, 0}: n, {1, 2}: n + 1}, 2*n + 1, scheduler.KindSend, 1},
		{"receive", tr, map[[2]int]int64{{1, 3}: n, {2, 3}: n + 1}, 2*n + 1, scheduler.KindReceive, 3},
		{"up", one, map[[2]int]int64{{2, 0}: n, {3, 1}: n + 1}, 2*n + 1, scheduler.KindUp, 1},
		{"down", one, map[[2]int]int64{{0, 2}: n, {1, 3}: n + 1}, 2*n + 1, scheduler.KindDown, 1},
	} {
		b, _, err := scheduler.BoundBytes(tt.tree, func(i, j int) int64 { return tt.bytes[[2]int{i, j}] })
		expect.True(t, err == nil && b.Time == tt.want && b.Kind == tt.kind && b.At == tt.at, "%s: %+v, error %v", tt.name, b, err)
	}
}
