package judge

import (
	"evbench/internal/answer"
	"evbench/model/order"
)

// Ordered is the best order of the messages over the present tables: nobody need load anything for it.
type Ordered struct {
	Schedule   string  `json:"schedule"`
	Phases     int     `json:"phases"`
	Least      float64 `json:"least_message_times"` // no order over these tables takes less
	Efficiency float64 `json:"efficiency"`
	Command    string  `json:"command"`
}

// orderHosts is up to how many hosts an order is made.
const orderHosts = 512

func (v *Verdict) order(f *fabric, in Input) {
	switch {
	case in.Tables == nil || f.traffic.bytes != nil || f.traffic.reads != nil || len(f.hosts.Nodes) < 2:
		return
	case v.servers > orderHosts:
		v.note("no order of messages was planned: more than %d hosts; evbench plan --tables does it", orderHosts)
		return
	}
	p, err := order.NewProblem(in.Tables, order.Options{Nodes: f.hosts.Nodes, Host: f.hosts.Host, Skip: func(src, dst int) bool { return f.traffic.size(src, dst) == 0 }})
	if err != nil {
		v.note("no order of messages was planned: %v", err)
		return
	}
	s := order.Best(p, -1)
	from := []string{"--engine", in.Tables.Engine}
	if in.TablesFile != "" {
		from = []string{"--tables", in.TablesFile}
	}
	v.Ordered = &Ordered{
		Schedule: order.Name, Phases: s.Phases, Least: p.Bound().Time, Efficiency: float64(f.traffic.most) / p.Time(s),
		Command: answer.Typed(append(append([]string{"evbench", "plan"}, in.Flags...), from...)...),
	}
}
