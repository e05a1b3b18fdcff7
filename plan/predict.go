package plan

import (
	"slices"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// A Weight is the size of a message between two ranks, in message times.
type Weight func(src, dst int) float64

// Equal is the Weight of fragments that all have the same size.
var Equal Weight

func (w Weight) orOne() Weight {
	if w == nil {
		return func(_, _ int) float64 { return 1 }
	}
	return w
}

// Cost is the cost of one exchange, in message times.
type Cost struct {
	// Ideal is the most that a server sends or receives: S-1 for equal fragments and full roles.
	Ideal float64
	// Duration is the sum over the phases of the largest load of one wire in
	// it; 0 without a schedule.
	Duration float64
	// Busiest is the largest load of one wire over the whole exchange.
	Busiest float64
	// Drawn are the least and the greatest Unsynchronised of single draws of paths, under ecmp: one
	// draw may exceed the mean.
	Drawn [2]float64
}

// Synchronised returns the predicted efficiency of a synchronised exchange,
// barriers and overheads left out.
func (c Cost) Synchronised() float64 { return ratio(c.Ideal, c.Duration) }

// Unsynchronised returns the upper bound on the efficiency of an exchange without phases: the
// busiest wire is never idle.
func (c Cost) Unsynchronised() float64 { return ratio(c.Ideal, c.Busiest) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// ECMPDraws is how many outcomes of the kernel's hash Cost averages over.
const ECMPDraws = 64

// Cost counts the loads of one exchange. Under ecmp the kernel's hash gives every pair of servers
// one path. The costs are then means over 64 draws, with seed, seed+1 and so on; a run with this
// seed has the first draw. Under spray and adaptive a message counts in equal shares on its spines.
// For spray that is a bound, since random packets meet, and packets out of order may be sent twice.
// Without routing the Cost is zero. O(S² + phases · wires), times the draws.
func (p *Plan) Cost(w Weight, seed uint64) Cost {
	switch {
	case p.Routing == NoRouting:
		return Cost{}
	case w == nil && p.Whole && p.wireRates() == nil:
		return Cost{Ideal: float64(p.Phases()), Duration: float64(p.Phases()), Busiest: float64(p.Phases())}
	case routing.PerPacket(p.Routing):
		return p.cost(w, nil)
	case p.Static():
		return p.cost(w, p.AllPaths())
	}
	var sum Cost
	leaf := p.Tree.LeafOfRanks()
	for i := range uint64(ECMPDraws) {
		c := p.cost(w, func(src, dst int) int { return p.Tables.Hashed(seed+i, leaf[src], src, dst) })
		sum.Ideal += c.Ideal / ECMPDraws
		sum.Duration += c.Duration / ECMPDraws
		sum.Busiest += c.Busiest / ECMPDraws
		x := c.Unsynchronised()
		if i == 0 {
			sum.Drawn = [2]float64{x, x}
		}
		sum.Drawn = [2]float64{min(sum.Drawn[0], x), max(sum.Drawn[1], x)}
	}
	return sum
}

// cost counts messages on their paths or, where path is nil, on all paths that the tables give.
func (p *Plan) cost(w Weight, path func(src, dst int) int) Cost {
	w = w.orOne()
	c := Cost{Ideal: p.ideal(w)}
	total, rates := p.newLoads(), p.wireRates()
	put := func(l *loads, src, dst int) {
		if path == nil {
			l.share(p.Tables, src, dst, w(src, dst))
		} else {
			l.add(src, dst, path(src, dst), w(src, dst))
		}
	}
	if p.Schedule == nil {
		total.rate = rates
		p.eachPair(func(src, dst int) { put(total, src, dst) })
		c.Busiest = total.most
		return c
	}
	phase := p.newLoads()
	phase.rate = rates
	now := 0
	for m := range p.Schedule.All() {
		if m.Phase != now {
			c.Duration += phase.drain(total)
			now = m.Phase
		}
		put(phase, m.Src, m.Dst)
	}
	c.Duration += phase.drain(total)
	c.Busiest = slices.Max(total.wire)
	return c
}

func (p *Plan) ideal(w Weight) float64 {
	n := p.Tree.Servers()
	both := make([]float64, 2*n)
	p.eachPair(func(src, dst int) {
		x := w(src, dst)
		both[src] += x
		both[n+dst] += x
	})
	return slices.Max(both)
}

// eachPair calls f for every ordered pair of servers that exchange a message.
func (p *Plan) eachPair(f func(src, dst int)) {
	leaf, cut := p.Tree.LeafOfRanks(), p.cuts()
	for src, dst := range p.Tree.Pairs {
		if !cut(leaf[src], leaf[dst]) {
			f(src, dst)
		}
	}
}

// loads are the loads of wires.
type loads struct {
	tree *topology.Tree
	leaf []int     // [rank]
	wire []float64 // [topology.Wire]
	used []topology.Wire
	path []topology.Wire // between two leaves, for reuse
	most float64         // the largest of them
	rate []float64       // [topology.Wire]: loads are times; nil: all are 1

	over Over
	way  []int32 // for reuse
}

func (p *Plan) newLoads() *loads {
	if p.Over != nil {
		return &loads{over: p.Over, wire: make([]float64, p.Over.Wires())}
	}
	return &loads{tree: p.Tree, leaf: p.Tree.LeafOfRanks(), wire: make([]float64, p.Tree.AllWires())}
}

// wireRates are the shares of the link rate of all wires; nil: all are 1.
func (p *Plan) wireRates() []float64 {
	if len(p.Rates.Hosts)+len(p.Rates.Slow) == 0 {
		return nil
	}
	out := slices.Repeat([]float64{1}, p.Tree.AllWires())
	for _, h := range p.Rates.Hosts {
		out[p.Tree.FromServer(h.Rank)], out[p.Tree.ToServer(h.Rank)] = h.Share, h.Share
	}
	for _, x := range p.Rates.Slow {
		up := p.Tree.UpWire(x.Link)
		out[up], out[up+1] = x.Share, x.Share
	}
	return out
}

func (l *loads) add(src, dst, path int, size float64) {
	if l.over != nil {
		l.way = l.over.Way(l.way[:0], src, dst)
		for _, w := range l.way {
			l.put(topology.Wire(w), size/l.over.Rate(int(w)))
		}
		return
	}
	l.put(l.tree.FromServer(src), size)
	l.put(l.tree.ToServer(dst), size)
	if l.leaf[src] != l.leaf[dst] {
		l.between(l.leaf[src], l.leaf[dst], path, size)
	}
}

func (l *loads) between(a, b, path int, size float64) {
	l.path = l.tree.Between(l.path[:0], a, b, path)
	for _, w := range l.path {
		l.put(w, size)
	}
}

func (l *loads) share(tables *routing.Tables, src, dst int, size float64) {
	l.put(l.tree.FromServer(src), size)
	l.put(l.tree.ToServer(dst), size)
	if a, b := l.leaf[src], l.leaf[dst]; a != b {
		tables.Shares(a, dst, func(path int, share float64) { l.between(a, b, path, size*share) })
	}
}

func (l *loads) put(w topology.Wire, size float64) {
	if l.rate != nil {
		size /= l.rate[w]
	}
	if l.wire[w] == 0 {
		l.used = append(l.used, w)
	}
	l.wire[w] += size
	l.most = max(l.most, l.wire[w])
}

// drain moves all loads to total, and returns the largest. Its cost grows with the loads put, not
// with the number of wires.
func (l *loads) drain(total *loads) float64 {
	most := l.most
	for _, w := range l.used {
		total.wire[w] += l.wire[w]
		l.wire[w] = 0
	}
	l.used, l.most = l.used[:0], 0
	return most
}

// WireName names the wires of Loads.
func (p *Plan) WireName(w int) (link, direction string) {
	if p.Over != nil {
		return p.Over.WireName(w)
	}
	return p.Tree.WireName(topology.Wire(w))
}

// Loads returns what one exchange of the given weights puts on each wire, and
// false where the plan does not know (ecmp, spray, no routing).
func (p *Plan) Loads(w Weight) ([]float64, bool) {
	if !p.Static() {
		return nil, false
	}
	load, path := p.newLoads(), p.AllPaths()
	w = w.orOne()
	p.eachPair(func(src, dst int) { load.add(src, dst, path(src, dst), w(src, dst)) })
	for i := range load.wire {
		if p.Over != nil { // its loads are times
			load.wire[i] *= p.Over.Rate(i)
		}
	}
	return load.wire, true
}

// Row returns the steps of one rank in each phase, with the paths, or source ports, that it must use
// (topology.Tree.PathOf). nil without a schedule, unless it has ports: then these, in the order of ranks.
func (p *Plan) Row(rank int) []scheduler.Step {
	path, asks, row := p.Path, p.Pinned() && !p.OnePath, []scheduler.Step(nil)
	if c := p.Ports(); c != nil {
		path, asks, row = c.Port, true, p.inTurn(rank)
	}
	if p.Schedule != nil {
		row = p.Schedule.Row(rank)
	}
	for i, s := range row {
		row[i].ToSpine, row[i].FromSpine = scheduler.None, scheduler.None
		if asks && s.To != scheduler.Idle {
			row[i].ToSpine = path(rank, s.To)
		}
		if asks && s.From != scheduler.Idle {
			row[i].FromSpine = path(s.From, rank)
		}
	}
	return row
}

// inTurn is the messages of a rank in the order of ranks.
func (p *Plan) inTurn(rank int) (row []scheduler.Step) {
	n := p.Tree.Servers()
	for k := 1; k < n; k++ {
		s := scheduler.Step{To: (rank + k) % n, From: (rank - k + n) % n}
		if !p.Tree.Reads(rank) || !p.Tree.Builds(s.To) {
			s.To = scheduler.Idle
		}
		if !p.Tree.Builds(rank) || !p.Tree.Reads(s.From) {
			s.From = scheduler.Idle
		}
		row = append(row, s)
	}
	return row
}
