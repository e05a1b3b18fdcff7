package judge

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"evbench/internal/parallel"
	"evbench/topology"
)

// A Repair is the repair of a dead link, after the repairs before it, or the return of a slow link
// to its full rate.
type Repair struct {
	Link string `json:"link"`
	// Slow is the remaining share of the rate of a slow link, 0 for a dead one.
	Slow float64 `json:"slow,omitempty"`
	// Phases is the least time of an exchange after it, in phases of a whole link, and Efficiency
	// the resulting limit. ByteTimes is that time where messages have sizes.
	Phases     float64 `json:"phases,omitempty"`
	ByteTimes  float64 `json:"byte_times,omitempty"`
	Efficiency float64 `json:"efficiency"`
}

const (
	// exactFaults is the number of faults up to which the best order is exact.
	exactFaults = 5
	// mostBounds is about how many bounds are computed for an order. With many faults, later
	// repairs stay unranked.
	mostBounds = 1000
)

// repairs ranks the dead and slow links of a tree: of all orders the one with the least sum of phases
// after each repair, the cost of exchanges while repairs go on. For few links it is exact, else
// greedy.
func (f *fabric) repairs(faults []fault) (out []Repair) {
	if len(faults) <= exactFaults {
		out = f.exact(faults)
	} else {
		out = f.greedy(faults)
	}
	for i, r := range out {
		out[i].Efficiency = float64(f.traffic.most) / r.Phases
		if f.traffic.bytes != nil {
			out[i].Phases, out[i].ByteTimes = 0, r.Phases
		}
	}
	return out
}

// greedy takes the link that lowers the bound most, among equal ones a dead link, then the link
// that most lowers the need of the leaves with the fullest links. d links take d²/2 bounds, up to
// mostBounds.
func (f *fabric) greedy(faults []fault) []Repair {
	var out []Repair
	faults = slices.Clone(faults)
	for spent := 0; len(faults) > 0 && (spent == 0 || spent+len(faults) <= mostBounds); spent += len(faults) + 1 {
		phases, tied := make([]float64, len(faults)), make([]int, len(faults))
		without := func(i int) []fault { return slices.Delete(slices.Clone(faults), i, i+1) }
		parallel.Each(0, len(faults), func(_, i int) { phases[i], tied[i] = f.bound(without(i)).phases, i })
		slow := func(i int) float64 { return math.Ceil(faults[i].share) } // 0 for a dead link, 1 for a slow one
		order := func(i, j int) int { return cmp.Or(cmp.Compare(phases[i], phases[j]), cmp.Compare(slow(i), slow(j))) }
		best := slices.MinFunc(tied, order)
		tied = slices.DeleteFunc(tied, func(i int) bool { return order(i, best) != 0 })
		if len(tied) > 1 {
			loads := make([][]float64, len(faults))
			parallel.Each(0, len(tied), func(_, i int) { loads[tied[i]] = f.evenLoads(without(tied[i])) })
			best = slices.MinFunc(tied, func(i, j int) int { return slices.Compare(loads[i], loads[j]) })
		}
		out = append(out, Repair{Link: faults[best].name, Slow: faults[best].share, Phases: phases[best]})
		faults = slices.Delete(faults, best, best+1)
	}
	return out
}

// evenLoads returns the loads of links by their capacity, the greatest first, if each two leaves
// divide their messages over their live paths by capacity: evenly, if all links are equal. For more
// than boundLoads paths it returns nil.
func (f *fabric) evenLoads(left []fault) []float64 {
	var dead []topology.Link
	for _, x := range left {
		if x.share == 0 {
			dead = append(dead, f.tree.CableOf(x.link)...)
		}
	}
	t, _ := f.tree.Healthy().Without(dead...)
	if t.Leaves()*t.Leaves()*t.Paths() > boundLoads {
		return nil
	}
	c := f.capacities(t, left)
	load := make([]float64, t.AllLinks())
	var links [4]topology.Link
	var shares []float64 // by path
	for a := range t.Leaves() {
		for b := a + 1; b < t.Leaves(); b++ {
			n, all := max(f.demand[a*t.Leaves()+b], f.demand[b*t.Leaves()+a]), 0.0
			paths := t.LivePaths(a, b)
			shares = shares[:0]
			for _, p := range paths {
				shares = append(shares, c.path(a, b, p))
				all += shares[len(shares)-1]
			}
			for i, p := range paths {
				for _, l := range t.AppendPath(links[:0], a, b, p) {
					load[t.LinkID(l)] += n * shares[i] / all
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

// boundLoads is the most paths between leaves that evenLoads follows.
const boundLoads = 1 << 25

// exact finds the best order by all sets of faults, with 2^d bounds.
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
			// Among equal sums, the order whose bound falls first.
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
