package credit

import "slices"

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
