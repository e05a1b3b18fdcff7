package order

import (
	"cmp"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
)

const (
	kinds  = 4     // needs that a profile tells apart: it multiplies the profiles
	wider  = 3     // lengths tried for a need: itself, and the next that other links fill
	trials = 64    // profiles tried
	budget = 5e7   // of all trials, in phases that messages look at: some seconds
	once   = 8     // times that of a single trial, where nothing else is searched for
	finer  = 0.002 // by which part the next one takes longer, at least
	round  = 1e-9
)

// further are the numbers of steps of a length tried beyond the fewest.
var further = []int{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128}

// A profile says how many steps there are of which length, the longest first. Where links are slower than a message,
// steps have lengths: in a step of length T a cable carries as many messages as it sends in T, and a host one, if it
// sends one in T. What a message needs is the time of its slowest link for it alone.
type profile struct {
	kinds  int
	length [kinds]float64
	steps  [kinds]int
	time   float64
}

// inLengths tries profiles that no link rules out, the shortest first: greedy fills the steps, slow messages in the
// long ones, and ejection places those that are left. It returns the shortest order found, or the one given.
func (p *Exchange) inLengths(best *scheduler.Plan, steps int) *scheduler.Plan {
	time, need := p.Time(best), p.needs()
	least, last, tried, work := p.Bound().Steps, 0.0, 0, 0
	limit := min(max(leastSteps/10, cmp.Or(steps, DefaultSteps)*p.Messages()), mostSteps)
	for _, x := range p.profiles(need, time) {
		if x.time >= time*(1-round) || time <= least*(1+round) || tried == trials || work > budget {
			break
		}
		if x.time < last*(1+finer) {
			continue
		}
		last = x.time
		n := x.all()
		if most := 4 * int(budget); n*len(p.sends) > most && (steps >= 0 || n*len(p.sends) > once*most || tried > 0) {
			break
		}
		s, lengths := p.greedyIn(x)
		work += n * len(p.sends) / 4
		if len(lengths) > n && steps >= 0 {
			limit := min(limit, budget/2/max(1, n))
			work += n * limit
			if settled := p.settleIn(s, need, lengths, n, limit); settled != nil {
				s = settled
			}
		}
		if t := p.Time(s); t < time*(1-round) {
			best, time = s, t
		}
		tried++
	}
	return best
}

func (x *profile) all() (n int) {
	for _, k := range x.steps {
		n += k
	}
	return n
}

// fits is how many messages a link carries in a step of some length.
func (p *Exchange) fits(link int, length float64) int {
	rate := p.Links[link].Rate()
	n := int(min(length*rate*(1+round), math.MaxInt16))
	if link < 2*p.Hosts {
		n = min(n, 1)
	}
	return n
}

// A demand is what profiles have to give a link: by kind, the messages that need as much or more.
type demand struct {
	link int
	load [kinds]int
}

// profiles returns those that take less than some time, the shortest first: a kind of need has as many steps of one
// length as some link requires for its messages, or some more.
func (p *Exchange) profiles(need []float64, below float64) (out []profile) {
	of := slices.Clone(need)
	slices.Sort(of)
	of = slices.Compact(of)
	slices.Reverse(of)
	of = lists.Filter(of, func(x float64) bool { return x > 0 })
	if n := len(of); n > kinds { // of more needs some stand for the next smaller ones, too
		of = lists.Tabulate(kinds, func(i int) float64 { return of[i*n/kinds] })
	}
	loads := make([][kinds]int, len(p.Links))
	p.each(func(e, src, dst int) {
		kind := 0
		for kind < len(of)-1 && need[e] <= of[kind+1] {
			kind++
		}
		for _, l := range append([]int32{int32(src), int32(p.Hosts + dst)}, p.between(e)...) {
			for k := kind; k < len(of); k++ {
				loads[l][k]++
			}
		}
	})
	type like struct {
		rate float64
		host bool
		load [kinds]int
	}
	seen, links := map[like]bool{}, []demand(nil)
	for l, load := range loads {
		if k := (like{p.Links[l].Rate(), l < 2*p.Hosts, load}); !seen[k] {
			seen[k] = true
			links = append(links, demand{l, load})
		}
	}
	p.grow(links, of, profile{}, below, &out)
	slices.SortStableFunc(out, func(a, b profile) int { return cmp.Compare(a.time, b.time) })
	return out
}

// grow adds the steps of the next kind to a profile.
func (p *Exchange) grow(links []demand, of []float64, x profile, below float64, out *[]profile) {
	k := x.kinds
	if k == len(of) {
		*out = append(*out, x)
		return
	}
	more := further
	if k == len(of)-1 {
		more = further[:5]
	}
	for _, length := range lengths(of, k) {
		if k > 0 && length > x.length[k-1] {
			break
		}
		few := 0
		for _, d := range links {
			left := d.load[k]
			for i := range k {
				left -= x.steps[i] * p.fits(d.link, x.length[i])
			}
			if left > 0 {
				n := p.fits(d.link, length)
				few = max(few, (left+n-1)/n)
			}
		}
		for _, n := range more {
			y := x
			y.kinds, y.length[k], y.steps[k] = k+1, length, few+n
			if y.time += float64(few+n) * length; y.time >= below*(1-round) {
				break
			}
			p.grow(links, of, y, below, out)
		}
	}
}

// lengths are those tried for a kind of need: the need, and the next ones that whole numbers of other messages fill.
func lengths(of []float64, kind int) (out []float64) {
	for _, x := range append([]float64{1}, of...) {
		for n := math.Ceil(of[kind]/x - round); n*x <= 2*of[kind]+2; n++ {
			out = append(out, n*x)
		}
	}
	slices.Sort(out)
	out = slices.CompactFunc(out, func(a, b float64) bool { return math.Abs(a-b) < round })
	if of[kind] == 1 {
		return out[:1]
	}
	return out[:min(wider, len(out))]
}

// greedyIn fills the steps of a profile with messages over the fullest links first, slow ones before others; what is left
// has further steps, of what the slowest of them needs. It returns the lengths of all.
func (p *Exchange) greedyIn(x profile) (*scheduler.Plan, []float64) {
	var lengths []float64
	for k := range x.kinds {
		lengths = append(lengths, slices.Repeat([]float64{x.length[k]}, x.steps[k])...)
	}
	f := p.filler()
	f.begin()
	f.fixed = true
	s := scheduler.NewPlan(p.Hosts, "greedy")
	each := 1 + len(f.order)/resort
	for left := p.Messages(); left > 0; s.Phases++ {
		if s.Phases%each == 0 {
			f.sort()
		}
		if s.Phases == len(lengths) {
			longest := 1.0
			for e, mask := range f.mask {
				if mask != 0 {
					longest = max(longest, f.need[e])
				}
			}
			lengths = append(lengths, longest)
		}
		left -= f.phase(s, lengths[s.Phases])
	}
	return s.Squeezed(), lengths
}

// settleIn places all messages in the first n steps of some lengths, or returns nil.
func (p *Exchange) settleIn(s *scheduler.Plan, need, lengths []float64, n, limit int) *scheduler.Plan {
	e := p.ejector(s, lengths, slices.Clone(p.path))
	if e == nil {
		return nil
	}
	e.upto = lists.Map(need, func(x float64) int32 {
		return int32(lists.CountIf(lengths[:n], func(length float64) bool { return length >= x*(1-round) }))
	})
	for e.phases > n {
		e.drop()
	}
	if !e.settle(limit) {
		return nil
	}
	e.s.Phases, e.s.Path, e.s.Made = n, e.path, "ejection"
	return e.s.Squeezed()
}

// fewSteps is up to how many steps joined looks at: some milliseconds.
const fewSteps = 64

// joined has two steps become one while that takes less time: of messages that share a slow link, those that need long beside it
// cost nothing there. Profiles, in which all steps of a need are alike, do not find that.
func (p *Exchange) joined(s *scheduler.Plan) *scheduler.Plan {
	on, out := &counted{used: make([]int32, len(p.Links))}, *s
	out.Phase = slices.Clone(s.Phase)
	for {
		first, in := out.ByPhase()
		most, a, b := round, 0, 0
		for k := range out.Phases {
			for j := range k {
				x, y := in[first[j]:first[j+1]], in[first[k]:first[k+1]]
				apart := p.lasts(&out, on, x) + p.lasts(&out, on, y)
				if gain := apart - p.lasts(&out, on, x, y); gain > most && !p.meet(x, y) {
					most, a, b = gain, j, k
				}
			}
		}
		if a == b {
			return out.Squeezed()
		}
		for _, m := range in[first[b]:first[b+1]] {
			out.Phase[m] = int32(a)
		}
		out.Squeezed()
	}
}

// meet reports whether a host sends, or receives, in both of two steps.
func (p *Exchange) meet(x, y []int32) bool {
	return slices.ContainsFunc(x, func(a int32) bool {
		return slices.ContainsFunc(y, func(b int32) bool { return int(a)/p.Hosts == int(b)/p.Hosts || int(a)%p.Hosts == int(b)%p.Hosts })
	})
}

// inSteps is how long steps take at least in which hosts send and receive one message each, with the loads of links.
// A link whose messages take some time in all is in use in as many steps at most as it has messages; in others hosts
// send what they have more.
func (p *Exchange) inSteps(loads []int32) (time float64, link int) {
	need := p.needs()
	of := slices.Clone(need)
	own := make([][]float64, 2*p.Hosts) // needs of the messages of a host that sends, and receives
	p.each(func(e, src, dst int) {
		own[src], own[p.Hosts+dst] = append(own[src], need[e]), append(own[p.Hosts+dst], need[e])
	})
	slices.Sort(of)
	of = slices.Compact(of)
	steps := lists.Map(of, func(x float64) int { // that last as long
		return lists.MaxOf(own, func(all []float64) int {
			return lists.CountIf(all, func(y float64) bool { return y >= x })
		})
	})
	for l, load := range loads {
		used := float64(load) / float64(p.Links[l].Room) / p.Links[l].Share
		last := 0.0
		for i, x := range of {
			used += (x - last) * float64(max(0, steps[i]-int(load)))
			last = x
		}
		if used > time {
			time, link = used, l
		}
	}
	return time, link
}
