package judge

import (
	"errors"

	"evbench/scheduler"
	"evbench/scheduler/list"
	"evbench/scheduler/order"
	"evbench/site/network"
	"evbench/topology"
)

// Planned is the result of the schedule fors.
type Planned struct {
	Schedule   string  `json:"schedule"`
	Phases     int     `json:"phases,omitempty"`
	Efficiency float64 `json:"efficiency"`
	// Avoids are slow links that the schedule takes for dead. Uses are slow links that make their
	// phases longer.
	Avoids []string `json:"avoids,omitempty"`
	Uses   []string `json:"uses,omitempty"`

	made *scheduler.Schedule
}

// planned makes the schedule fors. It uses all slow links, or takes those below one of their rates
// for dead, whichever takes the least time; nil: none was made.
func (f *fabric) planned(faults []fault, say *notes) *Planned {
	switch {
	case f.net.Adaptive: // a plan has its own paths
		return nil
	case f.tree.Servers() > planHosts:
		say.add("no schedule was planned: more than %d hosts; evbench plan does it", planHosts)
		return nil
	case f.traffic.bytes != nil:
		return f.sizedPlan(say)
	}
	var slow []topology.SlowLink
	names := map[topology.Link]string{}
	for _, x := range faults {
		if x.share > 0 && x.host == network.NoNode {
			slow = append(slow, topology.SlowLink{Link: x.link, Share: x.share})
			names[x.link] = x.name
		}
	}
	var r topology.Rates
	for rank, v := range f.places.Host {
		if x := f.capacity(network.End{Node: v, Port: 1}); x < 1 {
			r.Hosts = append(r.Hosts, topology.SlowHost{Rank: rank, Share: x})
		}
	}
	c := f.capacities(f.tree, faults)
	for id, x := range c.link {
		if l := f.tree.LinkOf(id); x < 1 && f.tree.LinkAlive(l) {
			r.Slow = append(r.Slow, topology.SlowLink{Link: l, Share: x})
		}
	}
	p, about, err := order.Around(f.tree, slow, func(t *topology.Tree) (*Planned, float64, error) {
		s, b, err := scheduler.FORS(t, scheduler.Options{})
		if err != nil {
			return nil, 0, err
		}
		if len(r.Hosts)+len(r.Slow) > 0 || s.Phases > b.Phases {
			s = order.Share(s, t, r, false)
		}
		p := &Planned{Schedule: s.Name, made: s}
		p.Phases, p.Efficiency = f.time(s, r)
		return p, 1 / p.Efficiency, nil
	})
	if err != nil {
		say.add("no schedule was planned: %v", err)
		return nil
	}
	for _, x := range about.Avoids {
		p.Avoids = append(p.Avoids, names[x.Link])
	}
	for _, x := range order.Over(p.made, f.tree, about.Uses) {
		p.Uses = append(p.Uses, names[x.Link])
	}
	return p
}

// time returns how many phases of a schedule have messages of the exchange, and the share of the
// link rate that they allow: a phase is as long as its slowest link needs.
func (f *fabric) time(s *scheduler.Schedule, r topology.Rates) (phases int, efficiency float64) {
	if f.even && f.traffic.plain() {
		return s.Phases, float64(f.traffic.most) / float64(s.Phases)
	}
	phases, time := order.TimeOf(s, f.tree, r, func(src, dst int) bool { return f.traffic.size(f.job[src], f.job[dst]) > 0 })
	return phases, float64(f.traffic.most) / time
}

// sizedPlan plans fragments of these sizes, without phases.
func (f *fabric) sizedPlan(say *notes) *Planned {
	m, err := list.NewMatrix(f.tree.Servers())
	if err == nil && !f.even {
		err = errors.New("links have different rates")
	}
	for i := 0; err == nil && i < len(f.job); i++ {
		for j := 0; err == nil && j < len(f.job); j++ {
			if n := f.traffic.size(f.job[i], f.job[j]); n > 0 {
				err = m.Set(i, j, n)
			}
		}
	}
	var p *list.Plan
	if err == nil {
		p, err = list.Make(f.tree, m, list.Options{Split: true})
	}
	if err != nil {
		say.add("no order was planned: %v", err)
		return nil
	}
	return &Planned{Schedule: "ordered", Efficiency: float64(f.traffic.most) / float64(p.Time)}
}
