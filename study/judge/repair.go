package judge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"evbench/internal/parallel"
	"evbench/topology"
)

// A Repair is a dead link that is repaired after those before it, or a slow one that is
// brought to its full rate.
type Repair struct {
	Link string `json:"link"`
	// Slow is what is left of the rate of a slow link, 0 of a dead one.
	Slow float64 `json:"slow,omitempty"`
	// Phases is the least time of an exchange after it, in phases of a whole link, Efficiency what that allows.
	Phases     float64 `json:"phases"`
	Efficiency float64 `json:"efficiency"`
}

const (
	// exactFaults is up to how many faults the best of all orders is found.
	exactFaults = 5
	// mostBounds is about how many bounds are computed for an order; later repairs of many
	// are not ranked.
	mostBounds = 1000
)

// order ranks the dead and slow links of a tree: of all orders the one with the least sum of
// phases after each repair, which is what exchanges cost while repairs are done one after the
// other. It is found exactly for few links, else by greedy.
func (f *fabric) order(faults []fault) []Repair {
	if len(faults) <= exactFaults {
		return f.exact(faults)
	}
	return f.greedy(faults)
}

// greedy takes the link with which the bound falls most, and of equal ones a dead one, then
// that which lowers most what the leaves with the fullest links need. d links take d²/2 bounds, as long as
// there are not more than mostBounds.
func (f *fabric) greedy(faults []fault) []Repair {
	var out []Repair
	faults = slices.Clone(faults)
	for spent := 0; len(faults) > 0 && (spent == 0 || spent+len(faults) <= mostBounds); spent += len(faults) + 1 {
		type trial struct {
			phases float64
			loads  []float64
		}
		trials := make([]trial, len(faults))
		parallel.Each(0, len(faults), func(_, i int) {
			left := slices.Delete(slices.Clone(faults), i, i+1)
			trials[i] = trial{f.bound(left).phases, f.evenLoads(left)}
		})
		best := 0
		for i, x := range trials {
			b := trials[best]
			dead, before := faults[i].share == 0, faults[best].share == 0
			if x.phases < b.phases || x.phases == b.phases && (dead && !before || dead == before && slices.Compare(x.loads, b.loads) < 0) {
				best = i
			}
		}
		out = append(out, Repair{Link: faults[best].name, Slow: faults[best].share, Phases: trials[best].phases})
		faults = slices.Delete(faults, best, best+1)
	}
	return out
}

// evenLoads returns the loads of links by their capacity, the greatest first, where each two
// leaves divide their messages over their live paths by what these carry: evenly, if all links
// are equal. Of more than boundLoads paths nothing is said.
func (f *fabric) evenLoads(left []fault) []float64 {
	var dead []topology.Link
	for _, x := range left {
		if x.share == 0 {
			dead = append(dead, x.link)
		}
	}
	t, _ := f.tree.Healthy().Without(dead...)
	if t.Leaves()*t.Leaves()*t.Paths() > boundLoads {
		return nil
	}
	c := f.capacities(t, left)
	load := make([]float64, t.AllLinks())
	for a := range t.Leaves() {
		for b := a + 1; b < t.Leaves(); b++ {
			n, all := float64(t.On(a)*t.On(b)), 0.0
			paths := t.LivePaths(a, b)
			for _, p := range paths {
				all += c.path(a, b, p)
			}
			for _, p := range paths {
				for _, l := range t.PathLinks(a, b, p) {
					load[t.LinkID(l)] += n * c.path(a, b, p) / all
				}
			}
		}
	}
	for i, x := range load {
		if c.link[i] > 0 {
			x /= c.link[i]
		}
		load[i] = math.Round(x * 1e9) // equal loads are equal whatever the order of sums
	}
	slices.SortFunc(load, func(a, b float64) int { return cmp.Compare(b, a) })
	return load
}

// boundLoads is up to how many paths between leaves evenLoads follows.
const boundLoads = 1 << 25

// exact finds the best order by all sets of faults. 2^d bounds.
func (f *fabric) exact(faults []fault) []Repair {
	d := len(faults)
	bound := make([]float64, 1<<d)
	parallel.Each(0, len(bound), func(_, set int) { bound[set] = f.bound(subset(faults, set)).phases })
	rest := make([]float64, 1<<d) // the least sum of bounds from this set of faults on
	first := make([]int, 1<<d)
	for set := 1; set < len(rest); set++ {
		rest[set] = math.Inf(1)
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
		out = append(out, Repair{Link: faults[i].name, Slow: faults[i].share, Phases: bound[set]})
	}
	return out
}

func subset(faults []fault, set int) (out []fault) {
	for i, x := range faults {
		if set>>i&1 == 1 {
			out = append(out, x)
		}
	}
	return out
}
