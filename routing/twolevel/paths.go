package twolevel

import (
	"math/bits"

	"evbench/topology"
)

// Paths says what a pinned plan asks of an InfiniBand subnet, where a path is
// chosen by the destination address (LID): a server has 2^LMC of them.
type Paths struct {
	Most    int // most distinct spines from one leaf to one server of another
	LMC     int // LID mask control: ⌈log2 Most⌉
	LIDs    int // addresses in the subnet: 2^LMC for each server, one for each switch
	Entries int // of the forwarding table of each switch: all addresses but its own
}

// CountPaths counts the spines of a plan; spine returns that of the message from
// one rank to another, on another leaf, and something negative where there is
// none. The numbers follow thesis 6.7.2: LMC 5 for 326 servers and 38 switches
// is 32·326 + 37 = 10,469 entries. It needs no path for switches, whatever their
// number is. O(S² + M1·S·spines/64).
func CountPaths(t *topology.Tree, spine func(src, dst int) int) Paths {
	p := Paths{}
	seen := make([]uint64, t.Servers()*((t.Spines()+63)/64))
	words := (t.Spines() + 63) / 64
	for leaf := range t.Leaves() {
		clear(seen)
		for src := t.First(leaf); src < t.First(leaf+1); src++ {
			for dst := range t.Servers() {
				if dst >= t.First(leaf) && dst < t.First(leaf+1) {
					continue
				}
				if k := spine(src, dst); k >= 0 {
					seen[dst*words+k/64] |= 1 << (k % 64)
				}
			}
		}
		for dst := range t.Servers() {
			n := 0
			for _, w := range seen[dst*words : (dst+1)*words] {
				n += bits.OnesCount64(w)
			}
			p.Most = max(p.Most, n)
		}
	}
	if p.Most > 1 {
		p.LMC = bits.Len(uint(p.Most - 1))
	}
	switches := t.Leaves() + t.Spines()
	p.LIDs = t.Servers()<<p.LMC + switches
	p.Entries = p.LIDs - 1
	return p
}
