// Package balance answers: which of its candidate paths does each message of an exchange take, and in which phase, so that
// the exchange is short?
//
// A message has several candidates where its sender knows several source ports, each of which leads over another spine, or
// where hosts have several LIDs. First each message takes the path on which links are emptiest (Choose); then package
// order finds phases over these paths, in which no link has more messages than room, and exchanges paths where that
// makes room in a phase. Two candidates a message, drawn at
// random, nearly suffice for links as evenly full as any choice could make them: the power of two choices (Azar, Broder,
// Karlin and Upfal, "Balanced allocations", STOC 1994), improved by a search.
//
// Equal input gives equal output.
package balance

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/scheduler/order"
)

// Make returns the shortest plan found, with the paths that its messages take (Plan.Path); steps are those of order.Best. The paths of
// few messages are chosen by how long the plan takes, too, which the loads of links do not tell where steps have lengths.
func Make(p *scheduler.Problem, steps int) (plan *scheduler.Plan) {
	var x *order.Exchange // of the whole problem
	for _, d := range around(p) {
		y := order.New(d.Problem, Choose(d.Problem))
		if x == nil {
			x = y
		}
		if s := order.Best(y, steps); plan == nil || y.Time(s) < x.Time(plan)*(1-1e-9) {
			plan = s
			plan.Path = d.numbered(s.Path)
		}
	}
	of := p.Lay()
	for try := range orders {
		if x.Messages() > few || x.Time(plan) <= p.Least().Time*(1+1e-9) {
			break
		}
		other := plan
		if try > 0 {
			path, _ := newChooser(p, of, uint64(try)).choose()
			other = order.Best(order.New(p, path), -1)
		}
		if other = change(p, x, other); x.Time(other) < x.Time(plan)*(1-1e-9) {
			plan = other
		}
	}
	return plan
}

// few is up to how many messages paths are changed one by one, each time with a short search for phases, from the plan and from paths
// chosen in so many orders of messages: some milliseconds.
const (
	few    = 30
	orders = 8
)

// change has one message after the other take another path where the plan is then shorter.
func change(p *scheduler.Problem, x *order.Exchange, plan *scheduler.Plan) *scheduler.Plan {
	of := p.Lay()
	for moved := true; moved; {
		moved = false
		p.Each(func(src, dst int) {
			m := src*p.Hosts + dst
			for c := range of.Count(m) {
				path := slices.Clone(plan.Path)
				if path[m] = uint8(c); c == int(plan.Path[m]) {
					continue
				}
				if other := order.Best(order.New(p, path), -1); x.Time(other) < x.Time(plan)*(1-1e-9) {
					plan, moved = other, true
				}
			}
		})
	}
	return plan
}

// Choices are what Choose returns, also around slow links.
func Choices(p *scheduler.Problem) [][]uint8 {
	return lists.Map(around(p), func(d detour) []uint8 { return d.numbered(Choose(d.Problem)) })
}

// A detour is a problem without some candidates.
type detour struct {
	*scheduler.Problem
	kept [][]uint8 // which, by message; nil: all
}

// numbered numbers candidates as the whole problem does.
func (d detour) numbered(path []uint8) []uint8 {
	path = slices.Clone(path)
	for m, kept := range d.kept {
		if len(kept) > 0 {
			path[m] = kept[path[m]]
		}
	}
	return path
}

// around returns the problem and, as a message over a slow link makes its phase long, for each share of links between
// switches the problem without candidates over those that have no more, where a message has others. O(distinct shares) problems.
func around(p *scheduler.Problem) []detour {
	out, of, shares := []detour{{p, nil}}, p.Lay(), []float64(nil)
	for _, l := range p.Links[2*p.Hosts:] {
		if l.Share < 1 {
			shares = append(shares, l.Share)
		}
	}
	slices.Sort(shares)
	for _, most := range slices.Compact(shares) {
		one, paths, kept := *p, make([][][]int32, p.Hosts*p.Hosts), make([][]uint8, p.Hosts*p.Hosts)
		slow := func(l int32) bool { return p.Links[l].Share <= most }
		for m := range kept {
			all := lists.Tabulate(of.Count(m), func(i int) uint8 { return uint8(i) })
			if kept[m] = lists.Filter(all, func(i uint8) bool { return !slices.ContainsFunc(of.Of(m, int(i)), slow) }); len(kept[m]) == 0 {
				kept[m] = all
			}
			paths[m] = lists.Map(kept[m], func(i uint8) []int32 { return of.Of(m, int(i)) })
		}
		one.Paths = scheduler.Listed{Hosts: p.Hosts, Of: paths}
		out = append(out, detour{&one, kept})
	}
	return out
}

// Each message in turn takes the candidate whose links cost least, where a link costs the exponential of its load: with
// a rising sharpness the fullest links decide (the potential of Plotkin, Shmoys and Tardos, "Fast approximation algorithms
// for fractional packing and covering problems", 1995, which package minmax takes for routes). sharpness is the exponent of
// a link as full as the fullest port of a host; passes over all messages follow one another until none moves.
var sharpness = []float64{2, 8, 32, 128}

const passes = 8

// A chooser moves messages between their candidates.
type chooser struct {
	p        *scheduler.Problem
	of       *scheduler.Candidates
	messages []int32 // src·Hosts + dst
	path     []uint8 // by src·Hosts + dst
	load     []float64
	rate     []float64
	add      []float64 // by link: what one message more costs
	last     []float64 // what the last of its messages costs
	sharp    float64   // over the load of a host
}

// restarts is for how many messages small problems are chosen for again, in another order, where the fullest link needs longer than
// the fullest port of a host.
const restarts = 20_000

// Choose returns a candidate for each message, by src·Hosts + dst, such that the fullest link has few messages, or bytes, for its rate.
// O(messages · candidates · hops).
func Choose(p *scheduler.Problem) (best []uint8) {
	of := p.Lay()
	for try, least := 1, math.Inf(1); ; try++ {
		c := newChooser(p, of, uint64(try))
		if path, most := c.choose(); most < least {
			best, least = path, most
		}
		if least <= c.hosts() || (try+1)*len(c.messages) > restarts {
			return best
		}
	}
}

// choose moves messages between their candidates, and returns the best choice, and how long its fullest link needs.
func (c *chooser) choose() (best []uint8, least float64) {
	best, least = append([]uint8(nil), c.path...), c.fullest()
	for _, sharp := range sharpness {
		c.sharp = sharp / c.hosts()
		for l := range c.load {
			c.price(int32(l))
		}
		for range passes {
			moved := c.pass()
			if most := c.fullest(); most <= least {
				best, least = append(best[:0], c.path...), most
			}
			if !moved {
				break
			}
		}
	}
	return best, least
}

// newChooser gives each message the candidate that is emptiest so far, in a random order.
func newChooser(p *scheduler.Problem, of *scheduler.Candidates, seed uint64) *chooser {
	n := len(p.Links)
	c := &chooser{p: p, of: of, path: make([]uint8, p.Hosts*p.Hosts), load: make([]float64, n), rate: make([]float64, n), add: make([]float64, n), last: make([]float64, n)}
	for l, link := range p.Links {
		c.rate[l] = link.Rate()
	}
	p.Each(func(src, dst int) {
		size := p.Size(src*p.Hosts + dst)
		c.load[src] += size
		c.load[p.Hosts+dst] += size
		c.messages = append(c.messages, int32(src*p.Hosts+dst))
	})
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(c.messages), func(i, j int) { c.messages[i], c.messages[j] = c.messages[j], c.messages[i] })
	slices.SortStableFunc(c.messages, func(a, b int32) int { return cmp.Compare(p.Size(int(b)), p.Size(int(a))) })
	for _, m := range c.messages {
		best, least, size := 0, math.Inf(1), p.Size(int(m))
		for i := range c.of.Count(int(m)) {
			most := 0.0
			for _, l := range c.of.Of(int(m), i) {
				most = max(most, (c.load[l]+size)/c.rate[l])
			}
			if most < least {
				best, least = i, most
			}
		}
		c.path[m] = uint8(best)
		for _, l := range c.of.Of(int(m), best) {
			c.load[l] += size
		}
	}
	return c
}

// needs is how long the fullest of some links does for its messages.
func (c *chooser) needs(from, to int) (most float64) {
	for l := from; l < to; l++ {
		most = max(most, c.load[l]/c.rate[l])
	}
	return most
}

func (c *chooser) hosts() float64   { return max(1, c.needs(0, 2*c.p.Hosts)) }
func (c *chooser) fullest() float64 { return c.needs(2*c.p.Hosts, len(c.load)) }

func (c *chooser) price(l int32) {
	c.last[l] = math.Exp(c.sharp*c.load[l]/c.rate[l]) / c.rate[l]
	c.add[l] = math.Exp(c.sharp*(c.load[l]+1)/c.rate[l]) / c.rate[l]
}

// more is what a message costs that a link does not carry yet.
func (c *chooser) more(l int32, size float64) float64 {
	if c.p.Bytes == nil {
		return c.add[l]
	}
	return math.Exp(c.sharp*(c.load[l]+size)/c.rate[l]) / c.rate[l]
}

// pass has each message take its cheapest candidate.
func (c *chooser) pass() (moved bool) {
	for _, m := range c.messages {
		now, size := int(c.path[m]), c.p.Size(int(m))
		own := c.of.Of(int(m), now)
		best, least := now, 0.0
		for _, l := range own {
			least += c.last[l]
		}
		least *= 1 - 1e-9
		for i := range c.of.Count(int(m)) {
			if i == now {
				continue
			}
			cost := 0.0
			for _, l := range c.of.Of(int(m), i) {
				if slices.Contains(own, l) {
					cost += c.last[l]
				} else {
					cost += c.more(l, size)
				}
			}
			if cost < least {
				best, least = i, cost
			}
		}
		if best == now {
			continue
		}
		moved = true
		c.path[m] = uint8(best)
		for _, l := range own {
			c.load[l] -= size
			c.price(l)
		}
		for _, l := range c.of.Of(int(m), best) {
			c.load[l] += size
			c.price(l)
		}
	}
	return moved
}
