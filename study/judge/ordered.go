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

// better reports whether an efficiency in phases is more than the present one: what was measured, what the tables give
// in phases, and, but for 3 % or two steps as in package order, what they allow at best without.
func (v *Verdict) better(x float64) bool {
	if m := v.Measured; m != nil && m.Limit == "" && x <= m.Efficiency*(1+1e-9) {
		return false
	}
	t, each := v.Tables, float64(v.each)
	return t == nil || x > t.Phased*(1+1e-9) && (x > t.Unphased || t.Phased > 0 && (1.03*x >= t.Unphased || each/x <= each/t.Unphased+2))
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
	p := order.New(&v.Tables.over.Problem, nil)
	s := order.Best(p, -1)
	if !v.better(float64(f.traffic.most) / p.Time(s)) {
		return
	}
	from := []string{"--engine", in.Tables.Engine}
	if in.TablesFile != "" {
		from = []string{"--tables", in.TablesFile}
	}
	v.Ordered = &Ordered{
		Schedule: schedules.PathColoring, Phases: s.Phases, Least: p.Bound().Time, Efficiency: float64(f.traffic.most) / p.Time(s),
		Command: answer.Typed(append(append([]string{"evbench", "plan"}, in.Flags...), from...)...),
	}
}
