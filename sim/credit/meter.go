package credit

import "slices"

// A Meter counts what arrives at hosts in a window of time.
type Meter struct {
	From, Until Time // the window is [From, Until)

	Flits   []int64 // that arrived in the window, by host
	Packets int64   // created in the window and received in it
	Latency Time    // sum of creation to reception of these
	Network Time    // sum of sent to reception of these
	Hops    int64   // switches that they passed
	Least   Time    // least latency of them
	Most    Time

	// Where packets may overtake each other: flits that came before some that were sent
	// earlier from the same host, and the most that a host held at a time until those came.
	Early, Held int64

	Messages int64
	Waiting  Time // sum over messages of beginning to reception
	Last     Time // reception of the last packet of all
}

func (m *Meter) init(hosts int) {
	m.Flits = make([]int64, hosts)
	m.Until, m.Least = never, never
}

func (m *Meter) flits(host int32, at, step Time, n int64) {
	last := at + Time(n-1)*step
	if at >= m.Until || last < m.From {
		return
	}
	if step > 0 {
		if at < m.From {
			n -= int64((m.From - at + step - 1) / step)
		}
		if last >= m.Until {
			n -= int64((last-m.Until)/step) + 1
		}
	}
	m.Flits[host] += n
}

func (m *Meter) packet(p *packet) {
	m.Last = max(m.Last, p.tail)
	if p.created < m.From || p.tail >= m.Until {
		return
	}
	latency := p.tail - p.created
	m.Packets++
	m.Latency += latency
	m.Network += p.tail - p.sent
	m.Hops += int64(p.hops)
	m.Least, m.Most = min(m.Least, latency), max(m.Most, latency)
}

func (m *Meter) message(of *message, at Time) {
	if of.began < m.From || at >= m.Until {
		return
	}
	m.Messages++
	m.Waiting += at - of.began
}

// Share returns what part of links whose flits take a time hosts received in the window:
// their mean, and the one that received least.
func (m *Meter) Share(flit Time) (mean, worst float64) {
	full := float64(m.Until-m.From) / float64(flit)
	return float64(m.Total()) / full / float64(len(m.Flits)), float64(m.Worst()) / full
}

// Total returns the flits of all hosts.
func (m *Meter) Total() (n int64) {
	for _, f := range m.Flits {
		n += f
	}
	return n
}

// Worst returns the flits of the host that received least.
func (m *Meter) Worst() int64 { return slices.Min(m.Flits) }
