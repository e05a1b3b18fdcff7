package judge

import (
	"evbench/internal/answer"
	"evbench/scheduler/order"
	"evbench/scheduler/schedules"
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

// ordered is the best order over tables; nil: none was made.
func (f *fabric) ordered(t *Tables, in Input, say *notes) *Ordered {
	switch {
	case f.traffic.bytes != nil || f.traffic.reads != nil || len(f.hosts.Nodes) < 2:
		return nil
	case len(f.hosts.Nodes) > orderHosts:
		say.add("no order of messages was planned: more than %d hosts; evbench plan --tables does it", orderHosts)
		return nil
	}
	p := order.New(&t.over.Problem, nil)
	s := order.Best(p, -1)
	from := []string{"--engine", t.Engine}
	if in.TablesFile != "" {
		from = []string{"--tables", in.TablesFile}
	}
	return &Ordered{
		Schedule: schedules.PathColoring, Phases: s.Phases, Least: p.Bound().Time, Efficiency: float64(f.traffic.most) / p.Time(s),
		Command: answer.Typed(append(append([]string{"evbench", "plan"}, in.Flags...), from...)...),
	}
}
