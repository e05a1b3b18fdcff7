package sizes

import (
	"math/bits"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
)

// A lister makes list schedules: at time 0, and whenever a fragment has ended, it starts
// what fits. Only what uses a resource that became free is looked at again.
type lister struct {
	tree            *topology.Tree
	window          []*Matrix // the exchanges, oldest first
	servers, spines int
	leaf            []int32
	first           []int      // rank of the first server of each leaf, and their number
	count           int        // fragments that have bytes
	sum             int64      // their bytes
	bound           int64      // least time: of all exchanges together, after what wires carry at first
	until           []int64    // by wire, when it is free at first; nil: at 0
	late            []resource // that are not free at 0
	free            []int64    // by wire, when timed has it free at last
	words, wide     int        // of a set of servers, and of one of spines
	own             []uint64   // by leaf, its servers
	busiest         [2][]float64
	fresh           state // before the first start
	cut             int64 // when run saves its state
	saved           state

	state            // of the schedule in the making
	layers []*Matrix // the window, then parts: layer n is of exchange n % len(window)
	p      priority
	hold   int64      // what has less to go, at ports and links, waits for those that have more
	wake   int64      // the most that a server has to go that waits for that
	dirty  [2][]int32 // servers to look at again
	mark   [2][]bool
	queue  heap     // candidates
	near   []uint64 // servers that the one considered can start with
}

// A state is a schedule in the making.
type state struct {
	placed []placed
	wait   []int     // fragments not yet started, by layer
	old    int       // the first layer that has some
	quota  []float64 // by leaf, leaf and spine, what is left of the shares
	ends   heap      // of fragments under way
	side   [2]side   // sending, receiving
}

// A resource is a link, or the port of a server.
type resource struct{ side, at, spine int } // at: leaf, or where the spine is None the server

// A side is what a state has of sending, or of receiving.
type side struct {
	left  []uint64 // by layer and server, the others whose fragments have not started
	idle  []uint64 // servers whose port is free and that have something left
	free  []uint64 // by leaf, spines to which the up-link, or the down-link, is free
	reach []uint64 // by spine, servers of the leaves that have it in free
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
		x.reach, x.togo = append(x.reach[:0], y.reach...), append(x.togo[:0], y.togo...)
		x.out, x.press = append(x.out[:0], y.out...), append(x.press[:0], y.press...)
	}
}

// newLister prepares schedules of a window. until says when each wire is free; nil: at 0.
func newLister(t *topology.Tree, window []*Matrix, bound int64, shares *scheduler.Shares, until []int64) *lister {
	s, leaves, spines := t.Servers(), t.Leaves(), t.Spines()
	l := &lister{tree: t, window: window, layers: window, servers: s, spines: spines, bound: bound, until: until, free: make([]int64, t.Wires()), words: (s + 63) / 64, wide: (spines + 63) / 64}
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
		l.fresh.side[d] = side{make([]uint64, len(window)*s*l.words), make([]uint64, l.words), make([]uint64, leaves*l.wide),
			make([]uint64, spines*l.words), make([]int64, s), make([]int64, leaves), make([]int64, leaves)}
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
	l.own, l.near = make([]uint64, leaves*l.words), make([]uint64, l.words)
	for a := range leaves {
		l.flip(l.own[a*l.words:], a)
		load := [2][]float64{make([]float64, spines), make([]float64, spines)}
		for b := range leaves {
			l.fresh.quota = append(l.fresh.quota, shares.Of(a, b)...)
			for k := range spines {
				load[0][k] += shares.Of(a, b)[k]
				load[1][k] += shares.Of(b, a)[k]
			}
		}
		for k := range spines {
			if t.Alive(a, k) {
				l.link(&l.fresh.side[0], a, k)
				l.link(&l.fresh.side[1], a, k)
			}
		}
		for d := range load {
			l.busiest[d][a] = slices.Max(load[d]) / float64(max(1, l.fresh.side[d].out[a]))
			l.fresh.side[d].press[a] = int64(slices.Max(load[d]))
		}
	}
	l.fresh.placed = make([]placed, 0, l.count)
	if until != nil {
		l.occupy()
	}
	return l
}

// occupy takes what is not free at 0, and notes when it is. The bound becomes at least what
// a port needs that has its own bytes to carry from then on.
func (l *lister) occupy() {
	t := l.tree
	for d := range l.fresh.side {
		s, port, link := &l.fresh.side[d], t.FromServer, t.Up
		if d == 1 {
			port, link = t.ToServer, t.Down
		}
		for i := range l.servers {
			if end := l.until[port(i)]; end > 0 && s.togo[i] > 0 {
				s.idle[i/64] &^= 1 << (i % 64)
				l.await(end, resource{d, i, scheduler.None})
				l.bound = max(l.bound, end+s.togo[i])
			}
		}
		for a := range t.Leaves() {
			for k := range t.Spines() {
				if end := l.until[link(a, k)]; end > 0 && t.Alive(a, k) {
					l.link(s, a, k)
					l.await(end, resource{d, a, k})
				}
			}
		}
	}
}

// await notes when a resource is free. The ends of such have negative numbers.
func (l *lister) await(end int64, r resource) {
	l.fresh.ends.push(entry{rank: end, id: ^int32(len(l.late))})
	l.late = append(l.late, r)
}

// add notes a fragment between server i, on side d, and server j.
func (l *lister) add(d, e, i, j int, n int64) {
	s := &l.fresh.side[d]
	s.left[(e*l.servers+i)*l.words+j/64] |= 1 << (j % 64)
	s.idle[i/64] |= 1 << (i % 64)
	s.togo[i] += n
	if l.leaf[i] != l.leaf[j] {
		s.out[l.leaf[i]] += n
	}
}

// link frees the link of a leaf to a spine, or occupies it.
func (l *lister) link(s *side, a, k int) {
	s.free[a*l.wide+k/64] ^= 1 << (k % 64)
	l.flip(s.reach[k*l.words:], a)
}

// flip takes the servers of a leaf into a set, or out of it.
func (l *lister) flip(set []uint64, a int) {
	first, end := l.first[a], l.first[a+1]
	for n := first / 64; n*64 < end; n++ {
		set[n] ^= ^uint64(0) << max(0, first-n*64) &^ (^uint64(0) << min(64, end-n*64))
	}
}

// A priority says which fragment of a server starts: that with the most, in quarters, of
// load left at its other end, its own size and the load left on the busiest links of both
// leaves, where it crosses them.
type priority struct {
	size, link int64
	hold       float64 // over what is left of the bound: what has less to go waits
	noise      int64   // largest random part, in percent of the mean size
	seed       uint64
}

// priorityOf returns the priority of the n-th run.
func priorityOf(n int, seed uint64) priority {
	p := priority{size: []int64{2, 8, 0}[n/3%3], link: 4, hold: []float64{0.88, 0, 0.8}[n%3], seed: seed*1_000_003 + uint64(n)}
	if n > 0 {
		p.noise = []int64{50, 200, 100}[n%3]
	}
	return p
}

// list makes a schedule and returns its time; it saves the state at the time cut.
// O(fragments·(servers/64 + spines)).
func (l *lister) list(p priority) int64 {
	l.assign(&l.fresh)
	return l.run(0, p)
}

// run starts what fits now, and whenever a fragment has ended.
func (l *lister) run(now int64, p priority) int64 {
	l.p, l.wake = p, 0
	l.p.noise = 4 * p.noise * (l.sum / int64(l.count)) / 100
	l.touchAll()
	l.start(now)
	for len(l.ends) > 0 {
		next := l.ends[0].rank
		if l.wake > 0 {
			next = min(next, max(now+1, l.bound-int64(float64(l.wake)/l.p.hold)+1))
		}
		if now < l.cut && next >= l.cut {
			l.saved.assign(&l.state)
		}
		for now = next; len(l.ends) > 0 && l.ends[0].rank == now; {
			l.end(l.ends.pop().id)
		}
		l.start(now)
	}
	return now
}

// touch notes that a server is to be looked at, if it can start something.
func (l *lister) touch(d int, i int32) {
	if l.ready(d, i) && !l.mark[d][i] {
		l.mark[d][i] = true
		l.dirty[d] = append(l.dirty[d], i)
	}
}

func (l *lister) touchAll() {
	for i := range int32(l.servers) {
		l.touch(0, i)
		l.touch(1, i)
	}
}

func (l *lister) ready(d int, i int32) bool { return l.side[d].idle[i/64]>>(i%64)&1 == 1 }

// end frees what a fragment has used, or a resource that was not free at first.
func (l *lister) end(id int32) {
	if id < 0 {
		l.release(l.late[^id])
		return
	}
	x := &l.placed[id]
	for d, i := range [2]int{int(x.src), int(x.dst)} {
		l.release(resource{d, i, scheduler.None})
		if x.spine >= 0 {
			l.release(resource{d, int(l.leaf[i]), int(x.spine)})
		}
	}
}

// release frees a resource, and notes who may start now.
func (l *lister) release(r resource) {
	s := &l.side[r.side]
	if r.spine == scheduler.None {
		if s.togo[r.at] > 0 {
			s.idle[r.at/64] |= 1 << (r.at % 64)
			l.touch(r.side, int32(r.at))
		}
		return
	}
	l.link(s, r.at, r.spine)
	for n := l.first[r.at] / 64; n*64 < l.first[r.at+1]; n++ {
		for w := s.idle[n]; w != 0; w &= w - 1 {
			if i := n*64 + bits.TrailingZeros64(w); int(l.leaf[i]) == r.at {
				l.touch(r.side, int32(i))
			}
		}
	}
}

// start begins what can begin. What is held back begins when nothing else is under way.
func (l *lister) start(now int64) {
	l.hold = max(0, int64(float64(l.p.hold*float64(l.bound-now))))
	if l.hold < l.wake {
		l.wake = 0
		l.touchAll()
	}
	l.begin(now)
	if len(l.ends) == 0 && l.old < len(l.layers) {
		l.hold = 0
		l.touchAll()
		l.begin(now)
	}
}

// begin starts the best pair first. A candidate, which is a server with its best partner,
// whose partner has gone chooses again, and waits for its turn.
func (l *lister) begin(now int64) {
	for d := range l.dirty {
		for _, i := range l.dirty[d] {
			l.mark[d][i] = false
			l.consider(d, i)
		}
		l.dirty[d] = l.dirty[d][:0]
	}
	for len(l.queue) > 0 {
		c := l.queue.pop()
		d, i := int(c.id%2), c.id/2
		if !l.ready(d, i) {
			continue
		}
		src, dst := int(i), int(c.partner)
		if d == 1 {
			src, dst = dst, src
		}
		a, b := l.leaf[src], l.leaf[dst]
		if l.ready(1-d, c.partner) && (a == b || l.meet(0, a, b)) {
			l.place(now, int(c.layer), src, dst)
		} else {
			l.consider(d, i)
		}
	}
}

// consider puts a server with its best partner, in the first layer that has one, into
// the queue.
func (l *lister) consider(d int, i int32) {
	a := int(l.leaf[i])
	clear(l.near)
	for n, w := range l.side[d].free[a*l.wide : (a+1)*l.wide] {
		for ; w != 0; w &= w - 1 {
			k := n*64 + bits.TrailingZeros64(w)
			for n, x := range l.side[1-d].reach[k*l.words : (k+1)*l.words] {
				l.near[n] |= x
			}
		}
	}
	for n, x := range l.own[a*l.words : (a+1)*l.words] {
		l.near[n] |= x
	}
	for n, x := range l.side[1-d].idle {
		l.near[n] &= x
	}
	for e := l.old; e < len(l.layers); e++ {
		if j, score := l.partner(d, e, int(i)); j >= 0 {
			l.queue.push(entry{-score - 4*l.side[d].togo[i], 2*i + int32(d), int32(j), int32(e)})
			return
		}
	}
	if togo := l.side[d].togo[i]; togo < l.hold {
		l.wake = max(l.wake, togo)
	}
}

// partner returns the best of the servers near, which server i can send to (d = 0), or
// receive from, in a layer, or -1, and its score.
func (l *lister) partner(d, e, i int) (int, int64) {
	best, most := -1, int64(-1)
	a, base := l.leaf[i], int64(0)
	if l.side[d].togo[i] < l.hold {
		base = l.hold
	}
	seen, links, least := int32(-1), int64(0), int64(0) // ranks of a leaf follow each other
	row, togo := (e*l.servers+i)*l.words, l.side[1-d].togo
	bytes, at, step := l.layers[e].bytes, i*l.servers, 1
	if d == 1 {
		at, step = i, l.servers
	}
	for n, w := range l.side[d].left[row : row+l.words] {
		for w &= l.near[n]; w != 0; w &= w - 1 {
			j := n*64 + bits.TrailingZeros64(w)
			if b := l.leaf[j]; b != seen {
				seen, links, least = b, 0, base
				if a != b {
					x, y := l.side[d].press[a], l.side[1-d].press[b]
					if links = l.p.link * (x + y); max(x, y) >= l.hold {
						least = 0
					}
				}
			}
			size := bytes[at+j*step]
			if togo[j]+size < least {
				continue
			}
			score := 4*togo[j] + links + l.p.size*size
			if l.p.noise > 0 {
				score += int64(mix(l.p.seed+uint64(at+j*step))>>48) * l.p.noise >> 16
			}
			if score > most {
				best, most = j, score
			}
		}
	}
	return best, most
}

// mix is the output function of splitmix64.
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// meet reports whether a spine is free between leaf a, on side d, and leaf b.
func (l *lister) meet(d int, a, b int32) bool {
	x, y := l.side[d].free, l.side[1-d].free
	for n := range l.wide {
		if x[int(a)*l.wide+n]&y[int(b)*l.wide+n] != 0 {
			return true
		}
	}
	return false
}

// spine returns the free spine between two leaves with the most bytes left to carry.
func (l *lister) spine(a, b int) int {
	best, most := -1, 0.0
	quota := l.quota[(a*l.tree.Leaves()+b)*l.spines:]
	for n := range l.wide {
		for w := l.side[0].free[a*l.wide+n] & l.side[1].free[b*l.wide+n]; w != 0; w &= w - 1 {
			k := n*64 + bits.TrailingZeros64(w)
			if best < 0 || quota[k] > most {
				best, most = k, quota[k]
			}
		}
	}
	return best
}

// place starts what a layer has from i to j.
func (l *lister) place(now int64, e, i, j int) {
	n, k := l.layers[e].Size(i, j), scheduler.None
	leaf := [2]int{int(l.leaf[i]), int(l.leaf[j])}
	if leaf[0] != leaf[1] {
		k = l.spine(leaf[0], leaf[1])
		l.quota[(leaf[0]*l.tree.Leaves()+leaf[1])*l.spines+k] -= float64(n)
	}
	ends := [2]int{i, j}
	for d, i := range ends {
		s, j, a := &l.side[d], ends[1-d], leaf[d]
		s.left[(e*l.servers+i)*l.words+j/64] &^= 1 << (j % 64)
		s.idle[i/64] &^= 1 << (i % 64)
		s.togo[i] -= n
		if k >= 0 {
			l.link(s, a, k)
			s.out[a] -= n
			s.press[a] = int64(float64(s.out[a]) * l.busiest[d][a])
		}
	}
	for l.wait[e]--; l.old < len(l.wait) && l.wait[l.old] == 0; l.old++ {
	}
	l.ends.push(entry{rank: now + n, id: int32(len(l.placed))})
	l.placed = append(l.placed, placed{now, uint16(i), uint16(j), int16(k), uint16(e)})
}
