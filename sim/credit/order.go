package credit

import "slices"

// An order puts the packets of each source and destination into the order in which they
// were sent, as the receiver of sprayed packets must. It exists where they may overtake each
// other: where switches decide for each packet, and on lanes of which each takes any.
type order struct {
	flows map[uint64]*flow
	held  []int64 // by host: flits that wait for an earlier packet
}

type flow struct {
	sent, next uint32
	early      []early
}

// An early packet has come before one that was sent before it.
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
