package list

import (
	"math"
	"slices"

	"evbench/internal/heap"
	"evbench/scheduler"
	"evbench/topology"
)

// A lister makes list schedules (Graham 1966, with four or six resources to a fragment): at time 0,
// and whenever a fragment has ended, it starts what fits. In what follows d is a side: 0 sends
// over up-links, 1 receives over down-links; i is a server on that side and j one on the other;
// a, b are leaves, q, r their pods, k is a spine or plane, e a layer, x a fragment that has its start.
type lister struct {
	tree            *topology.Tree
	window          []*Matrix // the exchanges, oldest first
	servers, spines int
	leaf, pod       []int32             // of servers, and of leaves
	first           []int               // rank of the first server of each leaf, and their number
	count           int                 // fragments that have bytes
	sum             int64               // their bytes
	bound           int64               // least time: of all exchanges together, after what wires carry at first
	until           []int64             // by wire, when it is free at first; nil: at 0
	paths           *scheduler.Schedule // whose spines fragments take; nil: any
	late            []resource          // that are not free at 0
	free, bare      []int64             // by wire, when timed has it free at last, with overheads and without
	shape
	busiest [2][]float64 // by side and leaf, which part of its bytes its busiest link has
	fresh   state        // before the first start
	cut     int64        // when run saves its state
	saved   state

	state            // of the schedule in the making
	layers []*Matrix // the window, then parts: layer n is of exchange n % len(window)
	choice
}

// A shape is what the sizes of a tree decide.
type shape struct {
	words, wide int  // of a set of servers, and of one of spines
	high        int  // of one of top switches; 0 on two levels
	plain       bool // two levels with single cables
}

// A choice is what decides which fragment starts next.
type choice struct {
	p        priority
	looks    int              // servers considered, in all schedules
	limit    int64            // in the end every port is free before that
	hopeless bool             // the schedule in the making is not
	hold     int64            // what has less to go, at ports and links, waits for those that have more
	wake     int64            // the most that a server has to go that waits for that
	dirty    [2][]int32       // servers to look at again
	mark     [2][]bool        // whether a server is among them
	queue    heap.Heap[entry] // candidates
}

// A state is a schedule in the making.
type state struct {
	placed []placed
	wait   []int            // fragments not yet started, by layer
	old    int              // the first layer that has some
	quota  []float64        // by leaf, leaf and spine, what is left of the shares
	ends   heap.Heap[entry] // of fragments under way, and of late resources
	side   [2]side          // sending, receiving
}

// A resource is a link in one direction, or the port of a server.
type resource struct {
	side, server int // of a port
	link         topology.Link
	isLink       bool
}

// A side holds the sending, or the receiving, of a state.
type side struct {
	left  []uint64 // by layer and server, the others whose fragments have not started
	idle  []uint64 // servers whose port is free and that have something left
	free  []uint64 // by leaf, spines to which an up-link, or a down-link, is free
	lane  []uint16 // by leaf and spine, which parallel cables are; nil: there is one
	top   []uint64 // by pod and plane, top switches to which the link is; nil on two levels
	above []int64  // by pod, plane and top switch, bytes that have started there; likewise
	togo  []int64  // by server, bytes not yet started
	out   []int64  // by leaf, the same to other leaves, or from them
	press []int64  // by leaf, the same on its busiest link
}

func (s *state) assign(o *state) {
	s.placed, s.wait, s.old = append(s.placed[:0], o.placed...), append(s.wait[:0], o.wait...), o.old
	s.quota, s.ends = append(s.quota[:0], o.quota...), append(s.ends[:0], o.ends...)
	for d := range s.side {
		x, y := &s.side[d], &o.side[d]
		x.left, x.idle, x.free = append(x.left[:0], y.left...), append(x.idle[:0], y.idle...), append(x.free[:0], y.free...)
		x.lane, x.top, x.above = append(x.lane[:0], y.lane...), append(x.top[:0], y.top...), append(x.above[:0], y.above...)
		x.togo = append(x.togo[:0], y.togo...)
		x.out, x.press = append(x.out[:0], y.out...), append(x.press[:0], y.press...)
	}
}

// newLister prepares schedules of a window. until says when each wire is free; nil: at 0.
func newLister(t *topology.Tree, window []*Matrix, bound int64, shares []float64, until []int64) *lister {
	s, leaves, spines := t.Servers(), t.Leaves(), t.Spines()
	l := &lister{
		tree: t, window: window, layers: window, servers: s, spines: spines, bound: bound, until: until,
		free: make([]int64, t.AllWires()), bare: make([]int64, t.AllWires()), choice: choice{limit: math.MaxInt64},
		shape: shape{words: (s + 63) / 64, wide: (spines + 63) / 64, high: (t.Tops() + 63) / 64, plain: t.Levels() == 2 && t.Cables() == 1},
	}
	for a := range leaves {
		l.pod = append(l.pod, int32(t.Pod(a)))
	}
	for rank, leaf := range t.LeafOfRanks() {
		l.leaf = append(l.leaf, int32(leaf))
		for len(l.first) <= leaf {
			l.first = append(l.first, rank)
		}
	}
	for len(l.first) <= leaves {
		l.first = append(l.first, s)
	}
	for d := range l.fresh.side {
		l.fresh.side[d] = side{
			left: make([]uint64, len(window)*s*l.words), idle: make([]uint64, l.words), free: make([]uint64, leaves*l.wide),
			top: make([]uint64, t.Middles()*l.high), above: make([]int64, t.Middles()*t.Tops()),
			togo: make([]int64, s), out: make([]int64, leaves), press: make([]int64, leaves),
		}
		if t.Cables() > 1 {
			l.fresh.side[d].lane = make([]uint16, leaves*spines)
		}
		l.mark[d], l.busiest[d] = make([]bool, s), make([]float64, leaves)
	}
	l.fresh.wait = make([]int, len(window))
	for e, m := range window {
		l.sum += m.sum
		for at, n := range m.bytes {
			if n > 0 {
				l.count++
				l.fresh.wait[e]++
				l.add(0, e, at/s, at%s, n)
				l.add(1, e, at%s, at/s, n)
			}
		}
	}
	l.share(shares)
	l.fresh.placed = make([]placed, 0, l.count)
	if until != nil {
		l.occupy()
	}
	return l
}

// share frees the live links, and notes the planned load of each.
func (l *lister) share(shares []float64) {
	t, leaves, spines := l.tree, l.tree.Leaves(), l.spines
	l.fresh.quota = shares
	for a := range leaves {
		load := [2][]float64{make([]float64, spines), make([]float64, spines)}
		for b := range leaves {
			for k := range spines {
				load[0][k] += shares[(a*leaves+b)*spines+k]
				load[1][k] += shares[(b*leaves+a)*spines+k]
			}
		}
		for k := range spines {
			load[0][k] /= float64(max(1, t.LiveCables(a, k)))
			load[1][k] /= float64(max(1, t.LiveCables(a, k)))
		}
		for d := range load {
			l.busiest[d][a] = slices.Max(load[d]) / float64(max(1, l.fresh.side[d].out[a]))
			l.fresh.side[d].press[a] = int64(slices.Max(load[d]))
		}
	}
	l.links(func(x topology.Link) {
		l.flip(&l.fresh.side[0], x)
		l.flip(&l.fresh.side[1], x)
	})
}

// links visits the live links.
func (l *lister) links(visit func(topology.Link)) {
	for id := range l.tree.AllLinks() {
		if x := l.tree.LinkOf(id); l.tree.LinkAlive(x) {
			visit(x)
		}
	}
}

// occupy takes the resources that are not free at 0, and notes when they are. The bound rises to
// the need of a port that carries its own bytes from then on.
func (l *lister) occupy() {
	t := l.tree
	for d := range l.fresh.side {
		s, port := &l.fresh.side[d], t.FromServer
		if d == 1 {
			port = t.ToServer
		}
		for i := range l.servers {
			if end := l.until[port(i)]; end > 0 && s.togo[i] > 0 {
				s.idle[i/64] &^= 1 << (i % 64)
				l.await(end, resource{side: d, server: i})
				l.bound = max(l.bound, end+s.togo[i])
			}
		}
		l.links(func(x topology.Link) {
			if end := l.until[int(t.UpWire(x))+d]; end > 0 {
				l.flip(s, x)
				l.await(end, resource{side: d, link: x, isLink: true})
			}
		})
	}
}

// await notes when a resource is free. Ends of resources have negative numbers.
func (l *lister) await(end int64, r resource) {
	l.fresh.ends.Push(entry{rank: end, id: ^int32(len(l.late))})
	l.late = append(l.late, r)
}

func (l *lister) add(d, e, i, j int, n int64) {
	s := &l.fresh.side[d]
	s.left[(e*l.servers+i)*l.words+j/64] |= 1 << (j % 64)
	s.idle[i/64] |= 1 << (i % 64)
	s.togo[i] += n
	if l.leaf[i] != l.leaf[j] {
		s.out[l.leaf[i]] += n
	}
}

// flip frees a link, or occupies it.
func (l *lister) flip(s *side, x topology.Link) {
	if x.Above {
		s.top[(x.Leaf*l.spines+x.Spine)*l.high+x.Top/64] ^= 1 << (x.Top % 64)
		return
	}
	if s.lane != nil {
		lanes := &s.lane[x.Leaf*l.spines+x.Spine]
		was := *lanes
		if *lanes ^= 1 << (x.Cable - 1); was != 0 && *lanes != 0 {
			return
		}
	}
	l.flipSpine(s, x.Leaf, x.Spine)
}

func (l *lister) flipSpine(s *side, leaf, spine int) {
	s.free[leaf*l.wide+spine/64] ^= 1 << (spine % 64)
}

// used visits the links of a path between leaves on one side: of leaf at, and above it.
func (l *lister) used(d, at, other, path int, visit func(topology.Link)) {
	k, above := l.tree.SpineTop(path)
	up, down := l.tree.LaneCables(above)
	visit(l.tree.Cable(at, k, [2]int{up, down}[d]))
	if l.pod[at] != l.pod[other] {
		visit(topology.Link{Leaf: int(l.pod[at]), Spine: k, Above: true, Top: above})
	}
}

// An entry is a candidate, or the end of a fragment: the smallest rank comes first.
type entry struct {
	rank           int64
	id             int32
	partner, layer int32 // of a candidate
}

// Before orders entries.
func (e entry) Before(o entry) bool { return e.rank < o.rank || e.rank == o.rank && e.id < o.id }

// tail makes the end of the saved schedule again and returns the time.
func (l *lister) tail(p priority, saved *state) int64 {
	l.assign(saved)
	return l.run(l.cut, p)
}

// split cuts each fragment that has not started in a saved state into that many parts of about the
// same size, each of at least that many bytes and on a layer of its own.
func (l *lister) split(s *state, parts int, least int64) {
	w := len(l.window)
	layers := slices.Clone(l.window)
	for n := range parts * w {
		m := newMatrix(l.servers)
		if n < w {
			copy(m.bytes, l.window[n].bytes)
			layers[n] = m
			continue
		}
		layers, s.wait = append(layers, m), append(s.wait, 0)
	}
	for d := range s.side {
		s.side[d].left = append(s.side[d].left, make([]uint64, (parts-1)*len(s.side[d].left))...)
	}
	for e := range w {
		for i := range l.servers {
			for j := range l.servers {
				if s.side[0].left[(e*l.servers+i)*l.words+j/64]>>(j%64)&1 == 0 {
					continue
				}
				at := i*l.servers + j
				n := layers[e].bytes[at]
				k := min(parts, int(n/least))
				for y := e + w; y < e+k*w; y += w {
					layers[y].bytes[at] = n / int64(k)
					layers[e].bytes[at] -= n / int64(k)
					s.side[0].left[(y*l.servers+i)*l.words+j/64] |= 1 << (j % 64)
					s.side[1].left[(y*l.servers+j)*l.words+i/64] |= 1 << (i % 64)
					s.wait[y]++
				}
			}
		}
	}
	l.layers = layers
}
