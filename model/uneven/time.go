package uneven

import (
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// Time returns how long all phases of a pinned schedule last, in message times. A phase lasts as
// long as its slowest message. O(messages).
func Time(s *scheduler.Schedule, t *topology.Tree, r topology.Rates) (sum float64) {
	if len(r.Slow)+len(r.Hosts) == 0 {
		return float64(s.Phases)
	}
	share, host := map[topology.Link]float64{}, slices.Repeat([]float64{1}, s.Ranks)
	for _, x := range r.Slow {
		share[x.Link] = x.Share
	}
	for _, x := range r.Hosts {
		host[x.Rank] = x.Share
	}
	leaf, phase := t.LeafOfRanks(), slices.Repeat([]float64{1}, s.Phases)
	for src := range s.Ranks {
		for dst := range s.Ranks {
			k, spine := s.At(src, dst)
			if !s.Meets(src, dst) {
				continue
			}
			if phase[k] = max(phase[k], 1/host[src], 1/host[dst]); spine == scheduler.None {
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

// Over returns which of some slow links have a message. O(messages).
func Over(s *scheduler.Schedule, t *topology.Tree, slow []topology.SlowLink) (used []topology.SlowLink) {
	has, leaf := map[topology.Link]bool{}, t.LeafOfRanks()
	for m := range s.All() {
		if m.Spine != scheduler.None {
			for _, l := range t.PathLinks(leaf[m.Src], leaf[m.Dst], t.PathOf(m.Spine, s.Top(m.Src, m.Dst))) {
				has[l] = true
			}
		}
	}
	for _, x := range slow {
		if has[x.Link] {
			used = append(used, x)
		}
	}
	return used
}
