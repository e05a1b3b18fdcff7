package sim

import (
	"math"
	"time"
)

// A recorder adds up exchanges and takes samples of them. Within an exchange payload
// and waiting are taken to come evenly; its events are complete at its end.
type recorder struct {
	j     *Job
	n     int
	out   *Outcome
	sum   turn // of the exchanges that are added up
	last  *turn
	reps  uint64 // exchanges equal to last that are not in sum
	clock float64

	samples int     // intervals that are over
	from    float64 // when the last sample was taken
	events  uint64  // at that time, and so on
	got     []uint64
	waited  []float64
	size    []uint64 // bytes of the events
}

func newRecorder(j *Job, wires int) *recorder {
	n := j.Plan.Tree.Servers()
	return &recorder{
		j: j, n: n, out: &Outcome{},
		sum: turn{
			sent: make([]uint64, n), got: make([]uint64, n), event: make([]uint64, n),
			waited: make([]float64, n), wires: make([]float64, wires),
		},
		got: make([]uint64, n), waited: make([]float64, n), size: make([]uint64, n),
	}
}

func (r *recorder) add(t *turn, start float64) {
	if t != r.last {
		r.flush()
		r.last = t
	}
	end := start + t.span
	for {
		next := float64(r.samples+1) * r.j.Interval.Seconds()
		if next >= end || r.j.Interval <= 0 {
			break
		}
		r.samples++
		r.sample(next, (next-start)/t.span)
	}
	r.reps++
	r.clock = end
	r.out.ends = append(r.out.ends, seconds(end-t.quiet))
}

func (r *recorder) flush() {
	if r.reps == 0 {
		return
	}
	k := float64(r.reps)
	for i := range r.n {
		r.sum.sent[i] += r.reps * r.last.sent[i]
		r.sum.got[i] += r.reps * r.last.got[i]
		r.sum.event[i] += r.reps * r.last.event[i]
		r.sum.waited[i] += k * r.last.waited[i]
	}
	for w, x := range r.last.wires {
		r.sum.wires[w] += k * x
	}
	r.reps = 0
}

// sample takes one of every server, at a share of the way through the exchange that
// would be the next one to count.
func (r *recorder) sample(at, share float64) {
	k := float64(r.reps) + share
	events := uint64(len(r.out.ends))
	for i := range r.n {
		got := r.sum.got[i] + uint64(math.Floor(k*float64(r.last.got[i])+1e-6))
		waited := r.sum.waited[i] + k*r.last.waited[i]
		size := r.sum.event[i] + r.reps*r.last.event[i]
		c := count{events - r.events, size - r.size[i], got - r.got[i], waited - r.waited[i]}
		r.out.samples = append(r.out.samples, r.j.sample(i, at, at-r.from, c))
		r.got[i], r.waited[i], r.size[i] = got, waited, size
	}
	r.from, r.events = at, events
}

func (r *recorder) end() *Outcome {
	if r.clock > r.from {
		r.sample(r.clock, 0)
	}
	r.flush()
	o := r.out
	o.Exchanges = uint64(len(o.ends))
	o.Span = o.ends[len(o.ends)-1]
	o.sent, o.Received, o.Wires = r.sum.sent, r.sum.got, r.sum.wires
	o.Events, o.waited = make([]uint64, r.n), make([]time.Duration, r.n)
	for i := range r.n {
		o.Events[i] = o.Exchanges
		o.waited[i] = seconds(r.sum.waited[i])
	}
	return o
}
