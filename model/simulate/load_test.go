package simulate_test

import (
	"math"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/model/sim"
	"evbench/model/simulate"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// loaded simulates the cases of a scenario with loads.
func loaded(t *testing.T, model, text string) (*scenario.Scenario, []*sim.Case, []*sim.Outcome) {
	s, planned := preparedOf(t, text)
	cases := expect.Value(simulate.Cases(s, planned, model))(t)
	var out []*sim.Outcome
	for _, c := range cases {
		of := map[string]sim.Model{sim.PhaseModel: sim.Phase, sim.FluidModel: sim.Fluid, sim.TCPModel: sim.Streams}[c.Model]
		out = append(out, expect.Value(of(t.Context(), &c.Job, nil))(t))
	}
	return s, cases, out
}

// A reader and a builder are a queue with one server and equal service times. Of Poisson arrivals the mean wait is
// ρ/(2µ(1−ρ)) (Pollaczek, Khinchine: M/D/1).
func TestOneLink(t *testing.T) {
	for _, model := range []string{"", sim.FluidModel} {
		s, cases, outcomes := loaded(t, model, `
topology: FT(2;2,2)
readers: server0
builders: server1
control: off
event: {phase: 1ms}
duration: 300s
sim: {round: 0s, overhead: 0s}
cases:
  - {mode: sync, schedule: linear-shift, load: {rate: 50%, arrival: poisson}}
  - {mode: sync, schedule: linear-shift, load: {rate: 80%, arrival: poisson}}
  - {mode: unsync, schedule: none, credits: 1, load: {rate: 50%, arrival: poisson}}
  - {mode: unsync, schedule: none, credits: 1, load: {rate: 80%, arrival: poisson}}
`)
		service := 8 * float64(int(s.Event.Fragment)+builder.HeaderSize) / s.Fabric.BitPerSec()
		for i, o := range outcomes {
			l, rho := o.Load, cases[i].Load.Rate*service
			p := l.Parts.Times()
			wait, want := p.Buffer.Mean+p.Order.Mean, rho*service/(2*(1-rho))
			if cases[i].Model == sim.TCPModel { // token buckets let bursts pass
				expect.True(t, wait < want && l.Refused == 0, "%s: waits %.5g s, theory %.5g s at %.3f", cases[i].Model, wait, want, rho)
				continue
			}
			expect.True(t, math.Abs(wait/want-1) < .03, "%s: waits %.5g s, theory %.5g s at %.3f", cases[i].Model, wait, want, rho)
			expect.True(t, math.Abs(p.Wire.Mean/service-1) < .001 && l.Refused == 0 && l.Latency.Count() == l.Accepted, "%s: %+v", cases[i].Model, p)
		}
	}
}

// Of a periodic clock below what the phases carry, an event waits for the others of its exchange, and for none before: its
// latency is at most (n−1)/rate and an exchange. Above it the buffers fill: dead time is 1 − carried/offered, and an event
// waits for as many as the buffers hold.
func TestPhasesBound(t *testing.T) {
	need.Heavy(t)
	for _, model := range []string{"", sim.FluidModel} {
		_, cases, outcomes := loaded(t, model, `
topology: FT(2;4,4)
control: off
event: {phase: 1ms}
duration: 20s
sim: {round: 0s, overhead: 0s}
cases:
  - {schedule: linear-shift, load: 50%}
  - {schedule: linear-shift, load: 95%}
  - {schedule: linear-shift, load: {rate: 125%, buffer: 80 fragments}}
  - {schedule: fors, failures: [leaf0-spine0], load: {rate: 110%, buffer: 80 fragments}}
  - {mode: free-running, schedule: linear-shift, load: 50%}
  - {mode: ordered, schedule: fors, load: 50%}
  - {mode: ordered, schedule: fors, load: {rate: 125%, buffer: 80 fragments}}
`)
		for i, o := range outcomes {
			c, l := cases[i], o.Load
			exchange, fill := 15e-3, 15/c.Load.Rate
			if len(c.Case.Failures) > 0 {
				exchange *= float64(c.Plan.Phases()) / 15
			}
			carried, q := 16/exchange, l.Latency.Quantiles()
			expect.Equal(t, l.Latency.Count(), l.Accepted, "%s: latencies", c.Model)
			if c.Load.Rate < carried {
				expect.True(t, l.Refused == 0 && q.Max <= (fill+exchange)*1.005 && (q.Max >= (fill+exchange)*.98 || c.Model == sim.TCPModel), "%s: %v: %+v, bound %.4g s", c.Model, c.Load, q, fill+exchange)
				continue
			}
			dead, want := float64(l.Refused)/float64(l.Accepted+l.Refused), 1-carried/c.Load.Rate
			expect.True(t, math.Abs(dead-want) < .01, "%s: %v: dead %.4f, want %.4f", c.Model, c.Load, dead, want)
			room := float64(80-80%16) / carried
			expect.True(t, q.P50 > room-2*exchange && q.Max < room+2*exchange, "%s: %v: %+v, the buffers hold %.4g s", c.Model, c.Load, q, room)
		}
	}
}

// Builders that work one event after the other limit the rate, and those with free buffers get what a slow one leaves:
// the same as in runs (worker.TestSlowBuilder).
func TestSimulatedBuilders(t *testing.T) {
	_, _, outcomes := loaded(t, sim.FluidModel, `
topology: FT(2;2,2)
control: off
event: {phase: 1ms}
duration: 60s
sim: {round: 0s, overhead: 0s}
cases:
  - {mode: unsync, schedule: none, load: &l {rate: 85Hz, buffer: 20 fragments, build: 40ms, slow: server3}}
  - {mode: unsync, schedule: none, assign: free, load: *l}
`)
	built := func(i, rank int) float64 { return float64(outcomes[i].Events[rank]) }
	sum := func(l *load.Account) float64 { return float64(l.Latency.Count()) }
	ratio := sum(outcomes[1].Load) / sum(outcomes[0].Load)
	expect.True(t, ratio > 1.6, "free buffers build %.2f times as many", ratio)
	expect.True(t, built(0, 3) == built(0, 0) || math.Abs(built(0, 3)-built(0, 0)) < 20, "next: %v", outcomes[0].Events)
	expect.True(t, math.Abs(built(1, 3)/built(1, 0)-.5) < .1, "free: %v", outcomes[1].Events)
	p := outcomes[1].Load.Parts.Times()
	expect.True(t, p.Builder.P50 >= .0399, "%+v", p)
}

// A simulated trace keeps the sizes of each event, too, where others were refused.
func TestSimulatedTrace(t *testing.T) {
	trace, want := builder.Trace{}, uint64(0)
	for event := range 24 {
		at := [...]time.Duration{0, 0, time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second}[event/4]
		trace.Times = append(trace.Times, at)
		for range 4 {
			trace.Table = append(trace.Table, uint32(1000<<(event/4)))
		}
		if event/4 != 2 && event < 20 {
			want += 3 * 1000 << (event / 4)
		}
	}
	s, planned := preparedOf(t, `
topology: FT(2;2,2)
fabric: {kind: hosts, rate: 10Mbit/s}
control: off
event: {fragment: 8kB}
cases:
  - {schedule: linear-shift, load: 1Hz}
  - {mode: free-running, schedule: linear-shift, load: 1Hz}
  - {mode: unsync, schedule: none, load: 1Hz}
  - {mode: ordered, load: 1Hz}
`)
	for i := range planned {
		p := &planned[i]
		p.Load = load.Load{Rate: trace.Rate(), Arrival: load.Traced, Times: trace.Times, Held: 8}
		p.Duration = 2500 * time.Millisecond
		p.Sizes = &builder.Distribution{By: builder.ByEvent, Scale: 1, Table: trace.From(4 * s.Warmup)}
	}
	for _, c := range expect.Value(simulate.Cases(s, planned, ""))(t) {
		of := map[string]sim.Model{sim.PhaseModel: sim.Phase, sim.FluidModel: sim.Fluid}[c.Model]
		o, got := expect.Value(of(t.Context(), &c.Job, nil))(t), uint64(0)
		for _, n := range o.Received {
			got += n
		}
		expect.Equal(t, []uint64{o.Load.Accepted, o.Load.Refused, got}, []uint64{16, 4, want}, "%s: accepted, refused, bytes", c.Mode)
	}
}
