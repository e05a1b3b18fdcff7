package list

import (
	"math/bits"

	"evbench/internal/splitmix"
	"evbench/scheduler"
	"evbench/topology"
)

// A priority decides which fragment of a server starts: the one with the largest sum, in quarters,
// of the load left at its other end, its own size and, where it crosses them, the load left on the
// busiest links of both leaves.
type priority struct {
	size, link int64
	hold       float64 // over what is left of the bound: what has less to go waits
	noise      int64   // largest random part, in percent of the mean size
	seed       uint64
}

func priorityOf(n int, seed uint64) priority {
	p := priority{size: []int64{2, 8, 0}[n/3%3], link: 4, hold: []float64{0.87, 0, 0.8}[n%3], seed: seed*1_000_003 + uint64(n)}
	if n > 0 {
		p.noise = []int64{50, 200, 100}[n%3]
	}
	return p
}

// list makes a schedule and returns its time; it saves the state at the time cut.
// O(fragments·(servers/64 + leaves·spines/64)), if few servers are idle.
func (l *lister) list(p priority) int64 {
	l.assign(&l.fresh)
	return l.run(0, p)
}

// run starts fragments that fit, now and whenever a fragment has ended. It gives up and returns the
// limit where a port has too much left to end before the limit.
func (l *lister) run(now int64, p priority) int64 {
	l.p, l.wake, l.hopeless = p, 0, false
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
			l.end(l.ends.Pop().id)
		}
		l.start(now)
		if l.hopeless {
			return l.limit
		}
	}
	return now
}

// touch notes that a server must be looked at, if it can start something.
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

// end frees the resources of a fragment, or a resource that was not free at first.
func (l *lister) end(id int32) {
	if id < 0 {
		l.release(l.late[^id])
		return
	}
	x := &l.placed[id]
	ends := [2]int{int(x.src), int(x.dst)}
	for d, i := range ends {
		l.release(resource{side: d, server: i})
		a, path := int(l.leaf[i]), int(x.path)
		switch {
		case x.path == noPath:
		case l.plain:
			l.flipSpine(&l.side[d], a, path)
			l.touchLeaves(d, a, a+1)
		default:
			l.used(d, a, int(l.leaf[ends[1-d]]), path, func(used topology.Link) {
				l.release(resource{side: d, link: used, isLink: true})
			})
		}
	}
}

func (l *lister) release(r resource) {
	s := &l.side[r.side]
	if !r.isLink {
		if s.togo[r.server] > 0 {
			s.idle[r.server/64] |= 1 << (r.server % 64)
			l.touch(r.side, int32(r.server))
		}
		return
	}
	l.flip(s, r.link)
	if n := l.tree.PodLeaves(); r.link.Above { // all of the pod may use it
		l.touchLeaves(r.side, r.link.Leaf*n, (r.link.Leaf+1)*n)
	} else {
		l.touchLeaves(r.side, r.link.Leaf, r.link.Leaf+1)
	}
}

// touchLeaves touches the servers of the leaves from a on, before b.
func (l *lister) touchLeaves(d, a, b int) {
	from, to := l.first[a], l.first[b]
	for n := from / 64; n*64 < to; n++ {
		for w := l.side[d].idle[n]; w != 0; w &= w - 1 {
			if i := n*64 + bits.TrailingZeros64(w); i >= from && i < to {
				l.touch(d, int32(i))
			}
		}
	}
}

// start begins the fragments that can begin. Held fragments begin when nothing else is under way.
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

// begin starts the best pair first. A candidate is a server with its best partner. When the partner
// is taken, the server chooses again and waits for its turn.
func (l *lister) begin(now int64) {
	for d := range l.dirty {
		for _, i := range l.dirty[d] {
			l.mark[d][i] = false
			l.consider(d, i)
		}
		l.dirty[d] = l.dirty[d][:0]
	}
	for len(l.queue) > 0 {
		c := l.queue.Pop()
		d, i := int(c.id%2), c.id/2
		if !l.ready(d, i) {
			continue
		}
		src, dst := int(i), int(c.partner)
		if d == 1 {
			src, dst = dst, src
		}
		a, b := l.leaf[src], l.leaf[dst]
		if l.ready(1-d, c.partner) && (a == b || l.meet(&l.side[0], &l.side[1], a, b) && l.open(src, dst)) {
			l.place(now, int(c.layer), src, dst)
		} else {
			l.consider(d, i)
		}
	}
}

// consider puts a server with its best partner, in the first layer that has one, into the queue.
func (l *lister) consider(d int, i int32) {
	l.looks++
	for e := l.old; e < len(l.layers); e++ {
		if j, score := l.partner(d, e, int(i)); j >= 0 {
			l.queue.Push(entry{-score - 4*l.side[d].togo[i], 2*i + int32(d), int32(j), int32(e)})
			return
		}
	}
	if togo := l.side[d].togo[i]; togo < l.hold {
		l.wake = max(l.wake, togo)
	}
}

// partner returns the best of the servers that server i can now send to (d = 0), or
// receive from, in a layer, or -1, and its score.
func (l *lister) partner(d, e, i int) (int, int64) {
	best, most := -1, int64(-1)
	near, far := &l.side[d], &l.side[1-d]
	a, base := l.leaf[i], int64(0)
	if near.togo[i] < l.hold {
		base = l.hold
	}
	seen, links, least := int32(-1), int64(0), int64(0) // ranks of a leaf follow each other
	row, togo, press := (e*l.servers+i)*l.words, far.togo, near.press[a]
	bytes, at, step := l.layers[e].bytes, i*l.servers, 1
	if d == 1 {
		at, step = i, l.servers
	}
	for n, w := range near.left[row : row+l.words] {
		for w &= far.idle[n]; w != 0; {
			j := n*64 + bits.TrailingZeros64(w)
			w &= w - 1
			if b := l.leaf[j]; b != seen {
				if a != b && !l.meet(near, far, a, b) {
					w &= ^uint64(0) << (l.first[b+1] - n*64) // the others of that leaf
					continue
				}
				seen, links, least = b, 0, base
				if a != b {
					links = l.p.link * (press + far.press[b])
					if max(press, far.press[b]) >= l.hold {
						least = 0
					}
				}
			}
			if l.paths != nil && a != l.leaf[j] && !l.open([2]int{i, j}[d], [2]int{j, i}[d]) {
				continue
			}
			size := bytes[at+j*step]
			if togo[j]+size < least {
				continue
			}
			score := 4*togo[j] + links + l.p.size*size
			if l.p.noise > 0 {
				score += int64(splitmix.Mix((l.p.seed+uint64(at+j*step))*splitmix.Step)>>48) * l.p.noise >> 16
			}
			if score > most {
				best, most = j, score
			}
		}
	}
	return best, most
}

// meet reports whether a path is free between leaf a on one side and leaf b on the other.
func (l *lister) meet(near, far *side, a, b int32) bool {
	y := far.free[int(b)*l.wide:]
	for n, x := range near.free[int(a)*l.wide : (int(a)+1)*l.wide] {
		for x &= y[n]; x != 0; x &= x - 1 {
			if l.high == 0 || l.pod[a] == l.pod[b] || l.anyTop(near, far, a, b, n*64+bits.TrailingZeros64(x)) {
				return true
			}
		}
	}
	return false
}

// anyTop reports whether a top switch is free between the pods of two leaves in a plane.
func (l *lister) anyTop(near, far *side, a, b int32, k int) bool {
	x, y := near.top[(int(l.pod[a])*l.spines+k)*l.high:], far.top[(int(l.pod[b])*l.spines+k)*l.high:]
	for n := range l.high {
		if x[n]&y[n] != 0 {
			return true
		}
	}
	return false
}

// open reports whether the path between servers of two leaves is free; with a schedule, the
// schedule's path.
func (l *lister) open(src, dst int) bool {
	if l.paths == nil {
		return true
	}
	free, ends := true, [2]int{int(l.leaf[src]), int(l.leaf[dst])}
	path := l.stated(src, dst)
	for d, a := range ends {
		l.used(d, a, ends[1-d], path, func(x topology.Link) { free = free && l.isFree(&l.side[d], x) })
	}
	return free
}

func (l *lister) stated(src, dst int) int {
	_, k := l.paths.At(src, dst)
	return l.tree.PathOf(k, l.paths.Top(src, dst))
}

func (l *lister) isFree(s *side, x topology.Link) bool {
	switch {
	case x.Above:
		return s.top[(x.Leaf*l.spines+x.Spine)*l.high+x.Top/64]>>(x.Top%64)&1 == 1
	case s.lane != nil:
		return s.lane[x.Leaf*l.spines+x.Spine]>>(x.Cable-1)&1 == 1
	}
	return s.free[x.Leaf*l.wide+x.Spine/64]>>(x.Spine%64)&1 == 1
}

// path returns the free path between two leaves over the spine, or plane, with the most bytes left to carry: by the
// first free cables, or over the top switch whose links carry least so far.
func (l *lister) path(a, b int) int {
	best, most := -1, 0.0
	quota := l.quota[(a*l.tree.Leaves()+b)*l.spines:]
	up, down := &l.side[0], &l.side[1]
	apart := l.pod[a] != l.pod[b]
	for n := range l.wide {
		for w := up.free[a*l.wide+n] & down.free[b*l.wide+n]; w != 0; w &= w - 1 {
			k := n*64 + bits.TrailingZeros64(w)
			if (best < 0 || quota[k] > most) && (!apart || l.anyTop(up, down, int32(a), int32(b), k)) {
				best, most = k, quota[k]
			}
		}
	}
	switch {
	case apart:
		return l.tree.PathOf(best, l.topOf(a, b, best))
	case up.lane != nil:
		i, j := bits.TrailingZeros16(up.lane[a*l.spines+best]), bits.TrailingZeros16(down.lane[b*l.spines+best])
		return l.tree.PathOf(best, l.tree.Lane(i, j))
	}
	return best
}

func (l *lister) topOf(a, b, k int) int {
	best, least, tops := -1, int64(0), l.tree.Tops()
	q, r := int(l.pod[a])*l.spines+k, int(l.pod[b])*l.spines+k
	for n := range l.high {
		for w := l.side[0].top[q*l.high+n] & l.side[1].top[r*l.high+n]; w != 0; w &= w - 1 {
			top := n*64 + bits.TrailingZeros64(w)
			if load := l.side[0].above[q*tops+top] + l.side[1].above[r*tops+top]; best < 0 || load < least {
				best, least = top, load
			}
		}
	}
	return best
}

func (l *lister) place(now int64, e, i, j int) {
	n, path := l.layers[e].Size(i, j), scheduler.None
	leaf := [2]int{int(l.leaf[i]), int(l.leaf[j])}
	if leaf[0] != leaf[1] {
		if l.paths != nil {
			path = l.stated(i, j)
		} else {
			path = l.path(leaf[0], leaf[1])
		}
		k, _ := l.tree.SpineTop(path)
		l.quota[(leaf[0]*l.tree.Leaves()+leaf[1])*l.spines+k] -= float64(n)
	}
	ends := [2]int{i, j}
	for d, i := range ends {
		s, j, a := &l.side[d], ends[1-d], leaf[d]
		l.hopeless = l.hopeless || now+s.togo[i] >= l.limit
		s.left[(e*l.servers+i)*l.words+j/64] &^= 1 << (j % 64)
		s.idle[i/64] &^= 1 << (i % 64)
		s.togo[i] -= n
		if path >= 0 {
			if l.plain {
				l.flipSpine(s, a, path)
			} else {
				l.take(d, a, leaf[1-d], path, n)
			}
			s.out[a] -= n
			s.press[a] = int64(float64(s.out[a]) * l.busiest[d][a])
		}
	}
	for l.wait[e]--; l.old < len(l.wait) && l.wait[l.old] == 0; l.old++ {
	}
	l.ends.Push(entry{rank: now + n, id: int32(len(l.placed))})
	l.placed = append(l.placed, placed{now, uint16(i), uint16(j), pathOf(path), uint16(e)})
}

func (l *lister) take(d, a, b, path int, bytes int64) {
	s := &l.side[d]
	l.used(d, a, b, path, func(x topology.Link) {
		l.flip(s, x)
		if x.Above {
			s.above[(x.Leaf*l.spines+x.Spine)*l.tree.Tops()+x.Top] += bytes
		}
	})
}
