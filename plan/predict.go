package plan

import (
	"math/rand/v2"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/topology"
)

// A Weight is the size of a message between two ranks, in message times.
type Weight func(src, dst int) float64

// Equal is the Weight of fragments that all have the same size.
func Equal(_, _ int) float64 { return 1 }

// Cost is what one exchange costs, in message times.
type Cost struct {
	// Ideal is the most that one server sends or receives: S-1 for equal
	// fragments.
	Ideal float64
	// Duration is the sum over the phases of the largest load of one wire in
	// it; 0 without a schedule.
	Duration float64
	// Busiest is the largest load of one wire over the whole exchange.
	Busiest float64
}

// Synchronised returns the predicted efficiency of a synchronised exchange,
// barriers and overheads left out.
func (c Cost) Synchronised() float64 { return ratio(c.Ideal, c.Duration) }

// Unsynchronised returns the upper bound on the efficiency of an exchange
// without phases: the busiest wire is never idle.
func (c Cost) Unsynchronised() float64 { return ratio(c.Ideal, c.Busiest) }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// ecmpDraws is how many outcomes of the kernel's hash Cost averages over.
const ecmpDraws = 64

// Cost counts the loads of one exchange. Under ecmp every pair of servers keeps
// the path that the kernel's hash gives it; the costs are then means over 64
// seeded draws. Without routing there is nothing to count: the zero Cost.
func (p *Plan) Cost(w Weight, seed uint64) Cost {
	switch {
	case p.Routing == NoRouting:
		return Cost{}
	case p.Routing != routing.ECMP:
		return p.cost(w, p.Spine)
	}
	var sum Cost
	rng := rand.New(rand.NewPCG(seed, 1))
	for range ecmpDraws {
		c := p.cost(w, p.hash(rng))
		sum.Ideal += c.Ideal / ecmpDraws
		sum.Duration += c.Duration / ecmpDraws
		sum.Busiest += c.Busiest / ecmpDraws
	}
	return sum
}

// hash draws one spine for every pair of servers from its next hops.
func (p *Plan) hash(rng *rand.Rand) func(src, dst int) int {
	n := p.Tree.Servers()
	spines := make([]int, n*n)
	for src := range n {
		leaf := routing.Leaf(p.Tree.Leaf(src))
		for dst := range n {
			if ports := p.Tables.Ports(leaf, dst); len(ports) > 0 {
				spines[src*n+dst] = int(ports[rng.IntN(len(ports))]) - p.Tree.Ports()
			}
		}
	}
	return func(src, dst int) int { return spines[src*n+dst] }
}

func (p *Plan) cost(w Weight, spine func(src, dst int) int) Cost {
	total := make([]float64, p.Tree.Wires())
	c := Cost{Ideal: p.ideal(w)}
	if p.Schedule == nil {
		p.eachPair(func(src, dst int) { p.add(total, src, dst, spine(src, dst), w(src, dst)) })
		c.Busiest = largest(total)
		return c
	}
	phase := make([]float64, p.Tree.Wires())
	now := 0
	for _, m := range p.Schedule.Messages() {
		if m.Phase != now {
			c.Duration += drain(phase)
			now = m.Phase
		}
		k, size := spine(m.Src, m.Dst), w(m.Src, m.Dst)
		p.add(phase, m.Src, m.Dst, k, size)
		p.add(total, m.Src, m.Dst, k, size)
	}
	c.Duration += drain(phase)
	c.Busiest = largest(total)
	return c
}

// ideal is the most that one server sends or receives in one exchange.
func (p *Plan) ideal(w Weight) float64 {
	n := p.Tree.Servers()
	both := make([]float64, 2*n)
	p.eachPair(func(src, dst int) {
		both[src] += w(src, dst)
		both[n+dst] += w(src, dst)
	})
	return largest(both)
}

func (p *Plan) eachPair(f func(src, dst int)) {
	for src := range p.Tree.Servers() {
		for dst := range p.Tree.Servers() {
			if src != dst {
				f(src, dst)
			}
		}
	}
}

func (p *Plan) add(load []float64, src, dst, spine int, size float64) {
	var buf [4]topology.Wire
	for _, wire := range p.Tree.Path(buf[:0], src, dst, spine) {
		load[wire] += size
	}
}

func largest(load []float64) float64 {
	most := 0.0
	for _, x := range load {
		most = max(most, x)
	}
	return most
}

// drain returns the largest load and sets all to zero.
func drain(load []float64) float64 {
	most := largest(load)
	clear(load)
	return most
}

// Loads returns what one exchange of the given weights puts on each wire, and
// false where the plan does not know (ecmp, no routing).
func (p *Plan) Loads(w Weight) ([]float64, bool) {
	if !p.static() {
		return nil, false
	}
	load := make([]float64, p.Tree.Wires())
	p.eachPair(func(src, dst int) { p.add(load, src, dst, p.Spine(src, dst), w(src, dst)) })
	return load, true
}

// Row returns what one rank does in each phase, with the paths it has to ask
// for. nil without a schedule.
func (p *Plan) Row(rank int) []scheduler.Step {
	if p.Schedule == nil {
		return nil
	}
	row := p.Schedule.Row(rank)
	if !p.Pinned() {
		for i := range row {
			row[i].ToSpine, row[i].FromSpine = scheduler.None, scheduler.None
		}
	}
	return row
}
