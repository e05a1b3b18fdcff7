package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/controller"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// offered is the load of a case with its rate, and the efficiency to expect: no more is built than is offered.
func offered(s *scenario.Scenario, c scenario.Case, efficiency float64) (load.Load, float64, error) {
	l := c.Load
	if !l.On() {
		return l, efficiency, nil
	}
	rate, share := s.Offers(c)
	if rate <= 0 {
		return l, 0, fmt.Errorf("load: %s: the link rate is not known", l)
	}
	if share > 0 {
		efficiency = min(efficiency, share)
	}
	l.Rate = rate
	if events, room := builder.RolesOf(s.Tree).Events(), l.Room(int(s.Event.Fragment)); room < uint64(events) {
		return l, 0, fmt.Errorf("load: the buffer holds %d fragments of %s; an exchange takes %d of each source", room, s.Event.Fragment, events)
	}
	if most := s.FragmentSizes(c).Max(); s.Sizes(c).Table != nil && l.Held == 0 && l.Room(most) == 0 {
		return l, 0, fmt.Errorf("load: the buffer is smaller than a fragment of %s", unit.Bytes(most))
	}
	return l, efficiency, nil
}

// offeredOf is what became of the events that a clock offered; nil without a load.
func (r *runner) offeredOf(m *measured) *results.Offered {
	o := m.outcome.Offered
	if o == nil {
		return nil
	}
	_, share := r.s.Offers(m.Case)
	out := results.NewOffered(m.Load, share, o.Account, m.outcome.Events)
	out.Missing, out.Away, out.ClockErrorSec, out.Predicted = missing(o.Absent), away(m.outcome.Away), o.ClockError.Seconds(), m.Prediction.Load
	return out
}

// ways are the times at which servers were lost, and joined again.
func (x *measurement) ways() (out []results.LinkEvent) {
	for _, a := range x.m.outcome.Away {
		name := fmt.Sprintf("server%d", a.Server)
		out = append(out, results.LinkEvent{Link: name, TSec: a.From.Seconds()})
		if a.Back {
			out = append(out, results.LinkEvent{Link: name, Up: true, TSec: a.To.Seconds()})
		}
	}
	return out
}

// away are the times in which a case went on without servers.
func away(all []controller.Away) (out []results.Away) {
	for _, a := range all {
		x := results.Away{Server: a.Server, FromSec: a.From.Seconds()}
		if a.Back {
			x.ToSec, x.Event = new(a.To.Seconds()), new(a.Event)
		}
		out = append(out, x)
	}
	return out
}

// addOffered adds what another slice was offered.
func addOffered(a, b *controller.Offered) *controller.Offered {
	if a == nil || b == nil {
		return b
	}
	sum := &controller.Offered{Account: load.NewAccount(), ClockError: max(a.ClockError, b.ClockError), Closed: a.Closed + b.Closed, Absent: map[int]uint64{}}
	for _, x := range []*controller.Offered{a, b} {
		for server, n := range x.Absent {
			sum.Absent[server] += n
		}
		sum.Add(x.Account)
	}
	return sum
}

// missing are the sources of a count by position.
func missing(events map[int]uint64) (out []results.Missing) {
	for _, server := range slices.Sorted(maps.Keys(events)) {
		out = append(out, results.Missing{Server: server, Events: events[server]})
	}
	slices.SortStableFunc(out, func(a, b results.Missing) int { return cmp.Compare(b.Events, a.Events) })
	return out
}
