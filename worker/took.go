package worker

import (
	"time"

	"evbench/internal/wire"
)

// durations keeps how long each event took in a space of one size, without allocating. When
// it is full, neighbours are added up, and an entry stands for twice as many events from
// then on. So the sum stays exact, and the times stay in order.
type durations struct {
	entries [wire.MaxTook]time.Duration
	used    int    // entries
	shift   uint   // an entry stands for 1<<shift events,
	last    uint64 // the last one for so many
}

// add appends the time of the next event.
func (d *durations) add(t time.Duration) {
	if d.used == 0 || d.last == 1<<d.shift {
		if d.used == len(d.entries) {
			d.halve()
		}
		d.entries[d.used], d.last = 0, 0
		d.used++
	}
	d.entries[d.used-1] += t
	d.last++
}

// halve adds up neighbours. All entries stand for equally many events.
func (d *durations) halve() {
	d.used /= 2
	for i := range d.used {
		d.entries[i] = d.entries[2*i] + d.entries[2*i+1]
	}
	d.shift++
}

// took returns what is kept; nothing, if nothing was added.
func (d *durations) took() wire.Took {
	if d.used == 0 {
		return wire.Took{}
	}
	return wire.Took{
		Stride: 1 << d.shift, Events: uint64(d.used-1)<<d.shift + d.last,
		Durations: append([]time.Duration(nil), d.entries[:d.used]...),
	}
}
