package split

import "evbench/scheduler/internal/fattree"

// Hall returns the best bound of kind hall that is better than b, or b.
//
// Whether m phases are too few for leaf l is a transportation problem: each leaf b that it meets
// supplies n_l·n_b messages, each live cable of l takes m of them. The messages that cannot be sent
// (max-flow) give a set of leaves that needs more phases (min-cut). m is raised to that, and so on:
// Dinkelbach's method for the largest ratio, exact in whole numbers.
func Hall(f *fattree.Tree, b Bound) Bound {
	for l := range f.N {
		t := newTransport(f, l)
		for t.send(b.Phases); ; t.send(b.Phases) {
			set, cables := t.stuck()
			if set == nil {
				break
			}
			supply := 0
			b = Bound{Kind: KindHall, At: f.Leaf[l]}
			for _, i := range set {
				supply += t.supply[i]
				b.Subset = append(b.Subset, f.Leaf[t.leaf[i]])
			}
			b.Phases = fattree.CeilDiv(supply, cables)
		}
	}
	return b
}

// A transport is the messages of one leaf on its links. Rows are the leaves that
// it meets, columns its live spines.
type transport struct {
	leaf    []int  // by row
	supply  []int  // by row: messages
	columns []int  // spines
	cables  []int  // by column: live ones of the leaf
	open    []bool // by row·columns + column: the row's leaf is connected to the spine
	flow    []int  // likewise: messages sent
	left    []int  // by row: messages not sent
	room    []int  // by column: messages the link can still take
	from    []int  // search, by column: the row it was reached from, or none
	by      []int  // search, by row: the column it was reached from, or none
	seen    []bool // search, by row
	queue   []int  // search: rows
}

func newTransport(f *fattree.Tree, l int) *transport {
	t := &transport{}
	for k := range f.Spines {
		if f.Alive[f.Link(l, k)] {
			t.columns = append(t.columns, k)
			t.cables = append(t.cables, f.Room(f.Link(l, k)))
		}
	}
	for b := range f.N {
		if b == l || !f.Meets(l, b) {
			continue
		}
		t.leaf = append(t.leaf, b)
		t.supply = append(t.supply, f.Messages(l, b))
		for _, k := range t.columns {
			t.open = append(t.open, f.Alive[f.Link(b, k)])
		}
	}
	rows, columns := len(t.leaf), len(t.columns)
	t.flow, t.left, t.room = make([]int, rows*columns), make([]int, rows), make([]int, columns)
	t.from, t.by, t.seen = make([]int, columns), make([]int, rows), make([]bool, rows)
	return t
}

// send finds a maximum flow for links that take m messages each: first directly, then along
// shortest augmenting paths.
func (t *transport) send(m int) {
	clear(t.flow)
	copy(t.left, t.supply)
	for c := range t.room {
		t.room[c] = m * t.cables[c]
	}
	for r := range t.left {
		for c := range t.columns {
			if t.open[r*len(t.columns)+c] {
				t.push(r, c, min(t.left[r], t.room[c]))
			}
		}
	}
	for c := t.search(); c != none; c = t.search() {
		t.augment(c)
	}
}

func (t *transport) push(row, column, n int) {
	t.flow[row*len(t.columns)+column] += n
	t.left[row] -= n
	t.room[column] -= n
}

// search looks, breadth first, for a way from a row with messages left to a
// column with room, and returns that column or none.
func (t *transport) search() int {
	t.queue = t.queue[:0]
	for c := range t.from {
		t.from[c] = none
	}
	for r, n := range t.left {
		if t.seen[r] = n > 0; n > 0 {
			t.by[r] = none
			t.queue = append(t.queue, r)
		}
	}
	for at := 0; at < len(t.queue); at++ {
		r := t.queue[at]
		for c := range t.columns {
			if t.from[c] != none || !t.open[r*len(t.columns)+c] {
				continue
			}
			t.from[c] = r
			if t.room[c] > 0 {
				return c
			}
			t.displace(c)
		}
	}
	return none
}

// displace reaches the rows that have messages in a full column.
func (t *transport) displace(column int) {
	for r, seen := range t.seen {
		if !seen && t.flow[r*len(t.columns)+column] > 0 {
			t.seen[r], t.by[r] = true, column
			t.queue = append(t.queue, r)
		}
	}
}

// augment sends as much as fits along the path found to a column.
func (t *transport) augment(column int) {
	n := t.room[column]
	for c := column; ; {
		r := t.from[c]
		if t.by[r] == none {
			n = min(n, t.left[r])
			break
		}
		c = t.by[r]
		n = min(n, t.flow[r*len(t.columns)+c])
	}
	for c := column; c != none; {
		r := t.from[c]
		t.push(r, c, n)
		if c = t.by[r]; c != none {
			t.push(r, c, -n)
		}
	}
}

// stuck returns the rows that the last, failed search reached, and the number of cables that they
// are connected to. These cables are full, with messages of these rows only. nil when all is sent.
func (t *transport) stuck() (rows []int, cables int) {
	for r, seen := range t.seen {
		if seen {
			rows = append(rows, r)
		}
	}
	for c, r := range t.from {
		if r != none {
			cables += t.cables[c]
		}
	}
	return rows, cables
}
