// Package loadcurve answers: how much does a lossless network of forwarding tables accept, and how late do messages come, at an offered
// load? It runs model/credit as switches and adapters of InfiniBand FDR, under patterns of messages that go on without end.
package loadcurve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/model/credit"
	"evbench/site/lft"
)

// A Fabric is a network with its tables, whose links are all alike.
type Fabric struct {
	Params credit.Params
	Flit   credit.Time // that a flit takes on a link, in ticks
	wires  *credit.Wires
	routes *credit.Routes
}

// NewFabric returns the network of tables as InfiniBand FDR; ticks are picoseconds.
// Tables that lead to ports without a cable are an error.
func NewFabric(t *lft.Tables) (*Fabric, error) {
	f := &Fabric{Params: FDR(), Flit: FDRFlit, wires: NewWires(t.Net, FDRFlit, 0)}
	var err error
	if f.routes, err = RoutesOf(t, f.wires); err != nil {
		return nil, err
	}
	if f.routes.Lane != nil {
		f.Params.Lanes = t.Lanes()
	}
	return f, nil
}

// Hosts returns the number of hosts.
func (f *Fabric) Hosts() int { return f.wires.Hosts }

// A Load is one point of a curve. Hosts send messages of one length in sequence. A pause of
// exponential length between two makes the offered load; a load of 1 has no pause. A host that
// cannot send falls behind and does not catch up: no queue grows there.
type Load struct {
	// Pattern gives the destinations. Loads that run at the same time must not share a pattern with
	// memory.
	Pattern Pattern
	Flits   int64   // of a message
	Offered float64 // share of the link rate, above 0 and at most 1

	// Warm is when counting at hosts begins, and Window how long it lasts, in ticks.
	Warm, Window credit.Time
	Seed         uint64
}

// A Point is the result of a load.
type Point struct {
	Offered  float64
	Accepted float64 // received by a host, share of its link rate; mean over the window
	Worst    float64 // by the host that received least
	// Packet is the mean time in ticks from when the last flit of a packet leaves the generator to
	// its reception. Message is the mean time of a message from its first flit on. Both count
	// packets and messages that began and ended in the window; 0: none did.
	Packet, Message float64
}

func (l *Load) check() error {
	switch {
	case l.Offered <= 0 || l.Offered > 1:
		return fmt.Errorf("offered load %g: it must be above 0 and at most 1", l.Offered)
	case l.Flits < 1:
		return fmt.Errorf("message: %d flits; it needs at least one", l.Flits)
	case l.Warm < 0 || l.Window < 2:
		return errors.New("the window is empty")
	}
	return nil
}

// Run runs a load. A network that the model cannot run, and a pair of hosts that the tables do not
// join, are errors. If ctx ends, Run returns its error.
func (f *Fabric) Run(ctx context.Context, l Load) (Point, error) {
	if err := l.check(); err != nil {
		return Point{}, err
	}
	t := &Traffic{Pattern: l.Pattern, Flits: l.Flits, Early: f.Params.Host.Generate}
	if l.Offered < 1 {
		t.Pause = max(0, float64(l.Flits)*float64(f.Flit)/l.Offered-float64(f.generates(l.Flits)))
	}
	t.Start(f.wires.Hosts, l.Seed)
	e, err := credit.New(f.Params, f.wires, f.routes, t, l.Seed)
	if err != nil {
		return Point{}, err
	}
	m := &e.Meter
	m.From, m.Until = l.Warm, l.Warm+l.Window
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return Point{}, err
		}
		if err := e.Run(l.Warm + l.Window*credit.Time(i+1)/steps); err != nil {
			return Point{}, err
		}
	}
	p := Point{Offered: l.Offered}
	p.Accepted, p.Worst = Share(m, f.Flit)
	if m.Packets > 0 {
		p.Packet = float64(m.Network) / float64(m.Packets)
	}
	if m.Messages > 0 {
		p.Message = float64(m.Waiting) / float64(m.Messages)
	}
	return p, nil
}

// generates returns how long a host makes a message without waiting: as fast as its generator can,
// less what the link must have taken by then.
func (f *Fabric) generates(flits int64) credit.Time {
	h := &f.Params.Host
	return max(credit.Time(flits)*h.Generate, (credit.Time(flits)-credit.Time(h.Queue+h.Ahead))*f.Flit)
}

// steps is how often a run checks whether it must stop.
const steps = 8

// Curve runs loads on several processors, 0 for all processors, and returns their points in the
// order of the loads. It returns the first error of Run.
func (f *Fabric) Curve(ctx context.Context, workers int, loads []Load) ([]Point, error) {
	out := make([]Point, len(loads))
	err := parallel.Try(workers, len(loads), func(i int) (err error) {
		out[i], err = f.Run(ctx, loads[i])
		return err
	})
	return out, err
}

// Share returns the share of their links that hosts received in the window, for a time per flit:
// the mean, and the host that received least.
func Share(m *credit.Meter, flit credit.Time) (mean, worst float64) {
	full := float64(m.Until-m.From) / float64(flit)
	return float64(Total(m)) / full / float64(len(m.Flits)), float64(slices.Min(m.Flits)) / full
}

// Total returns the flits of all hosts.
func Total(m *credit.Meter) int64 { return lists.Sum(m.Flits, func(n int64) int64 { return n }) }
