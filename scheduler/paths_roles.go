package scheduler

import "evbench/internal/coloring"

// inside is within for all leaves where some servers only read or only build, which the papers do not
// treat. Messages within a leaf are units with a destination, too: which phases suit them does not
// follow from the other messages.
//
// A leaf with fewer live links than readers has left nodes for the other readers, one with more has
// right nodes that keep the rest of its up-links idle; likewise builders and down-links. Edges without
// a message complete the graph, within leaves where they can.
func (t *timing) inside(load []int32, first int32) int32 {
	var all []int32    // nodes
	var up, down []int // phases that they lack as left, and as right nodes
	pad := func(u, v int32, n int) {
		t.edges = append(t.edges, coloring.Edge{U: u, V: v, N: int32(n), First: first})
		first += int32(n)
	}
	for a := range t.f.leaves {
		nodes, out, in := t.lack(a, load)
		links, r, b, k := len(nodes), t.f.r[a], t.f.b[a], t.c.phases
		idleUp, idleDown := max(0, links-r), max(0, links-b)
		lefts, rights := max(links, r)+idleDown, max(links, b)+idleUp // of these messages have their nodes
		for len(nodes) < max(lefts, rights) {
			nodes, out, in = append(nodes, t.add(a)), append(out, k), append(in, k)
		}
		for i, u := range nodes[links:] {
			t.idle[0][u], t.idle[1][u] = i < idleDown, i < idleUp
		}
		pour(out[:links], in[links:links+idleUp], idleUp*k, func(i, j, n int) { pad(nodes[i], nodes[links+j], n) })
		pour(in[:links], out[links:links+idleDown], idleDown*k, func(i, j, n int) { pad(nodes[links+j], nodes[i], n) })
		at := int32(t.f.readers[a]*t.c.width + t.f.builders[a]*r)
		join := func(i, j, n int) {
			t.edges = append(t.edges, coloring.Edge{U: nodes[i], V: nodes[j], N: int32(n), First: at})
			at += int32(n)
		}
		within, loops := r*b, 0
		for i := range min(lefts, rights) {
			loops += min(out[i], in[i])
		}
		for i := range min(lefts, rights) { // first links with themselves, in equal shares: cycles are then short
			loop := min(out[i], in[i])
			n := min(loop, ceilDiv(within*loop, max(loops, 1)))
			join(i, i, n)
			out[i], in[i], within, loops = out[i]-n, in[i]-n, within-n, loops-loop
		}
		pour(out[:lefts], in[:rights], within, join)
		for i, u := range nodes {
			n := min(out[i], in[i])
			pad(u, u, n)
			out[i], in[i] = out[i]-n, in[i]-n
		}
		pour(out, in, min(sum(out), sum(in)), func(i, j, n int) { pad(nodes[i], nodes[j], n) })
		all, up, down = append(all, nodes...), append(up, out...), append(down, in...)
		t.of = append(t.of, nodes)
	}
	t.of = append(t.of, all) // for twist
	pour(up, down, sum(up), func(i, j, n int) { pad(all[i], all[j], n) })
	return first
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// A usage says what carries a message in a phase.
type usage struct {
	up, down []bool // by node
	hears    []bool // by builder
	out, in  []int  // by leaf: readers that send, builders that hear
}

// part moves each message that is the second of its destination in a phase to the first phase with
// room for it, an added one where there is none.
func (t *timing) part() {
	var used []*usage
	more := func() {
		used = append(used, &usage{make([]bool, t.nodes), make([]bool, t.nodes), make([]bool, t.c.width), make([]int, t.f.leaves), make([]int, t.f.leaves)})
	}
	for range t.c.phases {
		more()
	}
	var second []int32
	for i, e := range t.up {
		switch u := used[i%t.c.phases]; {
		case t.dest[e] == None:
		case u.hears[t.dest[e]]:
			second = append(second, e)
		default:
			t.put(e, i%t.c.phases, u)
		}
	}
	for _, e := range second {
		p := 0
		for p < len(used) && !t.roomFor(e, used[p]) {
			p++
		}
		if p == len(used) {
			more()
		}
		t.put(e, p, used[p])
	}
	t.c.phases = len(used)
}

func (t *timing) put(e int32, phase int, u *usage) {
	t.c.slots[e] = makeSlot(phase, t.c.slots[e].spine())
	if t.c.slots[e].spine() != None {
		u.up[t.left[e]], u.down[t.right[e]] = true, true
	}
	u.hears[t.dest[e]] = true
	u.out[t.home[t.left[e]]]++
	u.in[t.leafOf[t.dest[e]]]++
}

func (t *timing) roomFor(e int32, u *usage) bool {
	a, b := t.home[t.left[e]], t.leafOf[t.dest[e]]
	return !u.hears[t.dest[e]] && u.out[a] < t.f.r[a] && u.in[b] < t.f.b[b] &&
		(t.c.slots[e].spine() == None || !u.up[t.left[e]] && !u.down[t.right[e]])
}
