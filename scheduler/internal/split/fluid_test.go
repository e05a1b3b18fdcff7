package split

import (
	"math"
	"testing"

	"evbench/scheduler/internal/fattree"
	"evbench/testing/expect"
	"evbench/topology"
)

// podsWithDead returns FT(3;4,4,4) with dead links on both levels.
func podsWithDead(t *testing.T) *fattree.Tree {
	t.Helper()
	p, err := topology.New(topology.Options{Ports: 4, Leaves: 16, Pods: 4})
	expect.Must(t, err)
	above := func(pod, spine, top int) topology.Link {
		return topology.Link{Leaf: pod, Spine: spine, Above: true, Top: top}
	}
	p, err = p.Without(topology.Link{Leaf: 0, Spine: 1}, topology.Link{Leaf: 9, Spine: 1},
		above(0, 0, 2), above(1, 0, 1), above(2, 3, 3), above(3, 1, 0))
	expect.Must(t, err)
	f := fattree.New(p)
	f.Part()
	return f
}

// TestPodRestInverse checks that at is the inverse of cost.
func TestPodRestInverse(t *testing.T) {
	f := podsWithDead(t)
	w := NewFluid(f)
	w.Ceiling = 60
	for _, p := range w.F.Pairs {
		for _, k := range p.Spines {
			var r rest
			w.remainOf(&r, &p, int(k))
			for _, x := range []float64{0.5, 1, 7, 40, 1000} {
				got, _ := r.at(r.cost(x, steep), steep)
				expect.MustTrue(t, math.Abs(got-x) <= 1e-6*x, "leaves %d and %d, plane %d: at(cost(%g)) = %g", p.A, p.B, k, x, got)
			}
		}
	}
}
