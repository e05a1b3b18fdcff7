package scheduler

import (
	"slices"

	"evbench/topology"
)

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
