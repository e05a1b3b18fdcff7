package sizes

import (
	"math/bits"

	"evbench/scheduler"
	"evbench/topology"
)

// A lister makes list schedules: at time 0, and whenever a fragment has ended, it starts
// what fits. Only what uses a resource that became free is looked at again.
type lister struct {
	tree            *topology.Tree
	window          []*Matrix // the exchanges, oldest first
	leaf            []int32
	first           []int // rank of the first server of each leaf, and their number
	live            []int64
	shares          *scheduler.Shares
	servers, spines int
	count           int   // fragments that have bytes
	sum             int64 // their bytes
	words           int   // of a set of servers
	wide            int   // of a set of spines
	alive           []uint64
	all             [2][]uint64 // by exchange and server, the others that it has bytes for, and from
	load            [2][]int64  // by server, bytes to send, and to receive
	cross           [2][]int64  // by leaf, bytes to other leaves, and from them

	placed []placed
	// Of the schedule in the making; index 0 is sending, 1 receiving.
	p     priority
	left  [2][]uint64 // fragments not yet started, as in all
	wait  []int       // their number, by exchange
	old   int         // the oldest exchange that has some
	idle  [2][]uint64 // servers whose port is free
	ready [2][]bool   // the same
	free  [2][]uint64 // by leaf, spines to which the up-link, or down-link, is free
	togo  [2][]int64  // bytes not yet started, as in load
	out   [2][]int64  // as in cross
	quota []float64   // by leaf, leaf and spine, what is left of shares
	ends  []end       // of fragments under way, a heap
	dirty [2][]int32  // servers to look at again
	mark  [2][]bool
	queue []candidate // a heap
}

// end is when a fragment ends.
type end struct {
	at int64
	i  int32 // in placed
}

func newLister(t *topology.Tree, window []*Matrix, shares *scheduler.Shares) *lister {
	s, leaves, spines := t.Servers(), t.Leaves(), t.Spines()
	l := &lister{tree: t, window: window, shares: shares, servers: s, spines: spines, words: (s + 63) / 64, wide: (spines + 63) / 64}
	for _, leaf := range t.LeafOfRanks() {
		l.leaf = append(l.leaf, int32(leaf))
	}
	l.alive = make([]uint64, leaves*l.wide)
	for a := range leaves {
		l.first = append(l.first, t.First(a))
		n := int64(0)
		for k := range spines {
			if t.Alive(a, k) {
				l.alive[a*l.wide+k/64] |= 1 << (k % 64)
				n++
			}
		}
		l.live = append(l.live, max(1, n))
	}
	l.first = append(l.first, s)
	for d := range 2 {
		l.all[d] = make([]uint64, len(window)*s*l.words)
		l.load[d], l.cross[d] = make([]int64, s), make([]int64, leaves)
		l.idle[d], l.ready[d], l.mark[d] = make([]uint64, l.words), make([]bool, s), make([]bool, s)
	}
	l.wait = make([]int, len(window))
	for e, m := range window {
		l.sum += m.sum
		for at, n := range m.bytes {
			if n > 0 {
				l.count++
				l.add(0, e, at/s, at%s, n)
				l.add(1, e, at%s, at/s, n)
			}
		}
	}
	l.placed = make([]placed, 0, l.count)
	return l
}

func (l *lister) add(d, e, i, j int, n int64) {
	l.all[d][(e*l.servers+i)*l.words+j/64] |= 1 << (j % 64)
	l.load[d][i] += n
	if l.leaf[i] != l.leaf[j] {
		l.cross[d][l.leaf[i]] += n
	}
}

// A priority says which fragment of a server starts: that with the most, in quarters, of
// load left at its other end, its own size and the load left on the other leaf's links.
type priority struct {
	size, link int64
	noise      int64 // largest random part, in percent of the mean size
	seed       uint64
}

// priorityOf returns the priority of the n-th run.
func priorityOf(n int, seed uint64) priority {
	p := priority{size: 2, link: 0, seed: seed*1_000_003 + uint64(n)}
	if n >= 4 {
		p.noise = []int64{50, 200, 100, 400}[n%4]
		n /= 4
	}
	switch n % 4 {
	case 1:
		p.link = 4
	case 2:
		p.size = 8
	case 3:
		p.size, p.link = 0, 2
	}
	return p
}

// list makes a schedule and returns its time. O(fragments·(servers/64 + spines)).
func (l *lister) list(p priority) int64 {
	l.reset(p)
	for i := range l.servers {
		l.touch(0, int32(i))
	}
	l.start(0)
	last := int64(0)
	for len(l.ends) > 0 {
		now := l.ends[0].at
		for len(l.ends) > 0 && l.ends[0].at == now {
			l.release(l.pop())
		}
		l.start(now)
		last = now
	}
	return last
}

func (l *lister) reset(p priority) {
	l.p, l.placed, l.ends = p, l.placed[:0], l.ends[:0]
	l.p.noise = 4 * p.noise * (l.sum / int64(l.count)) / 100
	leaves := l.tree.Leaves()
	l.old = 0
	for e, m := range l.window {
		l.wait[e] = m.fragments()
	}
	for d := range 2 {
		l.left[d] = append(l.left[d][:0], l.all[d]...)
		l.togo[d] = append(l.togo[d][:0], l.load[d]...)
		l.out[d] = append(l.out[d][:0], l.cross[d]...)
		l.free[d] = append(l.free[d][:0], l.alive...)
		l.dirty[d] = l.dirty[d][:0]
		for i := range l.servers {
			l.setIdle(d, i)
		}
	}
	l.quota = l.quota[:0]
	for a := range leaves {
		for b := range leaves {
			l.quota = append(l.quota, l.shares.Of(a, b)...)
		}
	}
}

func (l *lister) setIdle(d, i int) {
	if l.ready[d][i] = l.togo[d][i] > 0; l.ready[d][i] {
		l.idle[d][i/64] |= 1 << (i % 64)
	} else {
		l.idle[d][i/64] &^= 1 << (i % 64)
	}
}

// touch notes that a server is to be looked at.
func (l *lister) touch(d int, i int32) {
	if l.ready[d][i] && !l.mark[d][i] {
		l.mark[d][i] = true
		l.dirty[d] = append(l.dirty[d], i)
	}
}

// release frees what a fragment used, and notes who may start now.
func (l *lister) release(x placed) {
	ends := [2]int{int(x.src), int(x.dst)}
	for d, i := range ends {
		l.setIdle(d, i)
		l.touch(d, int32(i))
		if x.spine < 0 {
			continue
		}
		a := int(l.leaf[i])
		l.free[d][a*l.wide+int(x.spine)/64] |= 1 << (x.spine % 64)
		for other := l.first[a]; other < l.first[a+1]; other++ {
			l.touch(d, int32(other))
		}
	}
}

// A candidate is a server that may start now, with its best partner.
type candidate struct {
	score    int64
	d        int8
	exchange int16
	i        int32
	partner  int32
}

// start begins what can begin, the best pair first. A candidate whose partner has gone
// chooses again, and waits for its turn.
func (l *lister) start(now int64) {
	l.queue = l.queue[:0]
	for d := range 2 {
		for _, i := range l.dirty[d] {
			l.mark[d][i] = false
			l.consider(d, i)
		}
		l.dirty[d] = l.dirty[d][:0]
	}
	for len(l.queue) > 0 {
		c := l.dequeue()
		if !l.ready[c.d][c.i] {
			continue
		}
		src, dst := int(c.i), int(c.partner)
		if c.d == 1 {
			src, dst = dst, src
		}
		a, b := int(l.leaf[src]), int(l.leaf[dst])
		if !l.ready[1-c.d][c.partner] || a != b && !l.meet(0, a, b) {
			l.consider(int(c.d), c.i)
			continue
		}
		l.begin(now, int(c.exchange), src, dst)
	}
}

// consider puts a server with its best partner in the oldest exchange that has one into
// the queue.
func (l *lister) consider(d int, i int32) {
	if !l.ready[d][i] {
		return
	}
	for e := l.old; e < len(l.window); e++ {
		if j, score := l.partner(d, e, int(i)); j >= 0 {
			l.enqueue(candidate{score + l.urgency(d, i), int8(d), int16(e), i, int32(j)})
			return
		}
	}
}

// urgency is what a server has left, and its leaf's links where the priority says so.
func (l *lister) urgency(d int, i int32) int64 {
	u := 4 * l.togo[d][i]
	if l.p.link > 0 {
		a := l.leaf[i]
		u += l.p.link * (l.out[d][a] / l.live[a])
	}
	return u
}

// partner returns the best server that server i can send to (d = 0), or receive from, in
// an exchange, or -1, and its score.
func (l *lister) partner(d, e, i int) (int, int64) {
	best, most := -1, int64(-1)
	a := int(l.leaf[i])
	seen, open := int32(-1), false // ranks of a leaf follow each other
	row := (e*l.servers + i) * l.words
	for n, w := range l.left[d][row : row+l.words] {
		for w &= l.idle[1-d][n]; w != 0; w &= w - 1 {
			j := n*64 + bits.TrailingZeros64(w)
			if b := l.leaf[j]; b != seen {
				seen, open = b, int(b) == a || l.meet(d, a, int(b))
			}
			if !open {
				continue
			}
			if score := l.score(d, e, i, j); score > most {
				best, most = j, score
			}
		}
	}
	return best, most
}

func (l *lister) score(d, e, i, j int) int64 {
	src, dst := i, j
	if d == 1 {
		src, dst = j, i
	}
	at := src*l.servers + dst
	score := l.urgency(1-d, int32(j)) + l.p.size*l.window[e].bytes[at]
	if l.p.noise > 0 {
		score += int64(mix(l.p.seed+uint64(at))>>48) * l.p.noise >> 16
	}
	return score
}

// mix is the output function of splitmix64.
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// meet reports whether a spine is free between leaf a, on side d, and leaf b.
func (l *lister) meet(d, a, b int) bool {
	for n := range l.wide {
		if l.free[d][a*l.wide+n]&l.free[1-d][b*l.wide+n] != 0 {
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
		for w := l.free[0][a*l.wide+n] & l.free[1][b*l.wide+n]; w != 0; w &= w - 1 {
			k := n*64 + bits.TrailingZeros64(w)
			if best < 0 || quota[k] > most {
				best, most = k, quota[k]
			}
		}
	}
	return best
}

// begin starts the fragment of an exchange.
func (l *lister) begin(now int64, e, i, j int) {
	n, k := l.window[e].Size(i, j), scheduler.None
	a, b := int(l.leaf[i]), int(l.leaf[j])
	if a != b {
		k = l.spine(a, b)
		l.quota[(a*l.tree.Leaves()+b)*l.spines+k] -= float64(n)
		l.free[0][a*l.wide+k/64] &^= 1 << (k % 64)
		l.free[1][b*l.wide+k/64] &^= 1 << (k % 64)
		l.out[0][a] -= n
		l.out[1][b] -= n
	}
	ends := [2]int{i, j}
	for d, i := range ends {
		j := ends[1-d]
		l.left[d][(e*l.servers+i)*l.words+j/64] &^= 1 << (j % 64)
		l.ready[d][i] = false
		l.idle[d][i/64] &^= 1 << (i % 64)
		l.togo[d][i] -= n
	}
	for l.wait[e]--; l.old < len(l.wait) && l.wait[l.old] == 0; l.old++ {
	}
	l.push(end{now + n, int32(len(l.placed))})
	l.placed = append(l.placed, placed{now, uint16(i), uint16(j), int16(k), uint16(e)})
}
