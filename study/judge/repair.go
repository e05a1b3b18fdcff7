package judge

import (
	"math"
	"math/bits"
	"slices"

	"evbench/internal/parallel"
	"evbench/scheduler"
	"evbench/topology"
)

// A Repair is a dead link that is repaired after those before it.
type Repair struct {
	Link string `json:"link"`
	// Phases is the least number of an exchange after it, Efficiency what that allows.
	Phases     int     `json:"phases"`
	Efficiency float64 `json:"efficiency"`
	link       topology.Link
}

const (
	// exactDead is up to how many dead links the best of all orders is found.
	exactDead = 5
	// mostBounds is about how many bounds are computed for an order; later repairs of many
	// are not ranked.
	mostBounds = 1000
)

// order ranks the dead links of a tree: of all orders the one with the least sum of phases
// after each repair, which is what exchanges cost while repairs are done one after the other.
// It is found exactly for few links, else by greedy.
func order(t *topology.Tree) []Repair {
	if dead := t.Dead(); len(dead) <= exactDead {
		return exact(t, dead)
	}
	return greedy(t)
}

// phases returns the bound of a tree in which only some links are dead. A tree has them all.
func phases(t *topology.Tree, dead []topology.Link) int {
	d, err := t.Healthy().Without(dead...)
	if err != nil {
		return math.MaxInt32 // not met: these were dead in t
	}
	return scheduler.LowerBound(d).Phases
}

// greedy takes the link with which the bound falls most, and of equal ones that which lowers
// most what the leaves with the fullest links need. d dead links take d²/2 bounds, as long as
// there are not more than mostBounds.
func greedy(t *topology.Tree) []Repair {
	dead := t.Dead()
	var out []Repair
	for spent := 0; len(dead) > 0 && (spent == 0 || spent+len(dead) <= mostBounds); spent += len(dead) + 1 {
		type trial struct {
			phases int
			loads  []float64
		}
		trials := make([]trial, len(dead))
		parallel.Each(0, len(dead), func(_, i int) {
			left := slices.Delete(slices.Clone(dead), i, i+1)
			d, _ := t.Healthy().Without(left...)
			trials[i] = trial{scheduler.LowerBound(d).Phases, evenLoads(d)}
		})
		best := 0
		for i, x := range trials {
			b := trials[best]
			if x.phases < b.phases || x.phases == b.phases && slices.Compare(x.loads, b.loads) < 0 {
				best = i
			}
		}
		out = append(out, Repair{link: dead[best], Phases: trials[best].phases})
		dead = slices.Delete(dead, best, best+1)
	}
	return out
}

// evenLoads returns the loads of links, the greatest first, where each two leaves divide
// their messages evenly over their live paths.
func evenLoads(t *topology.Tree) []float64 {
	load := make([]float64, t.AllLinks())
	for a := range t.Leaves() {
		for b := a + 1; b < t.Leaves(); b++ {
			paths := t.LivePaths(a, b)
			share := float64(t.On(a)*t.On(b)) / float64(max(1, len(paths)))
			for _, p := range paths {
				for _, l := range t.PathLinks(a, b, p) {
					load[t.LinkID(l)] += share
				}
			}
		}
	}
	for i, x := range load {
		load[i] = math.Round(x * 1e9) // equal loads are equal whatever the order of sums
	}
	slices.SortFunc(load, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return load
}

// exact finds the best order by all sets of links that may be dead. 2^d bounds.
func exact(t *topology.Tree, dead []topology.Link) []Repair {
	d := len(dead)
	bound := make([]int, 1<<d)
	parallel.Each(0, len(bound), func(_, set int) { bound[set] = phases(t, subset(dead, set)) })
	rest := make([]int, 1<<d) // the least sum of bounds from this set of dead links on
	first := make([]int, 1<<d)
	for set := 1; set < len(rest); set++ {
		rest[set] = math.MaxInt
		for i := range d {
			if set>>i&1 == 0 {
				continue
			}
			left := set &^ (1 << i)
			// Of equal sums the one that falls first.
			if sum := bound[left] + rest[left]; sum < rest[set] || sum == rest[set] && bound[left] < bound[set&^(1<<first[set])] {
				rest[set], first[set] = sum, i
			}
		}
	}
	var out []Repair
	for set := len(rest) - 1; bits.OnesCount(uint(set)) > 0; {
		i := first[set]
		set &^= 1 << i
		out = append(out, Repair{link: dead[i], Phases: bound[set]})
	}
	return out
}

func subset(links []topology.Link, set int) (out []topology.Link) {
	for i, l := range links {
		if set>>i&1 == 1 {
			out = append(out, l)
		}
	}
	return out
}
