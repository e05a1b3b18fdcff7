package judge

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
	seen, out, one := make([]uint64, part*row), &Paths{}, newOneAddress(t, words)
	for first := 0; first < t.Leaves(); first += part {
		clear(seen)
		j.markPaths(seen, first, part, words)
		for i := 0; i < len(seen); i += words {
			set, dst := seen[i:i+words], i%row/words
			n, lmc := addresses(set, t.Cables())
			out.Most = max(out.Most, n)
			one.note(dst, set, n, lmc)
			if leaf := first + i/row; dst == t.Servers()-1 && leaf < t.Leaves() && (leaf+1)%t.PodLeaves() == 0 {
				one.pod()
			}
		}
	}
	out.LMC = one.most
	// Destinations have 2^LMC addresses, switches one; a switch needs no entry for itself (thesis
	// 6.7.2: 32·326 + 37 entries).
	out.LIDs = t.Servers()<<out.LMC + t.Switches()
	out.Entries = out.LIDs - 1
	return out
}

// oneAddress finds the destinations for which one address suffices: each leaf has one path, and over
// parallel cables all from a spine come down by one cable. On three levels it does for a pod: each of
// its leaves has one path, and through a plane all take one top switch. Otherwise a pod has all paths
// of its leaves at once.
type oneAddress struct {
	tree    *topology.Tree
	down    []uint16 // by destination and spine: the cable down or the top switch, plus 1; 0: none yet
	several []bool   // by destination
	lmcs    []int    // by destination, where one does not suffice
	pods    []uint64 // by destination: the paths of the pod, on three levels
	most    int
}

func newOneAddress(t *topology.Tree, words int) *oneAddress {
	o := &oneAddress{tree: t, down: make([]uint16, t.Servers()*t.Spines()), several: make([]bool, t.Servers()), lmcs: make([]int, t.Servers())}
	if t.Levels() == 3 {
		o.pods = make([]uint64, t.Servers()*words)
	}
	return o
}

// note takes the n paths of one leaf to a destination, and the LMC for them alone.
func (o *oneAddress) note(dst int, set []uint64, n, lmc int) {
	cables, spines := o.tree.Cables(), o.tree.Spines()
	per, by := cables*cables, cables
	if o.pods != nil {
		per, by = o.tree.Tops(), o.tree.Tops()
	}
	o.lmcs[dst] = max(o.lmcs[dst], lmc)
	o.several[dst] = o.several[dst] || n > 1
	for i, w := range set {
		if o.pods != nil {
			o.pods[dst*len(set)+i] |= w
		}
		for ; w != 0 && by > 1; w &= w - 1 {
			path := 64*i + bits.TrailingZeros64(w)
			at, down := dst*spines+path/per, uint16(path%by+1)
			o.several[dst] = o.several[dst] || o.down[at] != 0 && o.down[at] != down
			o.down[at] = down
		}
	}
}

// pod ends a pod: all leaves on two levels.
func (o *oneAddress) pod() {
	for dst, lmc := range o.lmcs {
		if words := len(o.pods) / len(o.lmcs); words > 0 {
			_, lmc = addresses(o.pods[dst*words:(dst+1)*words], o.tree.Cables())
		}
		if o.several[dst] {
			o.most = max(o.most, lmc)
		}
	}
	clear(o.down)
	clear(o.several)
	clear(o.lmcs)
	clear(o.pods)
}

// addresses returns how many paths a set has, and the LMC for them (2^LMC addresses). With parallel
// cables an address comes down by one cable, its number modulo theirs, where one does not suffice.
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
