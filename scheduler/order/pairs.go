package order

import (
	"cmp"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
)

// A pair is the entries whose messages pass the same two fullest links.
type pair struct {
	other   int32   // the second link
	entries []int32 // with messages left
	next    int     // where the next search begins
}

// tried is how many entries of a pair are looked at for one message.
const tried = 16

// resorted is after how many phases the pairs of a link are sorted again.
const resorted = 16

// byPairs is greedy for exchanges of many hosts: messages are kept by the two fullest links of their path, so that
// all messages over a full link are passed over at once. Of the links with room, that with most messages left
// takes a message first, and of its messages one whose second link has most left. O(phases · pairs) at most.
func (p *Exchange) byPairs() *scheduler.Plan {
	f := p.filler()
	f.begin()
	rate := lists.Tabulate(len(p.Links), func(l int) float64 { return p.Links[l].Rate() })
	need := func(l int32) float64 { return float64(f.left[l]) / rate[l] }
	pairs, order := f.pairs(need)
	s := scheduler.NewPlan(p.Hosts, "greedy")
	for left := p.Messages(); left > 0; s.Phases++ {
		f.clear()
		// Loads change little from one phase to the next, so that this is nearly sorted.
		order = slices.DeleteFunc(order, func(l int32) bool { return len(pairs[l]) == 0 })
		insertion(order, need)
		for _, l := range order {
			if (s.Phases+int(l))%resorted == 0 {
				pairs[l] = slices.DeleteFunc(pairs[l], func(x *pair) bool { return len(x.entries) == 0 })
				insertion(pairs[l], func(x *pair) float64 { return need(x.other) })
			}
			for f.room(l) && f.one(s, pairs[l]) {
				left--
			}
		}
	}
	return s
}

// insertion sorts what is nearly sorted, the largest first.
func insertion[T any](list []T, key func(T) float64) {
	for i := 1; i < len(list); i++ {
		x, k := list[i], key(list[i])
		j := i
		for ; j > 0 && key(list[j-1]) < k; j-- {
			list[j] = list[j-1]
		}
		list[j] = x
	}
}

// pairs divides the entries by their fullest link, and these by the next.
func (f *filler) pairs(need func(link int32) float64) (pairs [][]*pair, order []int32) {
	p := f.p
	type key struct{ first, second, entry int32 }
	keys := make([]key, len(f.order))
	for i, e := range f.order {
		first, second := int32(p.Hosts)+e%int32(p.Hosts), int32(e/int32(p.Hosts)) // the second is a host of the block
		second = p.from[second][0]
		for _, l := range p.between(int(e)) {
			switch {
			case need(l) > need(first):
				first, second = l, first
			case need(l) > need(second):
				second = l
			}
		}
		keys[i] = key{first, second, e}
	}
	slices.SortStableFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second)) })
	pairs = make([][]*pair, len(p.Links))
	for i, k := range keys {
		if i == 0 || keys[i-1].first != k.first {
			order = append(order, k.first)
		}
		if i == 0 || keys[i-1].first != k.first || keys[i-1].second != k.second {
			pairs[k.first] = append(pairs[k.first], &pair{other: k.second})
		}
		x := pairs[k.first][len(pairs[k.first])-1]
		x.entries = append(x.entries, k.entry)
	}
	for _, l := range order {
		slices.SortStableFunc(pairs[l], func(a, b *pair) int { return cmp.Compare(need(b.other), need(a.other)) })
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(need(b), need(a)) })
	return pairs, order
}

// one places a message of some pairs in the phase, if one fits.
func (f *filler) one(s *scheduler.Plan, pairs []*pair) bool {
	p := f.p
	for _, x := range pairs {
		if !f.room(x.other) {
			continue
		}
		for range min(tried, len(x.entries)) {
			if x.next >= len(x.entries) {
				x.next = 0
			}
			e := int(x.entries[x.next])
			b, dst := e/p.Hosts, e%p.Hosts
			can := f.mask[e] & f.free[b]
			if can == 0 || f.taken[dst] || !f.fits(e) {
				x.next++
				continue
			}
			f.place(s, e, b, dst, f.busiest(b, can))
			if f.mask[e] == 0 {
				last := len(x.entries) - 1
				x.entries[x.next] = x.entries[last]
				x.entries = x.entries[:last]
			} else {
				x.next++
			}
			return true
		}
	}
	return false
}

// room reports whether a link may take another message in the phase. Several messages take a slow one where they
// last as long; hosts that send are looked at by block.
func (f *filler) room(l int32) bool {
	switch n := int32(f.p.Hosts); {
	case l < n:
		return true
	case l < 2*n:
		return !f.taken[l-n]
	}
	return f.used[l] < f.p.Links[l].Room || f.need != nil
}
