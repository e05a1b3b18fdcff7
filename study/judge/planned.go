package judge

import (
	"slices"

	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/network"
)

// Planned is what the schedule fors gives.
type Planned struct {
	Schedule   string  `json:"schedule"`
	Phases     int     `json:"phases"`
	Efficiency float64 `json:"efficiency"`
	// Avoids are slow links that the schedule takes for dead, Uses those whose phases last longer.
	Avoids []string `json:"avoids,omitempty"`
	Uses   []string `json:"uses,omitempty"`
}

// planned makes the schedule fors. Of slow links it uses all; or all but those below one of their
// rates, as if they were dead; whatever takes the least time.
func (v *Verdict) planned(f *fabric, faults []fault) {
	if f.tree.Servers() > planHosts {
		v.note("no schedule was planned: more than %d hosts; evbench plan does it", planHosts)
		return
	}
	shares := []float64{0}
	for _, x := range faults {
		if x.share > 0 && x.host == network.NoNode {
			shares = append(shares, x.share)
		}
	}
	slices.Sort(shares)
	c := f.capacities(f.tree, faults)
	var least error
	for _, most := range slices.Compact(shares) {
		p, err := f.plan(c, faults, most)
		switch {
		case err != nil && least == nil:
			least = err
		case err == nil && (v.Planned == nil || p.Efficiency > v.Planned.Efficiency*(1+1e-9)):
			v.Planned = p
		}
	}
	if v.Planned == nil {
		v.note("no schedule was planned: %v", least)
	}
}

// plan takes slow links up to a share of their rate for dead.
func (f *fabric) plan(c *capacities, faults []fault, most float64) (*Planned, error) {
	var avoid []topology.Link
	p := &Planned{}
	for _, x := range faults {
		switch {
		case x.share == 0 || x.host != network.NoNode:
		case x.share <= most:
			avoid, p.Avoids = append(avoid, x.link), append(p.Avoids, x.name)
		default:
			p.Uses = append(p.Uses, x.name)
		}
	}
	t, err := f.tree.Without(avoid...)
	if err != nil {
		return nil, err
	}
	s, _, err := scheduler.FORS(t, scheduler.Options{})
	if err != nil {
		return nil, err
	}
	p.Schedule, p.Phases, p.Efficiency = s.Name, s.Phases, float64(t.Servers()-1)/f.time(s, c)
	return p, nil
}

// time returns how long a schedule takes, in phases of a whole link: each phase as long as its
// slowest message.
func (f *fabric) time(s *scheduler.Schedule, c *capacities) (sum float64) {
	if f.even {
		return float64(s.Phases)
	}
	host := make([]float64, s.Ranks)
	for rank := range host {
		host[rank] = f.capacity(network.End{Node: f.places.Host[rank], Port: 1})
	}
	leaf, phase := f.tree.LeafOfRanks(), make([]float64, s.Phases)
	for src := range s.Ranks {
		for dst := range s.Ranks {
			if !s.Meets(src, dst) {
				continue
			}
			k, spine := s.At(src, dst)
			rate := min(host[src], host[dst])
			if spine != scheduler.None {
				rate = min(rate, c.path(leaf[src], leaf[dst], f.tree.PathOf(spine, s.Top(src, dst))))
			}
			phase[k] = max(phase[k], 1/rate)
		}
	}
	for _, x := range phase {
		sum += x
	}
	return sum
}
