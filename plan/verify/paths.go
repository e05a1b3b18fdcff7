package verify

import (
	"math/bits"

	"evbench/topology"
)

// pathsRoom bounds the memory of countPaths, in words of eight bytes. A fabric of
// 4,096 servers takes a sixteenth of it.
const pathsRoom = 1 << 22

// countPaths returns the distinct spines, on three levels planes with their top switches, from one
// leaf to one server on another leaf, and the addresses that they need. It skips messages without a
// meaning. O(messages), and again for every part of the fabric that does not fit.
func (j *judge) countPaths() *Paths {
	t, words := j.tree, (j.tree.Paths()+63)/64
	row := t.Servers() * words // one leaf's
	part := max(1, min(t.Leaves(), pathsRoom/row))
	seen, out := make([]uint64, part*row), &Paths{}
	for first := 0; first < t.Leaves(); first += part {
		clear(seen)
		j.markPaths(seen, first, part, words)
		for i := 0; i < len(seen); i += words {
			n, lmc := addresses(seen[i:i+words], t.Cables())
			out.Most, out.LMC = max(out.Most, n), max(out.LMC, lmc)
		}
	}
	// Destinations have 2^LMC addresses, switches one; a switch needs no entry for itself (thesis
	// 6.7.2: 32·326 + 37 entries).
	out.LIDs = t.Servers()<<out.LMC + t.Switches()
	out.Entries = out.LIDs - 1
	return out
}

// addresses returns how many paths a set has, and the LMC for them (2^LMC addresses). With parallel
// cables an address comes down by one cable, its number modulo theirs.
func addresses(set []uint64, cables int) (paths, lmc int) {
	var by [topology.MaxCables]int
	for i, w := range set {
		paths += bits.OnesCount64(w)
		for ; w != 0 && cables > 1; w &= w - 1 {
			by[(64*i+bits.TrailingZeros64(w))%cables]++
		}
	}
	if cables == 1 {
		by[0] = paths
	}
	for cable, n := range by[:cables] {
		for (1<<lmc+cables-1-cable)/cables < n {
			lmc++
		}
	}
	return paths, lmc
}

// markPaths sets bit [(leaf-first)·S + destination][spine·tops + top] for each path used from the
// leaves first..first+part-1. Within a pod the top is 0.
func (j *judge) markPaths(seen []uint64, first, part, words int) {
	spines, servers, tops, p := uint(j.tree.Spines()), j.tree.Servers(), max(1, j.tree.Tops()), j.tree.Cables()
	for i := range j.messages {
		m := &j.messages[i]
		src, dst, k := j.at(m.Src), j.at(m.Dst), uint(m.Spine)
		leaf := int(src.leaf) - first
		if k >= spines || src.rank < 0 || dst.rank < 0 || src.leaf == dst.leaf || uint(leaf) >= uint(part) {
			continue
		}
		if up, down := m.Cables(); j.form == cablesForm {
			if m.Top == NoTop || max(up, down) >= p {
				continue
			}
			k = k*uint(p*p) + uint(up*p+down)
		} else if top := int(m.Top); j.form == topForm {
			if top >= tops {
				continue
			}
			k = k*uint(tops) + uint(max(top, 0))
		}
		seen[(leaf*servers+int(dst.rank))*words+int(k>>6)] |= 1 << (k & 63)
	}
}
