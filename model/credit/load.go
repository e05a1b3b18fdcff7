package credit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/parallel"
	"evbench/site/lft"
)

// A Fabric is a network with its tables, whose links are all alike.
type Fabric struct {
	Params Params
	Flit   Time // that a flit takes on a link, in ticks
	wires  *Wires
	routes *Routes
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
	Warm, Window Time
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
	e, err := New(f.Params, f.wires, f.routes, t, l.Seed)
	if err != nil {
		return Point{}, err
	}
	m := &e.Meter
	m.From, m.Until = l.Warm, l.Warm+l.Window
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return Point{}, err
		}
		if err := e.Run(l.Warm + l.Window*Time(i+1)/steps); err != nil {
			return Point{}, err
		}
	}
	p := Point{Offered: l.Offered}
	p.Accepted, p.Worst = m.Share(f.Flit)
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
func (f *Fabric) generates(flits int64) Time {
	h := &f.Params.Host
	return max(Time(flits)*h.Generate, (Time(flits)-Time(h.Queue+h.Ahead))*f.Flit)
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

// A Meter counts what arrives at hosts in a window of time.
type Meter struct {
	From, Until Time // the window is [From, Until)

	Flits   []int64 // that arrived in the window, by host
	Packets int64   // created in the window and received in it
	Latency Time    // sum of creation to reception of these
	Network Time    // sum of sent to reception of these
	Least   Time    // least latency of them
	Most    Time

	// For packets that overtake each other: flits that came before some that were sent earlier from
	// the same host, and the most flits that a host held at a time until those came.
	Early, Held int64

	Messages int64
	Waiting  Time // sum over messages of beginning to reception
	Last     Time // reception of the last packet of all
}

func (m *Meter) init(hosts int) {
	m.Flits = make([]int64, hosts)
	m.Until, m.Least = never, never
}

func (m *Meter) flits(host int32, at, step Time, n int64) {
	last := at + Time(n-1)*step
	if at >= m.Until || last < m.From {
		return
	}
	if step > 0 {
		if at < m.From {
			n -= int64((m.From - at + step - 1) / step)
		}
		if last >= m.Until {
			n -= int64((last-m.Until)/step) + 1
		}
	}
	m.Flits[host] += n
}

func (m *Meter) packet(p *packet) {
	m.Last = max(m.Last, p.tail)
	if p.created < m.From || p.tail >= m.Until {
		return
	}
	latency := p.tail - p.created
	m.Packets++
	m.Latency += latency
	m.Network += p.tail - p.sent
	m.Least, m.Most = min(m.Least, latency), max(m.Most, latency)
}

func (m *Meter) message(of *message, at Time) {
	if of.began < m.From || at >= m.Until {
		return
	}
	m.Messages++
	m.Waiting += at - of.began
}

// Share returns the share of their links that hosts received in the window, for a time per flit:
// the mean, and the host that received least.
func (m *Meter) Share(flit Time) (mean, worst float64) {
	full := float64(m.Until-m.From) / float64(flit)
	return float64(m.Total()) / full / float64(len(m.Flits)), float64(m.Worst()) / full
}

// Total returns the flits of all hosts.
func (m *Meter) Total() (n int64) {
	for _, f := range m.Flits {
		n += f
	}
	return n
}

// Worst returns the flits of the host that received least.
func (m *Meter) Worst() int64 { return slices.Min(m.Flits) }

// An order restores the order in which the packets of each source and destination were sent, as the
// receiver of sprayed packets must. It exists where packets may overtake each other: where switches
// decide for each packet, or packets may take any lane.
type order struct {
	flows map[uint64]*flow
	held  []int64 // by host: flits that wait for an earlier packet
}

type flow struct {
	sent, next uint32
	early      []early
}

// An early packet came before a packet that was sent before it.
type early struct {
	number uint32
	flits  int32
}

func newOrder(hosts int) *order {
	return &order{flows: map[uint64]*flow{}, held: make([]int64, hosts)}
}

func (o *order) of(src, dst int32) *flow {
	key := uint64(uint32(src))<<32 | uint64(uint32(dst))
	f := o.flows[key]
	if f == nil {
		f = &flow{}
		o.flows[key] = f
	}
	return f
}

func (o *order) number(src, dst int32) uint32 {
	f := o.of(src, dst)
	f.sent++
	return f.sent - 1
}

func (o *order) received(m *Meter, p *packet) {
	f := o.of(p.src, p.dst)
	if p.number != f.next {
		m.Early += int64(p.flits)
		f.early = append(f.early, early{p.number, p.flits})
		o.held[p.dst] += int64(p.flits)
		m.Held = max(m.Held, o.held[p.dst])
		return
	}
	for f.next++; ; f.next++ {
		i := slices.IndexFunc(f.early, func(e early) bool { return e.number == f.next })
		if i < 0 {
			return
		}
		o.held[p.dst] -= int64(f.early[i].flits)
		f.early[i] = f.early[len(f.early)-1]
		f.early = f.early[:len(f.early)-1]
	}
}
