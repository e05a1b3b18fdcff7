package rdma

import (
	"net/netip"
	"sync"
	"syscall"
)

// A cable is a network of devices in memory. It keeps the rules of reliable queue pairs: a message takes
// the next receive of its peer, or waits for one; one that does not fit breaks both ends.
type cable struct {
	mu     sync.Mutex
	queues map[uint32]*memQueue
	last   uint32
	cut    map[int]bool // paths on which nothing arrives
	mute   bool         // acknowledgements are lost: sends do not end
	locked int          // bytes that may be registered; 0: any
}

type memDevice struct {
	*cable
	as Port
}

func (d memDevice) port() Port     { return d.as }
func (d memDevice) resent() uint64 { return 0 }
func (d memDevice) close() error   { return nil }
func (d memDevice) domain() (domain, error) {
	return &memDomain{cable: d.cable, bell: make(chan struct{}, 1)}, nil
}

type memDomain struct {
	*cable
	came   []completion
	bell   chan struct{}
	armed  bool
	queues []*memQueue
	closed bool
}

func (d *memDomain) alloc(n int, moved func()) (region, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked > 0 && n > d.locked {
		return region{}, lockFailed(n, uint64(d.locked), syscall.ENOMEM)
	}
	return region{make([]byte, n), 7}, nil
}

func (d *memDomain) pair() (queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	q := &memQueue{d: d, id: d.last}
	d.cable.queues[q.id] = q
	d.queues = append(d.queues, q)
	return q, nil
}

func (d *memDomain) poll(done []completion) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := copy(done, d.came)
	d.came = d.came[n:]
	return n, nil
}

func (d *memDomain) arm() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = true
	return nil
}

func (d *memDomain) sleep() error { <-d.bell; return nil }

func (d *memDomain) interrupt() {
	select {
	case d.bell <- struct{}{}:
	default:
	}
}

func (d *memDomain) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, q := range d.queues {
		delete(d.cable.queues, q.id)
		q.waiting, q.wants = nil, nil
	}
	return nil
}

// complete is called under the lock, as what follows.
func (d *memDomain) complete(c completion) {
	d.came = append(d.came, c)
	if d.armed {
		d.armed = false
		d.interrupt()
	}
}

type memQueue struct {
	d       *memDomain
	id      uint32
	to      way
	linked  bool
	broken  bool
	waiting []work // sent, and not taken yet
	wants   []work
}

func (q *memQueue) number() uint32 { return q.id }

func (q *memQueue) connect(to way, _ uint32) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	q.to, q.linked = to, true
	return nil
}

func (q *memQueue) send(w work) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	q.waiting = append(q.waiting, w)
	q.move()
	return nil
}

func (q *memQueue) receive(w work) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	q.wants = append(q.wants, w)
	if peer := q.d.cable.queues[q.to.queue]; peer != nil {
		peer.move()
	}
	return nil
}

// move hands over what both sides are ready for.
func (q *memQueue) move() {
	for len(q.waiting) > 0 {
		w, peer := q.waiting[0], q.d.cable.queues[q.to.queue]
		switch {
		case q.broken:
			q.end(w, completion{status: flushed})
		case peer == nil || q.d.cut[q.to.path] || peer.broken:
			q.end(w, completion{status: noAnswer})
			q.broken = true
		case len(peer.wants) == 0:
			return
		default:
			r := peer.wants[0]
			peer.wants = peer.wants[1:]
			n := len(w.head.b) + len(w.body.b)
			if n > len(r.head.b)+len(r.body.b) {
				q.end(w, completion{status: refused})
				peer.d.complete(completion{id: r.id, status: tooLong})
				q.broken, peer.broken = true, true
				continue
			}
			rest := r.body.b
			copy(r.head.b, w.head.b)
			if len(r.head.b) < len(w.head.b) { // a head where a part was awaited
				rest = rest[copy(rest, w.head.b[len(r.head.b):]):]
			}
			copy(rest, w.body.b)
			peer.d.complete(completion{id: r.id, n: n, total: w.total})
			if q.d.mute {
				q.waiting = q.waiting[1:]
				continue
			}
			q.end(w, completion{})
		}
	}
}

func (q *memQueue) end(w work, c completion) {
	q.waiting = q.waiting[1:]
	c.id = w.id
	q.d.complete(c)
}

// ports are those of n servers on RoCE with an address for each of so many spines.
func ports(n, spines int) (out []Port) {
	for r := range n {
		p := Port{MTU: 4096}
		for k := range spines + 1 {
			p.Addrs = append(p.Addrs, netip.AddrFrom4([4]byte{10, byte(k), 0, byte(r + 1)}))
		}
		out = append(out, p)
	}
	return out
}

// lose has acknowledgements lost from now on.
func (c *cable) lose(all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = all
}
