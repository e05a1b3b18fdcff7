package credit

import "math"

// A Pattern says to whom the i-th message of a host goes. r is the host's own.
type Pattern func(host int32, i int64, r *random) int32

// Uniform draws any host, the sender included.
func Uniform(hosts int) Pattern {
	return func(_ int32, _ int64, r *random) int32 { return int32(r.below(hosts)) }
}

// Others draws any host but the sender.
func Others(hosts int) Pattern {
	return func(h int32, _ int64, r *random) int32 {
		d := int32(r.below(hosts - 1))
		if d >= h {
			d++
		}
		return d
	}
}

// Shift sends to the host that is a number of hosts farther on.
func Shift(hosts, by int) Pattern {
	return func(h int32, _ int64, _ *random) int32 { return int32((int(h) + by) % hosts) }
}

// ShiftSequence sends message i with shift 1 + (step·i mod (hosts-1)): all others in turn.
func ShiftSequence(hosts, step int) Pattern {
	return func(h int32, i int64, _ *random) int32 {
		by := 1 + int64(step)*i%int64(hosts-1)
		return int32((int64(h) + by) % int64(hosts))
	}
}

// RandomShifts sends with all shifts in one random order that hosts share, repeated.
func RandomShifts(hosts int, seed uint64) Pattern {
	r := random(mix(seed))
	order := make([]int, hosts-1)
	for i := range order {
		j := r.below(i + 1)
		order[i] = order[j]
		order[j] = i + 1
	}
	return func(h int32, i int64, _ *random) int32 {
		return int32((int(h) + order[i%int64(len(order))]) % hosts)
	}
}

// Jobs has the hosts of each job send to each other by the job's pattern, which counts its
// hosts from 0 in their order here. A host of no job sends to itself.
func Jobs(hosts int, jobs [][]int32, patterns []Pattern) Pattern {
	of, rank := make([]int32, hosts), make([]int32, hosts)
	for h := range of {
		of[h] = -1
	}
	for j, job := range jobs {
		for i, h := range job {
			of[h], rank[h] = int32(j), int32(i)
		}
	}
	return func(h int32, i int64, r *random) int32 {
		j := of[h]
		if j < 0 {
			return h
		}
		return jobs[j][patterns[j](rank[h], i, r)]
	}
}

// Permutation sends all messages of a host to the same one, to[host].
func Permutation(to []int32) Pattern {
	return func(h int32, _ int64, _ *random) int32 { return to[h] }
}

// Repeat has a pattern say to whom each group of a number of messages goes.
func Repeat(p Pattern, times int64, hosts int) Pattern {
	last := make([]int32, hosts)
	return func(h int32, i int64, r *random) int32 {
		if i%times == 0 {
			last[h] = p(h, i/times, r)
		}
		return last[h]
	}
}

// A Traffic is messages of one length that follow a pattern. A host makes the next when
// the last has left its generator, or at the times of a Bernoulli process whatever the
// network does.
type Traffic struct {
	Pattern Pattern
	Flits   int64 // of a message
	Count   int64 // messages of a host; 0: without end

	// Bernoulli is the probability of a message in each Every ticks. 0: always one more.
	Bernoulli float64
	Every     Time
	// Pause is the mean in ticks of the exponential time between messages. It begins Early
	// ticks before the host could make the next flit: when the last one was made.
	Pause float64
	Early Time

	made []int64
	at   []Time
	rand []random
}

// Start readies the traffic for hosts.
func (t *Traffic) Start(hosts int, seed uint64) {
	t.made, t.at, t.rand = make([]int64, hosts), make([]Time, hosts), make([]random, hosts)
	for h := range t.rand {
		t.rand[h] = random(mix(seed<<20 ^ uint64(h+1)))
		t.at[h] = -t.Every
	}
}

// Next makes the next message of a host.
func (t *Traffic) Next(h int32, now Time) (Message, bool) {
	i := t.made[h]
	if t.Count > 0 && i == t.Count {
		return Message{}, false
	}
	t.made[h]++
	r := &t.rand[h]
	m := Message{Dst: t.Pattern(h, i, r), Flits: t.Flits, Start: now}
	switch {
	case t.Bernoulli > 0:
		trials := Time(1)
		if t.Bernoulli < 1 {
			trials += Time(math.Log(r.unit()) / math.Log1p(-t.Bernoulli))
		}
		t.at[h] += trials * t.Every
		m.Start = t.at[h]
	case t.Pause > 0 && i > 0:
		m.Start = max(now, now-t.Early+Time(-math.Log(r.unit())*t.Pause))
	}
	return m, true
}
