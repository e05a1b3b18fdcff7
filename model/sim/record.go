package sim

import "math"

// A recorder adds up exchanges for a meter. It spreads payload and waiting evenly over an exchange,
// and counts its events as complete at its end.
type recorder struct {
	*meter
	j    *Job
	ends []float64 // of all counted exchanges, since the first send
	last *turn
	reps uint64   // exchanges equal to last that are not added up
	size []uint64 // bytes of events that are

	start float64 // when the first exchange begins
	from  float64 // when the last sample was taken
	then  []count // what there was at that time
}

func newRecorder(j *Job, wires int) *recorder {
	n := j.Plan.Tree.Servers()
	return &recorder{meter: newMeter(j, wires), j: j, size: make([]uint64, n), then: make([]count, n)}
}

// begins returns when the next exchange begins, not before a time; false: there is none.
func (r *recorder) begins(at float64) (float64, bool) {
	if r.clock != nil {
		return r.clock.begins(len(r.ends), at)
	}
	return at, r.j.more(len(r.ends), at)
}

func (r *recorder) add(t *turn, start float64) {
	if len(r.ends) == 0 {
		r.start = start
	}
	if t != r.last {
		r.flush()
		r.last = t
	}
	r.until = start + t.span
	for {
		next := float64(len(r.bins)+1) * r.interval
		if next >= r.until || r.interval <= 0 {
			break
		}
		r.sample(next, max(0, next-start)/t.span)
	}
	if r.clock != nil {
		r.clock.run(r.until)
		for rank, came := range t.came {
			if r.meter.builds[rank] {
				r.clock.built(len(r.ends), rank, start, start+came, start+came)
			}
		}
	}
	r.reps++
	r.ends = append(r.ends, r.until-t.quiet)
}

func (r *recorder) flush() {
	if r.reps == 0 {
		return
	}
	k := float64(r.reps)
	for i := range r.servers {
		r.sent[i] += r.reps * r.last.sent[i]
		r.received[i] += r.reps * r.last.got[i]
		r.size[i] += r.reps * r.last.event[i]
		r.waited[i] += k * r.last.waited[i]
	}
	for w, x := range r.last.wires {
		r.wire[w] += k * x
	}
	r.reps = 0
}

// built is how many events a server has built.
func (r *recorder) built(rank int) uint64 {
	if !r.meter.builds[rank] {
		return 0
	}
	return uint64(len(r.ends))
}

// sample takes a sample of every server, at a share of the way through the next exchange to count.
func (r *recorder) sample(at, share float64) {
	k, bin := float64(r.reps)+share, make([]count, r.servers)
	for i, then := range r.then {
		now := count{
			events: r.built(i), eventBytes: r.size[i] + r.reps*r.last.event[i],
			payload: r.received[i] + uint64(math.Floor(k*float64(r.last.got[i])+1e-6)), waited: r.meter.waited[i] + k*r.last.waited[i],
		}
		bin[i] = count{now.events - then.events, now.eventBytes - then.eventBytes, now.payload - then.payload, now.waited - then.waited}
		r.then[i] = now
	}
	r.bins, r.from = append(r.bins, bin), at
}

func (r *recorder) end() *Outcome {
	if r.until > r.from {
		r.sample(r.until, 0)
	}
	r.flush()
	for i := range r.events {
		r.events[i] = r.built(i)
	}
	r.first, r.meter.last = r.start, r.ends[len(r.ends)-1]
	return r.outcome(r.j)
}
