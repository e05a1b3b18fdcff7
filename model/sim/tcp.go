package sim

import (
	"context"
	"slices"

	"evbench/builder/modes"
	"evbench/internal/heap"
)

// A TCP describes how connections send, and how ports limit their rate, in bytes of payload.
type TCP struct {
	Packet int // that the sender's stack hands over at a time
	Window int // of a connection: sent and not acknowledged
	Burst  int // of the token bucket of a port
	Ack    int // an acknowledgement; a request is as much and a header
}

// ownQueue is how many packets of one connection wait at its server's own port: Linux hands over the
// next when one of them has left (TCP small queues).
const ownQueue = 2

// Streams builds events over TCP with the rules of Fluid, but without fair shares: a packet waits at
// each port behind all packets that came before it, of whichever connection, until the port's token
// bucket has enough for it. Queues have no end, so nothing is lost.
//
// A connection carries its fragments one after another. It has at most ownQueue packets in the queue
// of its own server and at most a window under way. Acknowledgements, and requests of unsynchronised
// cases, pass the queue of their own server (priority) and wait in all others; they count on no wire.
//
// Free-running, a server goes on when its socket has taken the fragment, as the worker does: what the connection
// has not acknowledged fits a window then. (In Fluid it goes on when the fragment has arrived.)
//
// When a plan takes over, packets under way over a dead link are sent again over the path of the
// new plan.
func Streams(ctx context.Context, j *Job, progress Progress) (*Outcome, error) {
	r, err := ruleOf(j)
	if err != nil {
		return nil, err
	}
	q := newQueues(j, r)
	if err := q.run(ctx, progress); err != nil {
		return nil, err
	}
	return q.meter.outcome(j), nil
}

type queues struct {
	stage
	job     *Job
	rule    rule
	rate    []float64 // by wire, bytes a second
	ports   []port    // by wire; the last has what passes no wire
	streams []sender
	sends   []sending // fragments under way, and unused places
	free    []int32
	transit heap.Heap[head]
	count   uint64
}

// A port has a token bucket, and packets in the order in which they leave.
type port struct {
	last    float64 // when its newest packet leaves
	full    float64 // from when its bucket is full
	waiting []packet
	gone    int // of waiting, they have left
}

// A head is the first packet of a port: only those of different ports need a heap.
type head struct {
	at     float64
	number uint64 // breaks ties
	port   int32
}

// Before orders heads.
func (a head) Before(b head) bool { return a.at < b.at || a.at == b.at && a.number < b.number }

// A sender is the sending end of a stream.
type sender struct {
	sends []int32 // not wholly handed over
	fly   float64 // bytes not acknowledged
	own   int     // packets in the queue of its server
	owes  float64 // bytes not acknowledged, those not handed over included
	full  bool    // free-running: its program waits until the socket has room
}

type sending struct {
	fragment
	stream             int32
	left, sent, unsure float64 // bytes: not arrived, handed over, not acknowledged
	lost               int32   // how many times packets of this place were lost
	path, back         []int32
}

// A packet leaves a wire at a time: hop wires of its way are behind it.
type packet struct {
	at     float64
	number uint64
	of     int32 // a fragment
	kind   int8
	hop    int16
	lost   int32 // of the fragment, when it was sent
	bytes  float64
}

const (
	aPiece = iota
	anAck
	aRequest
)

func newQueues(j *Job, r rule) *queues {
	n := j.Plan.Tree.Servers()
	q := &queues{stage: newStage(j), job: j, rule: r, streams: make([]sender, n*n)}
	q.ports = make([]port, q.plans.wires+1)
	for w := range int32(q.plans.wires) {
		q.rate = append(q.rate, q.plans.nets[0].rate(w)*j.BitPerSec/8)
	}
	q.same, q.stage.send, q.buffered = same(j), q.put, j.Mode == modes.FreeRunning
	return q
}

func (q *queues) put(stream int32, x fragment) {
	q.meter.first = min(q.meter.first, q.now)
	if q.buffered { // connections have two ends
		stream = x.dst*int32(q.job.Plan.Tree.Servers()) + x.src
	}
	var i int32
	if n := len(q.free); n > 0 {
		i, q.free = q.free[n-1], q.free[:n-1]
	} else {
		i, q.sends = int32(len(q.sends)), append(q.sends, sending{})
	}
	s := &q.sends[i]
	path, back := s.path, s.back
	*s = sending{fragment: x, stream: stream, left: x.bytes, unsure: x.bytes, lost: s.lost}
	s.path = append(path[:0], q.trimmed(q.plans.way(&x))...)
	s.back = append(back[:0], q.trimmed(q.plans.path(q.plans.now, int(x.dst), int(x.src)))...)
	if q.job.Mode == modes.Unsync {
		q.forward(packet{of: i, kind: aRequest, hop: 1})
		return
	}
	q.begun(i)
}

// trimmed returns the wires of a path alone.
func (q *queues) trimmed(path []int32) []int32 {
	if i := slices.Index(path, int32(q.plans.wires)); i >= 0 {
		return path[:i]
	}
	return path
}

func (q *queues) begun(i int32) {
	x := &q.sends[i]
	s := &q.streams[x.stream]
	s.sends, s.owes, s.full = append(s.sends, i), s.owes+x.bytes, q.buffered
	q.hand(s)
	q.drained(s, x.src)
}

// hand gives the packets of a stream to its server's port, as far as it may.
func (q *queues) hand(s *sender) {
	for len(s.sends) > 0 && s.own < ownQueue {
		x := &q.sends[s.sends[0]]
		n := min(float64(q.job.TCP.Packet), x.bytes-x.sent)
		if len(x.path) == 0 || s.fly > 0 && s.fly+n > float64(q.job.TCP.Window) {
			return
		}
		q.forward(packet{of: s.sends[0], bytes: n, lost: x.lost})
		x.sent += n
		s.fly += n
		s.own++
		if x.sent == x.bytes {
			s.sends = append(s.sends[:0], s.sends[1:]...)
		}
	}
}

// drained tells a free-running server whose socket has taken all of its fragment: what is not acknowledged
// fits a window.
func (q *queues) drained(s *sender, src int32) {
	if s.full && s.owes <= float64(q.job.TCP.Window) {
		s.full = false
		q.wake(moment{at: q.now, a: int(src)})
	}
}

// forward puts a packet into the queue of its next wire. When it leaves is known at once, as nothing
// that comes later goes before it.
func (q *queues) forward(x packet) {
	s := &q.sends[x.of]
	way, length, counted := s.path, x.bytes, x.bytes
	switch x.kind {
	case anAck:
		way, length, counted = s.back, float64(q.job.TCP.Ack), 0
	case aRequest:
		way, length, counted = s.back, float64(q.job.TCP.Ack+q.job.Header), 0
	}
	w := int32(q.plans.wires)
	if int(x.hop) < len(way) {
		w = way[x.hop]
	}
	p := &q.ports[w]
	if int(w) < q.plans.wires {
		spare := max(0, float64(q.job.TCP.Burst)-length)
		p.last = max(q.now, p.last, p.full-spare/q.rate[w])
		p.full = max(p.full, p.last) + length/q.rate[w]
		q.meter.wire[w] += counted
		x.at = p.last
	} else {
		x.at = q.now
	}
	q.count++
	x.number = q.count
	x.hop++
	if p.waiting = append(p.waiting, x); len(p.waiting) == p.gone+1 {
		q.transit.Push(head{x.at, x.number, w})
	}
}

// first takes the packet that leaves next.
func (q *queues) first() packet {
	w := q.transit[0].port
	p := &q.ports[w]
	x := p.waiting[p.gone]
	if p.gone++; p.gone == len(p.waiting) {
		p.waiting, p.gone = p.waiting[:0], 0
		q.transit.Pop()
		return x
	}
	if p.gone >= 64 && 2*p.gone >= len(p.waiting) {
		p.waiting, p.gone = append(p.waiting[:0], p.waiting[p.gone:]...), 0
	}
	next := &p.waiting[p.gone]
	q.transit[0] = head{next.at, next.number, w}
	q.transit.Down(0)
	return x
}

// left handles a packet that has left a wire.
func (q *queues) left(x packet) {
	s := &q.sends[x.of]
	stream := &q.streams[s.stream]
	switch {
	case x.kind == aPiece && x.lost != s.lost:
		if x.hop == 1 { // what is sent again waits behind it, so the place is still this fragment's
			stream.own--
			q.hand(stream)
		}
	case x.kind != aPiece && int(x.hop) <= len(s.back):
		q.forward(x)
	case x.kind == aRequest:
		q.begun(x.of)
	case x.kind == anAck:
		stream.fly -= x.bytes
		if s.unsure -= x.bytes; s.unsure <= 0 {
			q.free = append(q.free, x.of)
		}
		stream.owes -= x.bytes
		q.hand(stream)
		q.drained(stream, s.src)
	default:
		if x.hop == 1 {
			stream.own--
			q.hand(stream)
		}
		if int(x.hop) < len(s.path) {
			q.forward(x)
			return
		}
		q.forward(packet{of: x.of, kind: anAck, hop: 1, bytes: x.bytes})
		if s.left -= x.bytes; s.left <= 0 {
			whole, on := s.fragment, s.stream
			q.meter.arrived(q.now, int(whole.src), int(whole.dst), whole.payload)
			q.rule.ended(&q.stage, on, &whole)
		}
	}
}

func (q *queues) run(ctx context.Context, progress Progress) error {
	q.rule.begin(&q.stage)
	for step := 0; q.fail == nil && (len(q.transit) > 0 || len(q.moments) > 0); step++ {
		if step%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(min(seconds(q.now), q.job.Duration), q.job.Duration)
			}
		}
		if len(q.moments) > 0 && (len(q.transit) == 0 || q.moments[0].at <= q.transit[0].at) {
			q.now = max(q.now, q.moments[0].at)
			q.dispatch(q.now, q.rule, q.change)
			continue
		}
		x := q.first()
		q.now = x.at
		q.left(x)
	}
	if q.fail != nil {
		return q.fail
	}
	for i := range q.sends {
		if x := &q.sends[i]; x.left > 0 {
			return noPath(q.job, &x.fragment)
		}
	}
	return q.over(q.rule)
}

// change puts a plan in force. What is under way over a path that has died is lost, and goes again.
func (q *queues) change(plan int) {
	q.plans.now = plan
	for i := range q.sends {
		x := &q.sends[i]
		if x.unsure > 0 && !q.plans.alive(x.back) {
			x.back = append(x.back[:0], q.trimmed(q.plans.path(plan, int(x.dst), int(x.src)))...)
		}
		if x.left <= 0 || len(x.path) > 0 && q.plans.alive(x.path) {
			continue
		}
		x.path = append(x.path[:0], q.trimmed(q.plans.choose(plan, int(x.src), int(x.dst)))...)
		s, again := &q.streams[x.stream], x.sent-(x.bytes-x.left)
		if again > 0 && x.sent == x.bytes {
			s.sends = append([]int32{int32(i)}, s.sends...)
		}
		x.sent -= again
		s.fly -= again
		x.lost++
		q.hand(s)
	}
}
