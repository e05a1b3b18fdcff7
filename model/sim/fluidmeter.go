package sim

import (
	"cmp"
	"math"
	"time"

	"evbench/internal/lists"
	"evbench/results"
)

// A meter holds the counts of a run. Times are seconds since the measured part began.
type meter struct {
	servers  int
	builds   []bool // by server
	interval float64
	first    float64 // send
	last     float64 // receive
	until    float64 // when the last interval ends; 0: with the last receive

	events         []uint64 // by server
	sent, received []uint64 // payload bytes
	waited         []float64
	wire           []float64 // bytes with headers

	bins [][]count // [interval][server]

	clock *clocked  // nil: the job has no load
	keep  bool      // the times of events
	took  []float64 // seconds, by event as they were built
}

type count struct {
	events, eventBytes, payload uint64
	waited                      float64
}

func newMeter(j *Job, wires int) *meter {
	t := j.Plan.Tree
	servers := t.Servers()
	return &meter{
		servers: servers, clock: newClocked(j), builds: lists.Tabulate(servers, t.Builds), interval: j.Interval.Seconds(), first: math.Inf(1),
		events: make([]uint64, servers), sent: make([]uint64, servers), received: make([]uint64, servers),
		waited: make([]float64, servers), wire: make([]float64, wires+1),
	}
}

func (m *meter) bin(at float64) []count {
	i := 0
	if m.interval > 0 {
		i = int(at / m.interval)
	}
	for len(m.bins) <= i {
		m.bins = append(m.bins, make([]count, m.servers))
	}
	return m.bins[i]
}

// arrived counts a complete fragment of a source.
func (m *meter) arrived(at float64, src, dst int, payload uint64) {
	m.sent[src] += payload
	m.received[dst] += payload
	m.last = max(m.last, at)
	m.bin(at)[dst].payload += payload
}

func (m *meter) built(at float64, server int, bytes uint64) {
	m.events[server]++
	b := &m.bin(at)[server]
	b.events++
	b.eventBytes += bytes
}

func (m *meter) lasted(seconds float64) {
	if m.keep {
		m.took = append(m.took, seconds)
	}
}

func (m *meter) waits(at float64, server int, seconds float64) {
	m.waited[server] += seconds
	m.bin(at)[server].waited += seconds
}

func (m *meter) outcome(j *Job) *Outcome {
	o := &Outcome{
		Events: m.events, sent: m.sent, Received: m.received, Wires: m.wire[:len(m.wire)-1],
		waited: make([]time.Duration, m.servers), samples: m.samples(j), Load: m.clock.offered(),
	}
	if m.last > m.first {
		o.Span = seconds(m.last - m.first)
	}
	for i, s := range m.waited {
		o.waited[i] = seconds(s)
	}
	o.Exchanges = math.MaxUint64
	for rank, n := range m.events {
		if m.builds[rank] {
			o.Exchanges = min(o.Exchanges, n)
		}
	}
	return o
}

// samples returns one sample of each server that builds for each interval.
func (m *meter) samples(j *Job) []results.Sample {
	out := make([]results.Sample, 0, len(m.bins)*m.servers)
	for i, bin := range m.bins {
		from := float64(i) * m.interval
		to := from + m.interval
		if i == len(m.bins)-1 {
			to = cmp.Or(m.until, m.last)
		}
		if to <= from {
			to = from + m.interval
		}
		for server, c := range bin {
			if !m.builds[server] {
				continue
			}
			out = append(out, j.sample(server, to, to-from, c))
		}
	}
	return out
}

// sample returns the work of a server in an interval, in seconds, that ends at a moment.
func (j *Job) sample(server int, at, interval float64, c count) results.Sample {
	s := results.Sample{
		Case: j.Name, Repeat: j.Repeat, TSec: at, IntervalSec: interval, Server: j.Plan.Tree.Position(server),
		Events: c.events, PayloadBytes: c.payload, BarrierWaitSec: c.waited,
	}
	if c.events > 0 {
		s.EventBytes = c.eventBytes / c.events
	}
	if interval > 0 {
		s.GoodputBitPerSec = 8 * float64(c.payload) / interval
	}
	return s
}
