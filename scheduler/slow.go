package scheduler

import (
	"fmt"
	"slices"

	"evbench/topology"
)

// AroundSlow plans a tree with slow links in several ways and returns the fastest: with all slow
// links in use, and without the links up to one of their shares, for each share. plan returns its
// result and its time; a result whose time is 0, not known, is returned at once. If no way is planned,
// AroundSlow returns the first error of plan. O(distinct shares) plans.
func AroundSlow[P any](t *topology.Tree, slow []topology.SlowLink, plan func(t *topology.Tree, avoid []topology.SlowLink) (P, float64, error)) (best P, err error) {
	shares := []float64{0}
	for _, x := range slow {
		shares = append(shares, x.Share)
	}
	slices.Sort(shares)
	least := 0.0
	var first error
	for _, most := range slices.Compact(shares) {
		var avoid []topology.SlowLink
		var links []topology.Link
		for _, x := range slow {
			if x.Share <= most {
				avoid, links = append(avoid, x), append(links, x.Link)
			}
		}
		without, err := t.Without(links...)
		if err != nil {
			return best, fmt.Errorf("slow links: %w", err)
		}
		p, time, err := plan(without, avoid)
		if err != nil && first == nil {
			first = err
		}
		if err == nil && time == 0 {
			return p, nil
		}
		if err == nil && (least == 0 || time < least*(1-1e-9)) {
			best, least = p, time
		}
	}
	if least == 0 {
		return best, first
	}
	return best, nil
}

// Time returns how long all phases of a pinned schedule last, in message times. A phase lasts as
// long as its slowest message. O(messages).
func (s *Schedule) Time(t *topology.Tree, slow []topology.SlowLink) (sum float64) {
	if len(slow) == 0 {
		return float64(s.Phases)
	}
	share := map[topology.Link]float64{}
	for _, x := range slow {
		share[x.Link] = x.Share
	}
	leaf, phase := t.LeafOfRanks(), slices.Repeat([]float64{1}, s.Phases)
	for src := range s.Ranks {
		for dst := range s.Ranks {
			k, spine := s.At(src, dst)
			if !s.Meets(src, dst) || spine == None {
				continue
			}
			for _, l := range t.PathLinks(leaf[src], leaf[dst], t.PathOf(spine, s.Top(src, dst))) {
				if x := share[l]; x > 0 {
					phase[k] = max(phase[k], 1/x)
				}
			}
		}
	}
	for _, x := range phase {
		sum += x
	}
	return sum
}
