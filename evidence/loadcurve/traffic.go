package loadcurve

import (
	"math"
	"slices"

	"evbench/internal/splitmix"
	"evbench/model/credit"
)

// A Pattern returns the destination of the i-th message of a host. r belongs to the host.
type Pattern func(host int32, i int64, r *splitmix.Random) int32

// Uniform draws any host, the sender included.
func Uniform(hosts int) Pattern {
	return func(_ int32, _ int64, r *splitmix.Random) int32 { return int32(r.Below(hosts)) }
}

// Others draws any host but the sender.
func Others(hosts int) Pattern {
	return func(h int32, _ int64, r *splitmix.Random) int32 {
		d := int32(r.Below(hosts - 1))
		if d >= h {
			d++
		}
		return d
	}
}

// Shift sends to the host with a number higher by by, modulo hosts.
func Shift(hosts, by int) Pattern {
	return func(h int32, _ int64, _ *splitmix.Random) int32 { return int32((int(h) + by) % hosts) }
}

// ShiftSequence sends message i with shift 1 + (step·i mod (hosts-1)): all others in turn.
func ShiftSequence(hosts, step int) Pattern {
	return func(h int32, i int64, _ *splitmix.Random) int32 {
		by := 1 + int64(step)*i%int64(hosts-1)
		return int32((int64(h) + by) % int64(hosts))
	}
}

// RandomShifts sends with all shifts in one random order that hosts share, repeated.
func RandomShifts(hosts int, seed uint64) Pattern {
	r := splitmix.Random(splitmix.Mix(seed))
	order := make([]int, hosts-1)
	for i := range order {
		j := r.Below(i + 1)
		order[i] = order[j]
		order[j] = i + 1
	}
	return func(h int32, i int64, _ *splitmix.Random) int32 {
		return int32((int(h) + order[i%int64(len(order))]) % hosts)
	}
}

// Jobs makes the hosts of each job send to each other by the job's pattern, which counts its hosts
// from 0 in their order here. A host without a job sends to itself.
func Jobs(hosts int, jobs [][]int32, patterns []Pattern) Pattern {
	of, rank := slices.Repeat([]int32{-1}, hosts), make([]int32, hosts)
	for j, job := range jobs {
		for i, h := range job {
			of[h], rank[h] = int32(j), int32(i)
		}
	}
	return func(h int32, i int64, r *splitmix.Random) int32 {
		j := of[h]
		if j < 0 {
			return h
		}
		return jobs[j][patterns[j](rank[h], i, r)]
	}
}

// Permutation sends all messages of a host to the same one, to[host].
func Permutation(to []int32) Pattern {
	return func(h int32, _ int64, _ *splitmix.Random) int32 { return to[h] }
}

// Repeat uses each destination of a pattern for a number of messages in a row.
func Repeat(p Pattern, times int64, hosts int) Pattern {
	last := make([]int32, hosts)
	return func(h int32, i int64, r *splitmix.Random) int32 {
		if i%times == 0 {
			last[h] = p(h, i/times, r)
		}
		return last[h]
	}
}

// A Traffic is messages of one length that follow a pattern. A host makes the next when the last
// has left its generator, or at the times of a Bernoulli process, independent of the network.
type Traffic struct {
	Pattern Pattern
	Flits   int64 // of a message
	Count   int64 // messages of a host; 0: without end

	// Bernoulli is the probability of a message in each Every ticks. 0: always one more.
	Bernoulli float64
	Every     credit.Time
	// Pause is the mean in ticks of the exponential time between messages. It begins Early
	// ticks before the host could make the next flit: when the last one was made.
	Pause float64
	Early credit.Time

	made []int64
	at   []credit.Time
	rand []splitmix.Random
}

// Start prepares the traffic for hosts.
func (t *Traffic) Start(hosts int, seed uint64) {
	t.made, t.at, t.rand = make([]int64, hosts), make([]credit.Time, hosts), make([]splitmix.Random, hosts)
	for h := range t.rand {
		t.rand[h] = splitmix.Random(splitmix.Mix(seed<<20 ^ uint64(h+1)))
		t.at[h] = -t.Every
	}
}

// Next makes the next message of a host.
func (t *Traffic) Next(h int32, now credit.Time) (credit.Message, bool) {
	i := t.made[h]
	if t.Count > 0 && i == t.Count {
		return credit.Message{}, false
	}
	t.made[h]++
	r := &t.rand[h]
	m := credit.Message{Dst: t.Pattern(h, i, r), Flits: t.Flits, Start: now}
	switch {
	case t.Bernoulli > 0:
		trials := credit.Time(1)
		if t.Bernoulli < 1 {
			trials += credit.Time(math.Log(unit(r)) / math.Log1p(-t.Bernoulli))
		}
		t.at[h] += trials * t.Every
		m.Start = t.at[h]
	case t.Pause > 0 && i > 0:
		m.Start = max(now, now-t.Early+credit.Time(-math.Log(unit(r))*t.Pause))
	}
	return m, true
}

func unit(r *splitmix.Random) float64 { return float64(r.Next()>>11+1) / (1 << 53) }
