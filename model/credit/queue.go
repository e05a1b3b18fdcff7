package credit

import "math/bits"

// An event is a task for a time. At equal times the smaller id is first: id is the kind, then two
// numbers, so the order does not depend on the caller.
type event struct {
	at Time
	id uint64
}

// Kinds of events, in their order at one time: requests for an output come before the output
// decides.
const (
	evSource  = iota // host: the generator may go on
	evDeliver        // packet: all of it has been received
	evCrossed        // link, flits: a packet has left this input buffer
	evCredit         // channel, flits: room is known to the sender
	evReport         // link: the room at its end is reported to the sender
	evRoute          // packet, node: it decides on its output there
	evFront          // channel: its next packet may ask for an output
	evTry            // link: decide who is next
	evCall           // the listener asked for it
)

func id(kind int, a, b int32) uint64 {
	return uint64(kind)<<60 | uint64(uint32(a))<<28 | uint64(uint32(b))
}

func (e event) kind() int { return int(e.id >> 60) }
func (e event) a() int32  { return int32(e.id >> 28 & 0xffffffff) }
func (e event) b() int32  { return int32(e.id & 0xfffffff) }

func (e event) before(f event) bool {
	return e.at < f.at || e.at == f.at && e.id < f.id
}

// A queue gives events in order: a calendar of buckets for the near future, each a heap when its
// time comes, and a heap for events after all buckets.
type queue struct {
	shift   uint // a bucket is 1<<shift ticks
	first   int64
	buckets [buckets][]event
	full    [buckets / 64]uint64 // which buckets hold something
	later   heap
	now     heap // the bucket of first
	n       int
}

const buckets = 1 << 14

func (q *queue) push(e event) {
	q.n++
	switch b := e.at >> q.shift; {
	case b <= q.first:
		q.now.push(e)
	case b < q.first+buckets:
		i := b & (buckets - 1)
		q.buckets[i] = append(q.buckets[i], e)
		q.full[i>>6] |= 1 << (i & 63)
	default:
		q.later.push(e)
	}
}

func (q *queue) pop() (event, bool) {
	for len(q.now) == 0 {
		if q.n == 0 {
			return event{}, false
		}
		q.turn()
	}
	q.n--
	return q.now.pop(), true
}

func (q *queue) turn() {
	next := q.next()
	if len(q.later) > 0 {
		if b := q.later[0].at >> q.shift; next < 0 || b < next {
			next = b
		}
	}
	q.first = next
	i := next & (buckets - 1)
	for _, e := range q.buckets[i] {
		q.now.push(e)
	}
	q.buckets[i] = q.buckets[i][:0]
	q.full[i>>6] &^= 1 << (i & 63)
	for len(q.later) > 0 && q.later[0].at>>q.shift < q.first+buckets {
		q.n--
		q.push(q.later.pop())
	}
}

// next returns the number of the next bucket that is not empty, -1 if all are empty.
func (q *queue) next() int64 {
	start := q.first + 1
	for d := int64(0); d < buckets; {
		i := (start + d) & (buckets - 1)
		if word := q.full[i>>6] >> (i & 63); word != 0 {
			return start + d + int64(bits.TrailingZeros64(word))
		}
		d += 64 - i&63
	}
	return -1
}

// A heap is written out: with internal/heap the simulator is a tenth slower.
type heap []event

func (h *heap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
	*h = s
}

func (h *heap) pop() event {
	s := *h
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s[c+1].before(s[c]) {
			c++
		}
		if !s[c].before(last) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = last
	return top
}

// A deque is a queue in a ring that grows.
type deque[T any] struct {
	ring        []T
	first, size int
}

func (d *deque[T]) at(i int) *T { return &d.ring[(d.first+i)&(len(d.ring)-1)] }

func (d *deque[T]) last() *T { return d.at(d.size - 1) }

func (d *deque[T]) push(v T) {
	if d.size == len(d.ring) {
		bigger := make([]T, max(4, 2*d.size))
		for i := range d.size {
			bigger[i] = *d.at(i)
		}
		d.ring, d.first = bigger, 0
	}
	d.size++
	*d.last() = v
}

func (d *deque[T]) pop() T {
	v := d.ring[d.first]
	d.first = (d.first + 1) & (len(d.ring) - 1)
	d.size--
	return v
}
