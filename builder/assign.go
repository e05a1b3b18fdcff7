package builder

import (
	"cmp"
	"slices"

	"evbench/internal/heap"
)

// How events are assigned to servers, as in scenarios.
const (
	AssignNext     = "next"     // a server with room for another event gets the next one
	AssignBalanced = "balanced" // by known sizes
	AssignFree     = "free"     // of the events of a clock, the next one to the server whose buffer has most room
)

func Assigners() []string { return []string{AssignNext, AssignBalanced, AssignFree} }

// Ahead is how many events of each server are known and assigned at a time.
const Ahead = 8

// Lead is how many events a server may be ahead of the slowest, beyond those in flight. An exchange
// is one event of each server in every mode, so all servers build equally many. A server behind a
// congested link slows down the others in the end, as it would where sources keep an event's
// fragments until the event is built. Without a limit fast servers would build events of slow ones.
const Lead = 2

// MaxCredits is the most events of a server in flight: each costs a buffer of a whole event.
const MaxCredits = 256

// Quota returns how many events each server may have been assigned when the slowest has built
// slowest events. spare events are assigned in advance.
func Quota(slowest, credits, spare uint64) uint64 { return slowest + credits + Lead + spare }

// May returns how many more events a server may be assigned. credits and spare bound the events in
// flight, quota bounds all events.
func May(quota, assigned, done, inFlight uint64) uint64 {
	has := assigned - min(assigned, done)
	return min(quota-min(quota, assigned), inFlight-min(inFlight, has))
}

// A Balancer assigns events of known sizes, batch after batch: the longest event first, to the
// least loaded server (LPT: Graham 1969). Each server gets equally many, since an exchange is one
// event of each server in every mode.
type Balancer struct {
	roles Roles
	size  func(event uint64, source int) int
	load  []float64  // by builder: bytes so far
	queue [][]uint64 // by builder: events to build, in this order
}

// NewBalancer returns a Balancer for the builders. Each reader's fragment of an event has size
// bytes.
func NewBalancer(roles Roles, size func(event uint64, source int) int) *Balancer {
	return &Balancer{roles: roles, size: size, load: make([]float64, roles.Events()), queue: make([][]uint64, roles.Events())}
}

// Plan assigns as many events to each builder, with ids from first on. It costs O(events ·
// servers).
func (b *Balancer) Plan(first uint64, each int) {
	type event struct {
		id    uint64
		bytes float64
	}
	n := len(b.load)
	events := make([]event, each*n)
	for i := range events {
		e := &events[i]
		e.id = first + uint64(i)
		for i := range b.roles.Sources() {
			e.bytes += float64(b.size(e.id, b.roles.reader(i)))
		}
	}
	slices.SortFunc(events, func(x, y event) int { return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.id, y.id)) })
	var open heap.Heap[loaded]
	left := make([]int, n)
	for rank := range n {
		open.Push(loaded{b.load[rank], rank})
		left[rank] = each
	}
	for _, e := range events {
		x := &open[0]
		x.load += e.bytes
		rank := x.rank
		b.queue[rank], b.load[rank] = append(b.queue[rank], e.id), x.load
		if left[rank]--; left[rank] > 0 {
			open.Down(0)
		} else {
			open.Pop()
		}
	}
}

// Next takes the next event of a builder, given by rank; false if none is planned.
func (b *Balancer) Next(rank int) (event uint64, ok bool) {
	place := b.roles.Place(rank)
	q := b.queue[place]
	if len(q) == 0 {
		return 0, false
	}
	b.queue[place] = q[1:]
	return q[0], true
}

// A loaded server; the least loaded comes first.
type loaded struct {
	load float64
	rank int
}

// Before orders servers.
func (a loaded) Before(b loaded) bool { return a.load < b.load || a.load == b.load && a.rank < b.rank }
