package emulate

import (
	"slices"

	"evbench/topology"
)

// A credits is the state of a fabric whose switches have finite input buffers. A chunk takes a wire
// when it is at the head of its buffer, the wire is free, and the buffer at the far end has room
// for all of it. It moves on as soon as it begins to arrive, and frees its room when its last byte
// has left. Wires serve chunks in the order in which they reached the head; servers send a chunk of
// each of their flows in turn. A chunk offered for a past time is offered now.
type credits struct {
	now    int64 // ns since the start of the fabric
	buffer int   // bytes of each input of a switch
	ports  []port
	ends   []end // rising
	flying map[int]*flight
	last   int
	turns  map[flow]int // of the last offered chunk
}

// A flow goes from a server over its first wire to another server on one path.
type flow struct{ from, over, to topology.Wire }

type port struct {
	busy    bool
	waiting []*flight // for the wire
	held    []*flight // in the buffer, in order of arrival
	used    int       // bytes in the buffer
	turn    int       // of a server: turn of the last sent chunk
}

type flight struct {
	path       [4]topology.Wire
	hops, next int // wires of the path; index of the next one
	turn       int // turn in which its server sends it
	bytes      int
	takes      int64 // ns on a wire
	lands      int64 // arrival, known once it is on its last wire, else 0
}

type end struct {
	at  int64
	c   *flight
	hop int
}

func newCredits(wires, buffer int) *credits {
	return &credits{buffer: buffer, ports: make([]port, wires), flying: map[int]*flight{}, turns: map[flow]int{}}
}

// offer puts a chunk into the queue of its server, and returns its number, from 1.
func (n *credits) offer(path []topology.Wire, bytes int, takes, at int64) int {
	n.advance(at)
	c := &flight{hops: len(path), bytes: bytes, takes: takes}
	copy(c.path[:], path)
	key := flow{path[0], path[1], path[len(path)-1]}
	c.turn = max(n.turns[key]+1, n.ports[path[0]].turn)
	n.turns[key] = c.turn
	n.last++
	n.flying[n.last] = c
	n.want(c)
	return n.last
}

// landed returns when a chunk has arrived. If it has not arrived, the time is a lower bound of its
// arrival.
func (n *credits) landed(id int, at int64) (time int64, ok bool) {
	n.advance(at)
	c := n.flying[id]
	if c == nil {
		return at, true
	}
	if c.lands > 0 {
		if c.lands <= n.now {
			delete(n.flying, id)
			return c.lands, true
		}
		return c.lands, false
	}
	ahead := max(0, slices.Index(n.ports[c.path[c.next]].waiting, c))
	return n.now + int64(ahead+1)*c.takes, false
}

// advance simulates up to a time.
func (n *credits) advance(to int64) {
	for len(n.ends) > 0 && n.ends[0].at <= to {
		e := n.ends[0]
		n.ends = slices.Delete(n.ends, 0, 1)
		n.now = e.at
		n.finish(e)
	}
	n.now = max(n.now, to)
}

// want queues a chunk for its next wire: at its server by turn.
func (n *credits) want(c *flight) {
	p := &n.ports[c.path[c.next]]
	at := len(p.waiting)
	for c.next == 0 && at > 0 && p.waiting[at-1].turn > c.turn {
		at--
	}
	p.waiting = slices.Insert(p.waiting, at, c)
	n.try(c.path[c.next])
}

// try lets the first chunk waiting for a wire take it. A chunk larger than the buffer goes when the
// buffer is empty.
func (n *credits) try(w topology.Wire) {
	p := &n.ports[w]
	if p.busy || len(p.waiting) == 0 {
		return
	}
	c := p.waiting[0]
	hop := c.next
	last := hop == c.hops-1
	if !last && p.used > 0 && p.used+c.bytes > n.buffer {
		return
	}
	p.waiting = slices.Delete(p.waiting, 0, 1)
	p.busy, p.turn = true, c.turn
	e := end{n.now + c.takes, c, hop}
	at, _ := slices.BinarySearchFunc(n.ends, e.at+1, func(o end, t int64) int { return int(o.at - t) })
	n.ends = slices.Insert(n.ends, at, e)
	if last {
		c.lands = e.at
		return
	}
	c.next++
	p.used += c.bytes
	if p.held = append(p.held, c); len(p.held) == 1 {
		n.want(c)
	}
}

// finish frees a wire, and the room at the source of the chunk, for waiting chunks.
func (n *credits) finish(e end) {
	if e.hop > 0 {
		from := e.c.path[e.hop-1]
		p := &n.ports[from]
		p.held = slices.Delete(p.held, 0, 1)
		p.used -= e.c.bytes
		if len(p.held) > 0 {
			n.want(p.held[0])
		}
		n.try(from)
	}
	n.ports[e.c.path[e.hop]].busy = false
	n.try(e.c.path[e.hop])
}
