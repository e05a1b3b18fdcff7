package load

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and the resolution of a Latency: to 1 µs or 0.1 %, whichever is more. Longer times count as an hour.
const (
	finest  = time.Microsecond
	longest = time.Hour
	digits  = 3
)

// A Latency counts times in a histogram of fixed size (HDR: Tene). Histograms of servers add up exactly.
type Latency struct{ h *hdrhistogram.Histogram }

// NewLatency returns an empty Latency.
func NewLatency() *Latency {
	return &Latency{hdrhistogram.New(int64(finest), int64(longest), digits)}
}

// Record counts a time. It does not allocate.
func (l *Latency) Record(d time.Duration) {
	_ = l.h.RecordValue(int64(min(max(d, 0), longest))) // in its range
}

// A Bar is how many times fell into the class that holds Ns.
type Bar struct {
	Ns int64  `json:"t"`
	N  uint64 `json:"n"`
}

// Bars returns the classes that are not empty, by time.
func (l *Latency) Bars() (out []Bar) {
	for _, b := range l.h.Distribution() {
		if b.Count > 0 {
			out = append(out, Bar{b.From, uint64(b.Count)})
		}
	}
	return out
}

// mostTimes bounds the times of one class: more than any run has events.
const mostTimes = 1 << 50

// Add adds the classes of another Latency.
func (l *Latency) Add(bars []Bar) error {
	for _, b := range bars {
		if b.Ns < 0 || b.Ns > int64(longest) || b.N > mostTimes {
			return fmt.Errorf("%d times of %d ns: times are 0..%v", b.N, b.Ns, longest)
		}
		if err := l.h.RecordValues(b.Ns, int64(b.N)); err != nil {
			return err
		}
	}
	return nil
}

// Parts are the times of which the latency of an event consists: in the buffers of its sources until its builder heard of
// it, then until its turn came, then until its last fragment had come, then until its builder was done with it. Only the
// first ends by another clock than it began by.
type Parts [PartCount]*Latency

// PartCount is how many parts there are.
const PartCount = 4

// NewParts returns Parts without times.
func NewParts() (p Parts) {
	for i := range p {
		p[i] = NewLatency()
	}
	return p
}

// Record adds an event that happened, was told to its builder, begun, complete and built at these times.
func (p Parts) Record(due, told, begun, came, built time.Duration) {
	for i, part := range [PartCount]time.Duration{told - due, begun - told, came - begun, built - came} {
		p[i].Record(part)
	}
}

// PartTimes are the quantiles of Parts and the means, which add up to the mean latency.
type PartTimes struct {
	Buffer  Part `json:"buffer" unit:"s"`
	Order   Part `json:"order" unit:"s"`
	Wire    Part `json:"wire" unit:"s"`
	Builder Part `json:"builder" unit:"s"`
}

// A Part is the mean of one of Parts and its quantiles, in seconds.
type Part struct {
	Mean float64 `json:"mean" unit:"s"`
	Quantiles
}

// Times returns the times of Parts, zero without any.
func (p Parts) Times() PartTimes {
	part := func(l *Latency) Part { return Part{l.Mean(), l.Quantiles()} }
	return PartTimes{part(p[0]), part(p[1]), part(p[2]), part(p[3])}
}

// Quantiles are times that 50 %, 99 % and 99.9 % of all events do not exceed, and the longest, in seconds.
type Quantiles struct {
	P50  float64 `json:"p50" unit:"s"`
	P99  float64 `json:"p99" unit:"s"`
	P999 float64 `json:"p999" unit:"s"`
	Max  float64 `json:"max" unit:"s"`
}

// Quantiles returns the quantiles of all times, zero without any.
func (l *Latency) Quantiles() Quantiles {
	if l.h.TotalCount() == 0 {
		return Quantiles{}
	}
	at := func(q float64) float64 { return float64(l.h.ValueAtQuantile(q)) / float64(time.Second) }
	return Quantiles{at(50), at(99), at(99.9), float64(l.h.Max()) / float64(time.Second)}
}

// Mean is the mean of all times in seconds, 0 without any.
func (l *Latency) Mean() float64 { return l.h.Mean() / float64(time.Second) }

// Count is how many times were recorded.
func (l *Latency) Count() uint64 { return uint64(l.h.TotalCount()) }
