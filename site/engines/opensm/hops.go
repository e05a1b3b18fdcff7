package opensm

import (
	"math/bits"

	"evbench/internal/lists"
	"evbench/internal/parallel"
)

const noPath = 255

// hops are tables of the ports of a switch on a shortest way to another switch. Hosts have no row:
// their switch's row serves (memo, §4 d). Numbers of hops are absent, as only the least ones are
// used (memo, §5).
//
// A set of ports is as many words as the largest switch needs; S² sets.
type hops struct {
	switches, words int
	sets            []uint64
}

func (v *view) newHops() *hops {
	h := &hops{switches: len(v.seen), words: 1}
	for s := range v.seen {
		h.words = max(h.words, (len(v.peers(int32(s)))+63)/64)
	}
	h.sets = make([]uint64, h.switches*h.switches*h.words)
	return h
}

// set returns the ports of s towards t; bit p-1 is port p.
func (h *hops) set(s, t int32) []uint64 {
	i := (int(s)*h.switches + int(t)) * h.words
	return h.sets[i : i+h.words]
}

// shortest returns the tables of minhop (osm_ucast_mgr.c): a port is good when its neighbour is one
// hop nearer. The original relaxes all tables until none changes; a breadth-first search from each
// switch (memo, §4.2) gives the same sets. O(S·E) for the sets, O(S·E/64) for the searches.
func (v *view) shortest() *hops {
	h, d := v.newHops(), v.distances()
	v.rows(func(s int32) {
		mine := d.of(s)
		for p, q := range v.peers(s) {
			if q == none {
				continue
			}
			theirs := d.of(q)
			word, bit := p/64, uint64(1)<<(p%64)
			sets := h.sets[int(s)*h.switches*h.words:]
			for t, x := range mine {
				if theirs[t]+1 == x && x != noPath {
					sets[t*h.words+word] |= bit
				}
			}
		}
	})
	return h
}

// distances are hops between switches, S² bytes.
type distances struct {
	switches int
	hops     []uint8
}

func (d *distances) of(s int32) []uint8 {
	return d.hops[int(s)*d.switches : (int(s)+1)*d.switches]
}

func (v *view) distances() *distances {
	d := &distances{len(v.seen), make([]uint8, len(v.seen)*len(v.seen))}
	parallel.Each(0, (len(v.order)+63)/64, func(_, i int) {
		from := v.order[i*64 : min(len(v.order), i*64+64)]
		rows := lists.Map(from, d.of)
		v.search(from, rows)
	})
	return d
}

// search fills the distances from up to 64 switches with one breadth-first
// search: a bit of a word stands for a switch that the search started from
// (Then et al., "The More the Merrier", VLDB 2014). O(D·E) for all of them, D
// being the diameter.
func (v *view) search(from []int32, rows [][]uint8) {
	reached := make([]uint64, len(v.seen))
	now, next := make([]uint64, len(v.seen)), make([]uint64, len(v.seen))
	for j, s := range from {
		for t := range rows[j] {
			rows[j][t] = noPath
		}
		rows[j][s] = 0
		reached[s] |= 1 << j
		now[s] |= 1 << j
	}
	for level, more := uint8(1), true; more && level < noPath-1; level++ {
		more = false
		for _, s := range v.order {
			if now[s] == 0 {
				continue
			}
			for _, t := range v.peers(s) {
				if t != none {
					next[t] |= now[s]
				}
			}
		}
		for _, t := range v.order {
			fresh := next[t] &^ reached[t]
			reached[t] |= fresh
			now[t], next[t] = fresh, 0
			more = more || fresh != 0
			for ; fresh != 0; fresh &= fresh - 1 {
				rows[bits.TrailingZeros64(fresh)][t] = level
			}
		}
	}
}
