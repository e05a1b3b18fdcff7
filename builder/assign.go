package builder

import (
	"cmp"
	"container/heap"
	"slices"
)

// Which server builds which event, as in scenarios.
const (
	AssignNext     = "next"     // a server that may have one more gets the next event
	AssignBalanced = "balanced" // by known sizes
)

// Assigners lists them.
func Assigners() []string { return []string{AssignNext, AssignBalanced} }

// Ahead is how many events of each server are known, and assigned, at once.
const Ahead = 8

// Lead is how many events a server may be ahead of the slowest, beyond those it has in flight. An
// exchange is one event of each server, in every mode: all build equally many, and a server behind
// a congested link holds up the others in the end, as it would where sources keep an event's
// fragments until it is built. Without a limit the fast ones would build the events of the slow.
const Lead = 2

// Quota returns how many events each server may have been assigned when the slowest has built
// some; spare ones are assigned in advance.
func Quota(slowest, credits, spare uint64) uint64 { return slowest + credits + Lead + spare }

// May returns how many more events a server may be assigned: its credits and the spare ones are
// what it may have in flight, and the quota is what it may have in all.
func May(quota, assigned, done, inFlight uint64) uint64 {
	has := assigned - min(assigned, done)
	return min(quota-min(quota, assigned), inFlight-min(inFlight, has))
}

// A Balancer assigns events whose sizes are known beforehand, batch after batch: the longest
// event first, to the least loaded server (LPT: Graham 1969), and equally many to each, since
// an exchange is one event of each server in every mode.
type Balancer struct {
	size  func(event uint64, source int) int
	load  []float64  // by server: bytes so far
	queue [][]uint64 // by server: what it is to build, in this order
}

// NewBalancer returns one for so many servers, each of which has a fragment of size bytes
// for an event.
func NewBalancer(servers int, size func(event uint64, source int) int) *Balancer {
	return &Balancer{size: size, load: make([]float64, servers), queue: make([][]uint64, servers)}
}

// Plan assigns as many events to each server, with ids from first on. It costs
// O(events · servers).
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
		for source := range n {
			e.bytes += float64(b.size(e.id, source))
		}
	}
	slices.SortFunc(events, func(x, y event) int { return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.id, y.id)) })
	open := &ranking{load: b.load}
	left := make([]int, n)
	for rank := range n {
		open.ranks, left[rank] = append(open.ranks, rank), each
	}
	heap.Init(open)
	for _, e := range events {
		rank := open.ranks[0]
		b.queue[rank] = append(b.queue[rank], e.id)
		b.load[rank] += e.bytes
		if left[rank]--; left[rank] > 0 {
			heap.Fix(open, 0)
		} else {
			heap.Pop(open)
		}
	}
}

// Next takes the next event of a server; false where none is planned.
func (b *Balancer) Next(server int) (event uint64, ok bool) {
	q := b.queue[server]
	if len(q) == 0 {
		return 0, false
	}
	b.queue[server] = q[1:]
	return q[0], true
}

// A ranking is a heap of servers, the least loaded first.
type ranking struct {
	load  []float64
	ranks []int
}

func (r *ranking) Len() int { return len(r.ranks) }
func (r *ranking) Less(i, j int) bool {
	x, y := r.ranks[i], r.ranks[j]
	return r.load[x] < r.load[y] || r.load[x] == r.load[y] && x < y
}
func (r *ranking) Swap(i, j int) { r.ranks[i], r.ranks[j] = r.ranks[j], r.ranks[i] }
func (r *ranking) Push(x any)    { r.ranks = append(r.ranks, x.(int)) }
func (r *ranking) Pop() any {
	last := len(r.ranks) - 1
	x := r.ranks[last]
	r.ranks = r.ranks[:last]
	return x
}
