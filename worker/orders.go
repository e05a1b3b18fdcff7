package worker

import (
	"sync"
	"sync/atomic"

	"evbench/builder/load"
	"evbench/controller/wire"
	"evbench/transport"
)

type orders struct {
	until   uint64 // exchanges below it may run
	granted bool   // until has changed
	measure bool
	first   uint64 // first counted event, with measure
	finish  bool
	updates []update
	windows []wire.Window
	events  []uint64
	due     []happened // of granted or assigned events
	gaps    []load.Gap
}

// onlyEvents reports whether the orders are only events. A loop that has other events need not
// hurry for them.
func (o *orders) onlyEvents() bool {
	return !o.granted && !o.measure && !o.finish && len(o.updates)+len(o.windows) == 0
}

// An update is a pending plan. told: the controller knows that this worker has it.
type update struct {
	wire.PlanUpdate
	told bool
}

// A mailbox hands orders from the control connection to the loop. While there are no orders, the
// loop reads only one atomic word.
type mailbox struct {
	fresh atomic.Bool
	fed   atomic.Bool   // the loop needs no events, see expects
	bell  chan struct{} // holds one ring

	mu    sync.Mutex
	o     orders
	until uint64                        // granted
	begun uint64                        // exchanges below it have begun here
	wake  func()                        // interrupts the loop where it waits for the network; may be nil
	hurry func()                        // makes the reporter report at once; may be nil
	open  func(ops []transport.Op) bool // reports whether the connections of a plan are open; may be nil
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

func (d *mailbox) change(f func(*orders)) {
	d.mu.Lock()
	f(&d.o)
	wake := d.wake
	d.fresh.Store(true) // before fed is read, see expects
	if d.fed.Load() && d.o.onlyEvents() {
		wake = nil
	}
	d.mu.Unlock()
	transport.Ring(d.bell)
	if wake != nil {
		wake()
	}
}

// grant lets exchanges below until begin, whose events have happened.
func (d *mailbox) grant(until uint64, gaps []load.Gap, due ...happened) {
	d.change(func(o *orders) {
		d.until, o.granted, o.due, o.gaps = until, true, append(o.due, due...), append(o.gaps, gaps...)
	})
}

func (d *mailbox) hold() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = min(d.until, d.begun)
	if d.hurry != nil {
		d.hurry()
	}
	return d.begun
}

// begin reports whether an exchange may begin, and records it. With orders pending it may not: one
// may be a new plan for it.
func (d *mailbox) begin(exchange uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fresh.Load() || exchange >= d.until {
		return false
	}
	d.begun = max(d.begun, exchange+1)
	return true
}

// attach sets the callbacks with which the mailbox answers for the loop.
func (d *mailbox) attach(hurry func(), open func([]transport.Op) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hurry, d.open = hurry, open
}

func (d *mailbox) ready(ops []transport.Op) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open != nil && d.open(ops)
}

// expects is called by a loop that is about to wait for the network. Without events, the mailbox
// does not wake the loop for events. expects returns whether orders are pending already.
func (d *mailbox) expects(events bool) bool {
	d.fed.Store(!events)
	return d.fresh.Load()
}

// onChange sets the function that interrupts the loop.
func (d *mailbox) onChange(wake func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wake = wake
}

// take returns pending orders, if any. Events move out with the orders; the mailbox keeps buf for
// the next events.
func (d *mailbox) take(buf []uint64) (o orders, news bool) {
	if !d.fresh.Load() {
		return orders{}, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fresh.Store(false)
	o = d.o
	o.until = d.until
	d.o = orders{events: buf[:0]}
	return o, true
}
