package sizes

import (
	"math/bits"

	"evbench/scheduler"
)

// A priority says which fragment of a server starts: that with the most, in quarters, of
// load left at its other end, its own size and the load left on the busiest links of both
// leaves, where it crosses them.
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

// run starts what fits now, and whenever a fragment has ended. It gives up, and returns the
// limit, where a port has too much left to end before that.
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
			l.end(l.ends.pop().id)
		}
		l.start(now)
		if l.hopeless {
			return l.limit
		}
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
			l.queue.push(entry{-score - 4*l.side[d].togo[i], 2*i + int32(d), int32(j), int32(e)})
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

func (l *lister) meet(near, far *side, a, b int32) bool {
	y := far.free[int(b)*l.wide:]
	for n, x := range near.free[int(a)*l.wide : (int(a)+1)*l.wide] {
		if x&y[n] != 0 {
			return true
		}
	}
	return false
}

// open reports whether the path from a server to one of another leaf is free, where it has to be
// that of a schedule.
func (l *lister) open(src, dst int) bool {
	if l.paths == nil {
		return true
	}
	_, k := l.paths.At(src, dst)
	free := func(d, i int) bool { return l.side[d].free[int(l.leaf[i])*l.wide+k/64]>>(k%64)&1 == 1 }
	return free(0, src) && free(1, dst)
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

func (l *lister) place(now int64, e, i, j int) {
	n, k := l.layers[e].Size(i, j), scheduler.None
	leaf := [2]int{int(l.leaf[i]), int(l.leaf[j])}
	if leaf[0] != leaf[1] {
		if k = l.spine(leaf[0], leaf[1]); l.paths != nil {
			_, k = l.paths.At(i, j)
		}
		l.quota[(leaf[0]*l.tree.Leaves()+leaf[1])*l.spines+k] -= float64(n)
	}
	ends := [2]int{i, j}
	for d, i := range ends {
		s, j, a := &l.side[d], ends[1-d], leaf[d]
		l.hopeless = l.hopeless || now+s.togo[i] >= l.limit
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
