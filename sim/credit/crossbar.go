package credit

import "math/bits"

// step does a cycle of a switch. Lanes and crossbar are decided on what was known when
// the cycle began, and then all moves are made.
func (f *interleaved) step(e *Engine, k int64, s int32) {
	c := &f.sw[s]
	f.given, f.grants = f.given[:0], f.grants[:0]
	for m := c.waitOut & c.freeOut; m != 0; m &= m - 1 {
		f.giveLanes(e, c, int32(bits.TrailingZeros64(m)))
	}
	f.match(e, c)
	for _, g := range f.given {
		f.acquire(c, g[0], g[1])
	}
	for _, x := range f.grants {
		if y := f.vc[x].to; y >= 0 && f.vc[y].credit > 0 {
			f.forward(e, k, c, x, y)
		}
	}
	if len(f.given)+len(f.grants) > 0 {
		f.active = true
	}
	if c.waitOut|c.readyOut == 0 {
		f.busy.remove(s)
	}
}

// giveLanes gives the free lanes of an output to heads that wait for it.
func (f *interleaved) giveLanes(e *Engine, c *crossbar, out int32) {
	var to [maxLanes + 1]int32
	free := c.out[out].free
	for m := free; m != 0; m &= m - 1 {
		lane := int32(bits.TrailingZeros16(m))
		to[lane] = f.asker(e, c, out, lane)
	}
	for m := free; m != 0; {
		lane := int32(bits.TrailingZeros16(m))
		m &= m - 1
		i := to[lane]
		if i < 0 {
			continue
		}
		mine := uint64(1) << lane
		for o := m; o != 0; o &= o - 1 {
			if u := bits.TrailingZeros16(o); to[u] == i {
				mine |= 1 << u
				m &^= 1 << u
			}
		}
		from := int32(0)
		if c.acquires[i]>>4 == out {
			from = c.acquires[i] & 15
		}
		u := after64(mine, from)
		c.asks[out<<4|u] = i + 1
		c.acquires[i] = out<<4 | u + 1
		f.given = append(f.given, [2]int32{c.in[i>>4].base + i&15, (c.first+out)*f.lanes + u})
	}
}

// asker returns the input lane whose turn it is among those that wait for an output lane,
// -1 if none does.
func (f *interleaved) asker(e *Engine, c *crossbar, out, lane int32) int32 {
	turn := c.asks[out<<4|lane]
	in0, lane0 := turn>>4, turn&15
	m := c.out[out].wait
	below := uint16(1)<<lane0 - 1
	if m>>in0&1 != 0 {
		if i := f.fitting(e, c, in0, out, lane, ^below); i >= 0 {
			return i
		}
	}
	high := m &^ (2<<in0 - 1)
	for ; high != 0; high &= high - 1 {
		if i := f.fitting(e, c, int32(bits.TrailingZeros64(high)), out, lane, ^uint16(0)); i >= 0 {
			return i
		}
	}
	for low := m & (1<<in0 - 1); low != 0; low &= low - 1 {
		if i := f.fitting(e, c, int32(bits.TrailingZeros64(low)), out, lane, ^uint16(0)); i >= 0 {
			return i
		}
	}
	if m>>in0&1 != 0 {
		return f.fitting(e, c, in0, out, lane, below)
	}
	return -1
}

// fitting returns the first of an input's lanes whose head waits for an output and may
// use a lane of it, -1 if none may.
func (f *interleaved) fitting(e *Engine, c *crossbar, in, out, lane int32, among uint16) int32 {
	for m := c.pairs[int(in)*len(c.in)+int(out)].wait & among; m != 0; m &= m - 1 {
		v := int32(bits.TrailingZeros16(m))
		if !f.choosy || f.fits(e, c.in[in].base+v, (c.first+out)*f.lanes+lane, lane) {
			return in<<4 | v
		}
	}
	return -1
}

// fits reports whether the first packet of a buffer may use a lane.
func (f *interleaved) fits(e *Engine, x, y, lane int32) bool {
	b := &f.vc[x]
	return (b.lane < 0 || int32(b.lane) == lane) && (!e.p.CutThrough || f.vc[y].credit >= b.size)
}

// match decides who has the crossbar.
func (f *interleaved) match(e *Engine, c *crossbar) {
	asked := c.readyOut
	if f.early {
		asked |= c.waitOut & c.freeOut
	}
	var granted uint64
	for ; asked != 0; asked &= asked - 1 {
		i := bits.TrailingZeros64(asked)
		o := &c.out[i]
		inputs := o.ready
		if f.early && o.wait != 0 && o.free&o.room != 0 {
			inputs |= f.speculative(e, c, int32(i))
		}
		if inputs == 0 {
			continue
		}
		in := after64(inputs, o.grant)
		c.in[in].got |= 1 << i
		granted |= 1 << (in & 63)
	}
	for ; granted != 0; granted &= granted - 1 {
		i := bits.TrailingZeros64(granted)
		in := &c.in[i]
		out := after64(in.got, in.accept)
		in.got = 0
		if in.accept = out + 1; int(in.accept) == len(c.in) {
			in.accept = 0
		}
		o := &c.out[out]
		if o.grant = int32(i) + 1; int(o.grant) == len(c.in) {
			o.grant = 0
		}
		lanes := c.pairs[i*len(c.in)+int(out)].ready
		if lanes == 0 {
			lanes = f.hopeful(e, c, int32(i), out)
		}
		lane := after64(uint64(lanes), in.turn)
		if in.turn = lane + 1; in.turn == f.lanes {
			in.turn = 0
		}
		f.grants = append(f.grants, in.base+lane)
	}
}

// speculative returns the inputs whose heads may get a lane of an output in this cycle.
func (f *interleaved) speculative(e *Engine, c *crossbar, out int32) uint64 {
	inputs := c.out[out].wait
	if !f.choosy {
		return inputs
	}
	for m := inputs; m != 0; m &= m - 1 {
		if in := int32(bits.TrailingZeros64(m)); f.hopeful(e, c, in, out) == 0 {
			inputs &^= 1 << in
		}
	}
	return inputs
}

// hopeful returns the lanes of an input whose heads may get a lane of an output in this
// cycle.
func (f *interleaved) hopeful(e *Engine, c *crossbar, in, out int32) (lanes uint16) {
	wait := c.pairs[int(in)*len(c.in)+int(out)].wait
	if !f.choosy {
		return wait
	}
	o := &c.out[out]
	for ; wait != 0; wait &= wait - 1 {
		x := c.in[in].base + int32(bits.TrailingZeros16(wait))
		for m := o.free & o.room; m != 0; m &= m - 1 {
			lane := int32(bits.TrailingZeros16(m))
			if f.fits(e, x, (c.first+out)*f.lanes+lane, lane) {
				lanes |= wait & -wait
				break
			}
		}
	}
	return lanes
}

// acquire has the first packet of a buffer take a lane.
func (f *interleaved) acquire(c *crossbar, x, y int32) {
	b, d := &f.vc[x], &f.vc[y]
	b.to, d.holder = y, x
	in := f.links[b.link].in
	o := &c.out[b.out]
	if o.free &^= d.bit; o.free == 0 {
		c.freeOut &^= 1 << (b.out & 63)
	}
	p := &c.pairs[int(in)*len(c.in)+int(b.out)]
	if p.wait &^= b.bit; p.wait == 0 {
		if o.wait &^= 1 << (in & 63); o.wait == 0 {
			c.waitOut &^= 1 << (b.out & 63)
		}
	}
	if d.credit > 0 {
		f.may(x)
	}
}

// reroute has heads that wait for a lane of a link ask again.
func (f *interleaved) reroute(e *Engine, l int32) {
	j := &f.links[l]
	if j.from < 0 {
		return
	}
	c := &f.sw[j.from]
	var again []int32
	for m := c.out[j.out].wait; m != 0; m &= m - 1 {
		in := bits.TrailingZeros64(m)
		p := &c.pairs[in*len(c.in)+int(j.out)]
		for lanes := p.wait; lanes != 0; lanes &= lanes - 1 {
			again = append(again, c.in[in].base+int32(bits.TrailingZeros16(lanes)))
		}
		p.wait = 0
	}
	c.out[j.out].wait = 0
	c.waitOut &^= 1 << (j.out & 63)
	for _, x := range again {
		p := &e.pk.at[f.vc[x].pkt]
		if p.via = [2]int32{}; e.p.RouteAhead {
			p.next = e.route(j.from+int32(e.w.Hosts), p)
		}
		f.ask(e, x)
	}
	f.tickAt(e, e.now)
}

// forward sends the first flit of a buffer on.
func (f *interleaved) forward(e *Engine, k int64, c *crossbar, x, y int32) {
	b, d := &f.vc[x], &f.vc[y]
	f.credit.push(k+f.back, x)
	head := b.left == b.size
	b.flits--
	b.left--
	f.send(e, k, y, b.pkt, head, b.left == 0)
	o := &c.out[b.out]
	if d.credit == 0 {
		o.room &^= d.bit
	}
	if b.flits == 0 || b.left == 0 || d.credit == 0 {
		in := f.links[b.link].in
		p := &c.pairs[int(in)*len(c.in)+int(b.out)]
		if p.ready &^= b.bit; p.ready == 0 {
			if o.ready &^= 1 << (in & 63); o.ready == 0 {
				c.readyOut &^= 1 << (b.out & 63)
			}
		}
	}
	if b.left > 0 {
		return
	}
	b.packets.pop()
	b.to, d.holder = -1, -1
	o.free |= d.bit
	c.freeOut |= 1 << (b.out & 63)
	if b.flits > 0 {
		f.first(e, k+1, x)
	}
}

// send puts a flit on a lane.
func (f *interleaved) send(e *Engine, k int64, y, pkt int32, head, tail bool) {
	d := &f.vc[y]
	j := &f.links[d.link]
	e.ln[d.link].carried++
	if j.to >= 0 {
		d.credit--
		f.arrive.push(k+j.lag, y)
		if head {
			d.packets.push(pkt)
			e.pk.at[pkt].hops++
			if e.p.RouteAhead {
				f.moved = append(f.moved, turning{pkt, j.to + int32(e.w.Hosts)})
			}
		}
		return
	}
	at := e.now + e.w.Wire[d.link] + e.p.Host.Behind
	e.Meter.flits(^j.to, at, f.cycle, 1)
	if take := e.p.Host.Take; take > f.cycle {
		d.credit--
		j.takes = max(at, j.takes+take)
		e.at(j.takes+e.p.Credit, evCredit, y, 0)
	} else if take > 0 {
		d.credit--
		f.credit.push(k+f.sink(e, d.link), y)
	}
	if tail {
		e.arrived(pkt, at)
	}
}

// inject has a host send a flit.
func (f *interleaved) inject(e *Engine, k int64, h int32) {
	s := &f.hosts[h]
	if s.ready > e.now {
		if f.active = true; s.ready > e.now+f.cycle {
			f.ready.remove(h)
		}
		return
	}
	p := &e.pk.at[s.pkt]
	head := s.to < 0
	if head {
		s.to = f.hostLane(e, s, p, e.w.First[h]*f.lanes)
	}
	if s.to < 0 || f.vc[s.to].credit == 0 {
		f.ready.remove(h)
		return
	}
	f.active = true
	if head {
		p.sent = e.now
		s.last = s.to % f.lanes
	}
	s.left--
	f.send(e, k, s.to, s.pkt, head, s.left == 0)
	if s.left > 0 {
		return
	}
	s.pkt = -1
	f.ready.remove(h)
	if e.ear != nil {
		e.at(e.now+f.cycle, evSource, h, 0)
		return
	}
	e.more(h, e.now+f.cycle)
}

// hostLane returns the lane for a host's packet, the next in turn with room; -1 if none
// has.
func (f *interleaved) hostLane(e *Engine, s *sender, p *packet, first int32) int32 {
	need := int32(1)
	if e.p.CutThrough {
		need = p.flits
	}
	for i := range f.lanes {
		lane := (s.last + 1 + i) % f.lanes
		if (p.lane < 0 || int32(p.lane) == lane) && f.vc[first+lane].credit >= need {
			return first + lane
		}
	}
	return -1
}
