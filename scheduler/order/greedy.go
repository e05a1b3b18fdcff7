package order

import (
	"math/bits"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
)

// resort is how many entries are sorted for each phase: in larger exchanges an order serves several phases.
const resort = 1 << 17

// A filler makes phases one after the other.
type filler struct {
	p      *Exchange
	left   []int32  // messages that each link has not yet carried
	mask   []uint64 // by entry: the hosts of the block that have not yet sent to dst
	key    []int32  // of an entry, in order's order
	order  []int32  // entries, those over the fullest links first
	next   []int32  // memory for sorting, as are sorted, count and full
	sorted []int32
	count  []int32
	full   []int32   // by link: the phases that its messages still take
	need   []float64 // by entry: how long a message takes alone, where it is longer than 1; nil: nowhere
	kind   []int32   // by entry with a need: how many longer needs there are; kinds are all
	kinds  int
	lasts  float64 // the phase, so far
	fixed  bool    // it does not become longer
	free   []uint64
	some   int // blocks with a free host
	taken  []bool
	used   []int32
	passed []int32 // links with used > 0
	random uint64
}

// much is how many entries greedy may look at, in all phases: some seconds.
const much = 1 << 26

// fill returns the shorter one of greedy and byPairs, and of a large exchange that of byPairs alone.
func (p *Exchange) fill(bound float64) *scheduler.Plan {
	if bound*float64(len(p.sends)) > much {
		return p.byPairs()
	}
	g := p.greedy()
	if t := p.Time(g); t > bound {
		if q := p.byPairs(); p.Time(q) < t {
			return q
		}
	}
	return g
}

// greedy fills one phase after the other: of the messages that fit, those whose path has the link that
// has most messages left come first. Messages over slow links come before all others, so that
// they make few phases longer; while they are sent, other links have room for several messages. O(phases · blocks · hosts).
func (p *Exchange) greedy() *scheduler.Plan {
	f := p.filler()
	f.begin()
	s := scheduler.NewPlan(p.Hosts, "greedy")
	each := 1 + len(f.order)/resort
	for left := p.Messages(); left > 0; s.Phases++ {
		if s.Phases%each == 0 {
			f.sort()
		}
		left -= f.phase(s, 1)
	}
	return s
}

func (p *Exchange) filler() *filler {
	return &filler{
		p: p, left: p.Loads(), mask: append([]uint64(nil), p.sends...), free: make([]uint64, len(p.from)),
		taken: make([]bool, p.Hosts), used: make([]int32, len(p.Links)), full: make([]int32, len(p.Links)), random: 1,
	}
}

// begin lists the entries in a random order, which decides among equals.
func (f *filler) begin() {
	for e, mask := range f.mask {
		if mask != 0 {
			f.order = append(f.order, int32(e))
		}
	}
	for i := len(f.order) - 1; i > 0; i-- {
		j := f.below(i + 1)
		f.order[i], f.order[j] = f.order[j], f.order[i]
	}
	f.next, f.sorted, f.key = make([]int32, len(f.order)), make([]int32, len(f.order)), make([]int32, len(f.order))
	if f.p.slow() {
		f.need = f.p.needs()
		needs := slices.Clone(f.need)
		slices.Sort(needs)
		needs = slices.Compact(needs)
		f.kinds = len(needs)
		f.kind = lists.Map(f.need, func(x float64) int32 {
			at, _ := slices.BinarySearch(needs, x)
			return int32(len(needs) - 1 - at)
		})
	}
}

// needs is how long a message of each entry takes alone; 0: the entry has none.
func (p *Exchange) needs() []float64 {
	need := make([]float64, len(p.sends))
	for e, mask := range p.sends {
		if mask == 0 {
			continue
		}
		share := min(p.Links[p.Hosts+e%p.Hosts].Share, p.Links[p.from[e/p.Hosts][0]].Share)
		for _, l := range p.between(e) {
			share = min(share, p.Links[l].Share)
		}
		need[e] = 1 / share
	}
	return need
}

// below returns a random number below n (xorshift64*, Vigna 2016).
func (f *filler) below(n int) int { return below(&f.random, n) }

func below(state *uint64, n int) int {
	x := *state
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*state = x
	hi, _ := bits.Mul64(x*0x2545f4914f6cdd1d, uint64(n))
	return int(hi)
}

// sort orders the entries that have messages left by their need, then by their fullest link, stable: equal ones keep their
// order, but begin at a random place.
func (f *filler) sort() {
	p, kept, most := f.p, f.next[:0], int32(0)
	for l, left := range f.left {
		f.full[l] = left
		if room := p.Links[l].Room; room > 1 {
			f.full[l] = (left + room - 1) / room
		}
	}
	start := f.below(len(f.order))
	key := f.key[:0]
	for i := range f.order {
		if i += start; i >= len(f.order) {
			i -= len(f.order)
		}
		e := f.order[i]
		if f.mask[e] == 0 {
			continue
		}
		k := f.left[p.Hosts+int(e)%p.Hosts]
		for _, l := range p.between(int(e)) {
			k = max(k, f.full[l])
		}
		kept, key, most = append(kept, e), append(key, k), max(most, k)
	}
	for i, k := range key {
		key[i] = most - k
	}
	out := f.sorted[:len(kept)]
	f.distribute(out, kept, key, int(most)+1)
	f.order, f.sorted = out, f.order
	if f.need != nil {
		for i, e := range out {
			key[i] = f.kind[e]
		}
		f.distribute(kept, out, key, f.kinds)
		f.order, f.next = kept, out
	}
}

// distribute writes entries in the order of their keys, which are below n, equal ones in the order that they have.
func (f *filler) distribute(to, from, key []int32, n int) {
	if cap(f.count) < n+1 {
		f.count = make([]int32, n+1)
	}
	count := f.count[:n+1]
	clear(count)
	for _, k := range key {
		count[k+1]++
	}
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
	for i, e := range from {
		at := &count[key[i]]
		to[*at] = e
		*at++
	}
}

// phase fills the next phase, of that length, and returns how many messages it has.
func (f *filler) phase(s *scheduler.Plan, length float64) (placed int) {
	p := f.p
	f.clear()
	f.lasts = length
	for _, e := range f.order {
		b, dst := int(e)/p.Hosts, int(e)%p.Hosts
		can := f.mask[e] & f.free[b]
		if can == 0 || f.taken[dst] || !f.fits(int(e)) {
			continue
		}
		f.place(s, int(e), b, dst, f.busiest(b, can))
		placed++
		if f.free[b] == 0 {
			if f.some--; f.some == 0 {
				break
			}
		}
	}
	return placed
}

// clear begins a phase.
func (f *filler) clear() {
	for b, hosts := range f.p.from {
		f.free[b] = ^uint64(0) >> (64 - len(hosts))
	}
	f.some = len(f.free)
	clear(f.taken)
	for _, l := range f.passed {
		f.used[l] = 0
	}
	f.passed, f.lasts = f.passed[:0], 1
}

func (f *filler) fits(entry int) bool {
	if f.fixed && f.need[entry] > f.lasts*(1+round) {
		return false
	}
	for _, l := range f.p.between(entry) {
		if f.used[l] < f.p.Links[l].Room && f.need == nil {
			continue
		}
		if f.need == nil || f.p.need(l, f.used[l]+1) > max(f.lasts, f.need[entry])*(1+1e-9) {
			return false
		}
	}
	return true
}

// busiest returns the place of the host of a set that has most messages left.
func (f *filler) busiest(block int, set uint64) (at int) {
	most := int32(-1)
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if left := f.left[f.p.from[block][i]]; left > most {
			most, at = left, i
		}
	}
	return at
}

func (f *filler) place(s *scheduler.Plan, e, block, dst, at int) {
	src := int(f.p.from[block][at])
	s.Phase[src*s.Hosts+dst] = int32(s.Phases)
	f.mask[e] &^= 1 << at
	f.free[block] &^= 1 << at
	f.taken[dst] = true
	if f.need != nil {
		f.lasts = max(f.lasts, f.need[e])
	}
	f.left[src]--
	f.left[f.p.Hosts+dst]--
	for _, l := range f.p.between(e) {
		f.left[l]--
		if f.used[l]++; f.used[l] == 1 {
			f.passed = append(f.passed, l)
		}
	}
}
