package foreign

import (
	"cmp"
	"fmt"
	"slices"
)

// Pairs are rates between each two ends of a benchmark.
type Pairs struct {
	Names []string // of the ends, as the output has them; a host may have several
	List  []Pair
	// Shifts: all pairs of the linear shift were measured, a phase at a time.
	Shifts bool
}

// A Pair is what Dst received from Src, in bit/s. Pairs of one group ran at the same time.
type Pair struct {
	Src, Dst int // in Names
	Rate     float64
	Group    int
}

// maxEnds bounds the ends of pairs: a matrix of 8192 is half a gigabyte of text.
const maxEnds = 8192

// spans puts tests that ran at the same time into one group: those that overlap the first
// test of the group for more than half of the shorter of the two.
func (p *Pairs) spans(from, to []float64) {
	order := make([]int, len(p.List))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(from[a], from[b]) })
	first, group := -1, -1
	for _, i := range order {
		together := first >= 0 && min(to[i], to[first])-from[i] > min(to[i]-from[i], to[first]-from[first])/2
		if !together {
			first = i
			group++
		}
		p.List[i].Group = group
	}
}

// check refuses what is measured twice, and what is no rate.
func (p *Pairs) check() error {
	seen := make(map[[2]int]bool, len(p.List))
	for _, x := range p.List {
		pair := [2]int{x.Src, x.Dst}
		switch {
		case x.Src == x.Dst:
			return fmt.Errorf("%s sends to itself", short(p.Names[x.Src]))
		case seen[pair]:
			return fmt.Errorf("two results from %s to %s: give one run", short(p.Names[x.Src]), short(p.Names[x.Dst]))
		case !(x.Rate > 0):
			return fmt.Errorf("no rate from %s to %s", short(p.Names[x.Src]), short(p.Names[x.Dst]))
		case x.Rate > most*mib:
			return fmt.Errorf("%v bit/s from %s to %s is more than can be measured", x.Rate, short(p.Names[x.Src]), short(p.Names[x.Dst]))
		}
		seen[pair] = true
	}
	if len(p.List) == 0 {
		return fmt.Errorf("no pair was measured")
	}
	return nil
}
