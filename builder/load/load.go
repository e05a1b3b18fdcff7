// Package load answers: which events does an experiment offer, and which of them find room? A run without a load
// builds events as fast as it can; a load has a clock, as an experiment's trigger has, and sources whose buffers are
// finite. The clock does not wait for the network: an event that finds the buffers full is refused and counted. The
// share of the refused is the dead time.
//
// All times are since the clock began. The package has no clock of its own.
package load

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/unit"
)

// How the events of a clock follow each other.
const (
	Periodic = "periodic" // one every 1/rate
	Poisson  = "poisson"  // at random, independent of each other
	Bursts   = "bursts"   // Burst at once, every Burst/rate
	Traced   = "trace"    // at Times
)

// Arrivals are the valid values of Load.Arrival, beside Traced.
func Arrivals() []string { return []string{Periodic, Poisson, Bursts} }

// A Load is what a case of a scenario is offered. The zero Load has no clock.
type Load struct {
	Rate    float64 `json:",omitempty"` // events/s of all servers together; 0: Share says it
	Share   float64 `json:",omitempty"` // of what the healthy network carries at the link rate
	Arrival string  `json:",omitempty"`
	Burst   int     `json:",omitempty"` // events at once, of Bursts
	// Times are when events happen, of Traced: since the first, in order, and again len(Times)/Rate later. Workers need
	// none of them.
	Times  []time.Duration `json:"-"`
	Buffer unit.Bytes      `json:",omitempty"` // of a source, for fragments of events that are not built; 0: defaultBuffer
	Held   uint64          `json:",omitempty"` // the same as a number of fragments of the mean size; 0: Buffer says it
	// After is how long after its first request an event is closed without the fragments that are missing; 0: never.
	After time.Duration `json:",omitempty"`
	// Builder is the buffer of a builder, for events that it has been assigned and that are not built; 0: no limit, or
	// as many as are in flight where builders get events by their free buffers.
	Builder unit.Bytes `json:",omitempty"`
	// Build is how long a builder works on an event on average, one after the other, once it is complete; Varies how
	// that varies; Slow are positions of builders that take twice as long.
	Build  time.Duration `json:",omitempty"`
	Varies Variation     `json:",omitzero"`
	Slow   []int         `json:",omitempty"`
	// GoesOn: the case goes on without servers that are lost.
	GoesOn bool `json:",omitempty"`
}

// defaultBuffer is the buffer of a source, unless a scenario says otherwise: that of a readout card with some
// milliseconds of data, which holds 64 fragments of 1 MiB.
const defaultBuffer = 64 * unit.Bytes(1<<20)

// Room returns how many fragments of a mean size in bytes the buffer of a source holds.
func (l Load) Room(fragment int) uint64 {
	return cmp.Or(l.Held, uint64(cmp.Or(l.Buffer, defaultBuffer))/uint64(max(1, fragment)))
}

// ParseBuffer reads the buffer of a source: bytes, "64MiB", or as many fragments of the mean size, "40 fragments", which
// is as long in time at any link rate where fragments are given by the length of a phase.
func ParseBuffer(text string) (bytes unit.Bytes, held uint64, err error) {
	if count, ok := strings.CutSuffix(text, "fragments"); ok {
		held, err = strconv.ParseUint(strings.TrimSpace(count), 10, 40)
		if err != nil || held == 0 {
			return 0, 0, fmt.Errorf("%q: write bytes, such as 64MiB, or a number of fragments, such as 40 fragments", text)
		}
		return 0, held, nil
	}
	bytes, err = unit.ParseBytes(text)
	return bytes, 0, err
}

// Builds is how long the builder at a position works on an event, a pure function of these and the seed: Build on
// average. It allocates nothing.
func (l Load) Builds(server int, event, seed uint64) time.Duration {
	mean := float64(l.Build)
	if slices.Contains(l.Slow, server) {
		mean *= 2
	}
	if l.Varies.Kind == "" {
		return time.Duration(mean)
	}
	var of rand.PCG
	of.Seed(seed, event)
	return time.Duration(mean * min(most, l.Varies.Of(of.Uint64())))
}

// Uniform, Exponential and LogNormal are the distributions of what varies about a mean.
const (
	Uniform     = "uniform"     // in mean·(1±Spread)
	Exponential = "exponential" // of the mean
	LogNormal   = "log-normal"  // of the mean, the logarithm has the standard deviation Sigma
)

// A Variation is how something varies about its mean; the zero Variation does not.
type Variation struct {
	Kind   string  `json:",omitempty"`
	Spread float64 `json:",omitempty"` // of Uniform, 0..1
	Sigma  float64 `json:",omitempty"` // of LogNormal
}

// most bounds how long work takes, over the mean.
const most = 16

// Of turns 53 bits of a hash into a number of mean 1, by the inverse of the distribution.
func (v Variation) Of(hash uint64) float64 {
	u := (float64(hash>>11) + 0.5) / (1 << 53)
	switch v.Kind {
	case Exponential:
		return -math.Log1p(-u)
	case LogNormal:
		return math.Exp(float64(v.Sigma*math.Sqrt2)*math.Erfinv(2*u-1) - float64(v.Sigma*v.Sigma)/2)
	}
	return 1 + v.Spread*(2*u-1)
}

// On reports whether there is a clock.
func (l Load) On() bool { return l.Rate > 0 || l.Share > 0 }

// String writes a load as scenarios do: "12.5 kHz, poisson", "80 %".
func (l Load) String() string {
	text := RateText(l.Rate)
	if l.Share > 0 {
		text = fmt.Sprintf("%.4g %%", 100*l.Share)
	}
	if l.Arrival != Periodic {
		text += ", " + l.Arrival
	}
	return text
}

// RateText writes a rate of events: "12.5 kHz".
func RateText(rate float64) string {
	for _, u := range [...]struct {
		of   float64
		name string
	}{{1e6, "MHz"}, {1e3, "kHz"}} {
		if rate >= u.of {
			return fmt.Sprintf("%.4g %s", rate/u.of, u.name)
		}
	}
	return fmt.Sprintf("%.4g Hz", rate)
}

// mostRate is the highest number in a rate: clocks count in ns.
const mostRate = 1e9

// ParseRate reads a rate of events, "10kHz", or a share of what the network carries, "80%".
func ParseRate(text string) (rate, share float64, err error) {
	digits := strings.TrimRight(text, "%kMHz ")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(x > 0) || x > mostRate {
		return 0, 0, fmt.Errorf("%q: write events per second, such as 200Hz or 10kHz, or a share of what the network carries, such as 80%%", text)
	}
	switch strings.TrimSpace(text[len(digits):]) {
	case "%":
		return 0, x / 100, nil
	case "Hz":
		return x, 0, nil
	case "kHz":
		return x * 1e3, 0, nil
	case "MHz":
		return x * 1e6, 0, nil
	}
	return 0, 0, fmt.Errorf("%q: the unit must be Hz, kHz, MHz or %%", text)
}

// A Clock says when events happen. The same load and seed make the same clock.
type Clock struct {
	load   Load
	random *rand.Rand
	n      uint64
	at     float64 // s
}

// NewClock returns the clock of a load whose Rate is known.
func NewClock(l Load, seed uint64) *Clock {
	return &Clock{load: l, random: rand.New(rand.NewPCG(seed, 0))}
}

// Next returns when the next event happens, never before the last one. Of a periodic clock event i happens at
// (i+1)/rate, without drift; of a trace the first happens at 0.
func (c *Clock) Next() time.Duration {
	c.n++
	switch c.load.Arrival {
	case Traced:
		n := uint64(len(c.load.Times))
		i := c.n - 1
		begins := float64(i-i%n) / c.load.Rate * float64(time.Second)
		if begins >= 1<<62 { // beyond all cases
			return math.MaxInt64
		}
		return time.Duration(begins) + c.load.Times[i%n]
	case Poisson:
		c.at += c.random.ExpFloat64() / c.load.Rate
	case Bursts:
		burst := uint64(max(1, c.load.Burst))
		c.at = float64((c.n-1)/burst+1) * float64(burst) / c.load.Rate
	default:
		c.at = float64(c.n) / c.load.Rate
	}
	return time.Duration(c.at * float64(time.Second))
}
