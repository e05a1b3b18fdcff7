package controller

import (
	"errors"
	"fmt"
	"time"

	"evbench/controller/wire"
	"evbench/results"
)

// Durations are how long the exchanges of a case took, in order: from the completion of one event
// of a server to the completion of its next (for the first: from its first send), the mean over
// servers.
type Durations struct {
	// Stride is how many exchanges an entry covers, a power of two; the last entry may cover fewer.
	// 0: no entries.
	Stride    int
	Exchanges uint64    // covered by all entries
	Sec       []float64 // each over all exchanges of the entry
}

func (d Durations) Times() []results.ExchangeTime {
	var out []results.ExchangeTime
	first := uint64(0)
	for _, sec := range d.Sec {
		n := min(uint64(d.Stride), d.Exchanges-first)
		out = append(out, results.ExchangeTime{Exchange: first, Exchanges: int(n), DurationSec: sec})
		first += n
	}
	return out
}

// maxStride bounds the exchanges of an entry; no case has so many.
const maxStride = 1 << 40

func checkTook(t wire.Took) error {
	n := len(t.Durations)
	switch {
	case n == 0 && t.Events == 0 && t.Stride == 0:
		return nil
	case n == 0 || n > wire.MaxTook:
		return fmt.Errorf("durations: %d entries, must be 1..%d", n, wire.MaxTook)
	case t.Stride < 1 || t.Stride > maxStride || t.Stride&(t.Stride-1) != 0:
		return fmt.Errorf("durations: stride %d, must be a power of two", t.Stride)
	case (t.Events+uint64(t.Stride)-1)/uint64(t.Stride) != uint64(n):
		return fmt.Errorf("durations: %d entries of %d for %d events", n, t.Stride, t.Events)
	}
	for _, d := range t.Durations {
		if d < 0 {
			return errors.New("durations: one is negative")
		}
	}
	return nil
}

// meanTook returns the mean over servers, for the exchanges that all servers have done: after an
// early end servers differ.
func meanTook(all []wire.Took) Durations {
	if len(all) == 0 {
		return Durations{}
	}
	d := Durations{Exchanges: all[0].Events}
	equal := true
	for _, t := range all {
		equal = equal && t.Events == d.Exchanges
		d.Stride, d.Exchanges = max(d.Stride, t.Stride), min(d.Exchanges, t.Events)
	}
	if !equal { // the last entry of some servers may be partial
		d.Exchanges -= d.Exchanges % uint64(d.Stride)
	}
	if d.Exchanges == 0 {
		return Durations{}
	}
	d.Sec = make([]float64, (d.Exchanges-1)/uint64(d.Stride)+1)
	for _, t := range all {
		addTook(d.Sec, t.Durations, d.Stride/t.Stride)
	}
	for i := range d.Sec {
		d.Sec[i] /= float64(len(all))
	}
	return d
}

// addTook adds each group of each durations to an entry of sec, as far as there are entries.
func addTook(sec []float64, took []time.Duration, each int) {
	for i := range took {
		if i/each == len(sec) {
			return
		}
		sec[i/each] += took[i].Seconds()
	}
}
