package survey

import (
	"slices"
	"sync"

	"evbench/topology"
)

// A baseline is the loads of a schedule over the tables of a tree, from which those over other tables
// of the same tree follow by the messages whose paths differ: a dead link changes few.
type baseline struct {
	wires    topology.Wires
	leaf     []int // by rank
	first    []int // by leaf: its first rank, and behind the last
	ranks    int
	phase    []int32 // by src·ranks + dst; -1: no message
	path     []int32 // by leaf·ranks + dst
	most     []uint16
	duration int
	states   sync.Pool // of *loads
	load     []uint16  // by phase·wires + wire
}

// loads are the loads of a baseline, for one goroutine, which leaves them as they were.
type loads struct {
	load    []uint16
	changed []change
	most    []uint16 // by phase, of those touched; 0: not touched
	fell    []bool   // by phase: a wire that had most has less
	phases  []int32  // that are touched
	crossed []topology.Wire
}

type change struct {
	at    int // in load
	added bool
}

// mostLoads bounds the memory of a baseline, in loads.
const mostLoads = 1 << 26

// newBaseline returns nil where the loads take too much memory.
func newBaseline(t *topology.Tree, o *order, leaf []int, path []int32) *baseline {
	phases, ranks := len(o.start)-1, t.Servers()
	if phases*t.AllWires() > mostLoads {
		return nil
	}
	b := &baseline{wires: t.Wires, leaf: leaf, ranks: ranks, phase: make([]int32, ranks*ranks), path: path, most: make([]uint16, phases), load: make([]uint16, phases*t.AllWires())}
	for l := range t.Leaves() {
		b.first = append(b.first, t.First(l))
	}
	b.first = append(b.first, ranks)
	for i := range b.phase {
		b.phase[i] = -1
	}
	crossed := make([]topology.Wire, 0, 4)
	for p := range phases {
		b.most[p] = 1
		for _, m := range o.pair[o.start[p]:o.start[p+1]] {
			src, dst := int(m>>16), int(m&0xffff)
			b.phase[src*ranks+dst] = int32(p)
			if leaf[src] == leaf[dst] {
				continue
			}
			crossed = t.Between(crossed[:0], leaf[src], leaf[dst], int(path[leaf[src]*ranks+dst]))
			for _, w := range crossed {
				at := p*t.AllWires() + int(w)
				b.load[at]++
				b.most[p] = max(b.most[p], b.load[at])
			}
		}
		b.duration += int(b.most[p])
	}
	b.states.New = func() any {
		return &loads{load: append([]uint16(nil), b.load...), most: make([]uint16, phases), fell: make([]bool, phases), crossed: make([]topology.Wire, 0, 4)}
	}
	return b
}

// over returns the duration over other paths, as order.duration counts it.
func (b *baseline) over(path []int32) int {
	x := b.states.Get().(*loads)
	wires := b.wires.AllWires()
	for l := range len(b.first) - 1 {
		if b.first[l] == b.first[l+1] {
			continue
		}
		for dst := range b.ranks {
			at := l*b.ranks + dst
			if b.leaf[dst] == l || path[at] == b.path[at] {
				continue
			}
			for src := b.first[l]; src < b.first[l+1]; src++ {
				if p := b.phase[src*b.ranks+dst]; p >= 0 {
					x.put(b, wires, p, l, dst, b.path[at], false)
					x.put(b, wires, p, l, dst, path[at], true)
				}
			}
		}
	}
	sum := b.duration
	for _, p := range x.phases {
		if x.fell[p] {
			x.most[p] = max(1, slices.Max(x.load[int(p)*wires:int(p+1)*wires]))
		}
		sum += int(x.most[p]) - int(b.most[p])
		x.most[p], x.fell[p] = 0, false
	}
	for _, c := range x.changed {
		if c.added {
			x.load[c.at]--
		} else {
			x.load[c.at]++
		}
	}
	x.phases, x.changed = x.phases[:0], x.changed[:0]
	b.states.Put(x)
	return sum
}

func (x *loads) put(b *baseline, wires int, phase int32, leaf, dst int, path int32, add bool) {
	if x.most[phase] == 0 {
		x.most[phase] = b.most[phase]
		x.phases = append(x.phases, phase)
	}
	x.crossed = b.wires.Between(x.crossed[:0], leaf, b.leaf[dst], int(path))
	for _, w := range x.crossed {
		at := int(phase)*wires + int(w)
		if add {
			x.load[at]++
			x.most[phase] = max(x.most[phase], x.load[at])
		} else {
			x.fell[phase] = x.fell[phase] || x.load[at] == x.most[phase] && x.load[at] > 1
			x.load[at]--
		}
		x.changed = append(x.changed, change{at, add})
	}
}
