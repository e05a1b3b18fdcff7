package worker

import (
	"sync"
	"sync/atomic"

	"evbench/internal/wire"
)

// Orders are what the controller has said and the loop has not taken up yet.
type orders struct {
	until   uint64 // exchanges below it may run
	measure bool
	first   uint64 // event that counts, with measure
	finish  bool
	update  *wire.PlanUpdate
	events  []uint64
}

// onlyEvents reports whether there is nothing but events, for which a loop that
// has others need not hurry.
func (o *orders) onlyEvents() bool {
	return o.until == 0 && !o.measure && !o.finish && o.update == nil
}

// A desk hands orders from the control connection to the loop. The loop looks
// at one atomic word while there is nothing new.
type desk struct {
	fresh atomic.Bool
	fed   atomic.Bool   // the loop needs no events, see expects
	bell  chan struct{} // holds one ring

	mu   sync.Mutex
	o    orders
	wake func() // interrupts the loop where it waits for the network; may be nil
}

func newDesk() *desk { return &desk{bell: make(chan struct{}, 1)} }

// change adds to the orders.
func (d *desk) change(f func(*orders)) {
	d.mu.Lock()
	f(&d.o)
	wake := d.wake
	d.fresh.Store(true) // before fed is looked at, see expects
	if d.fed.Load() && d.o.onlyEvents() {
		wake = nil
	}
	d.mu.Unlock()
	select {
	case d.bell <- struct{}{}:
	default:
	}
	if wake != nil {
		wake()
	}
}

// expects is called by a loop that is about to wait for the network, and says
// whether it needs events: if not, it is not woken for them. It returns whether
// there is something new already.
func (d *desk) expects(events bool) bool {
	d.fed.Store(!events)
	return d.fresh.Load()
}

// onChange sets what interrupts the loop.
func (d *desk) onChange(wake func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wake = wake
}

// take returns what is new; events are moved into buf, which the desk then
// keeps for the next ones.
func (d *desk) take(buf []uint64) orders {
	if !d.fresh.Load() {
		return orders{events: buf[:0]}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh.Store(false)
	o := d.o
	d.o = orders{events: buf[:0]}
	return o
}
