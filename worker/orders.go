package worker

import (
	"sync"
	"sync/atomic"

	"evbench/controller/wire"
	"evbench/transport"
)

type orders struct {
	until   uint64 // exchanges below it may run
	granted bool   // that is new
	measure bool
	first   uint64 // event that counts, with measure
	finish  bool
	updates []update
	windows []wire.Window
	events  []uint64
}

// onlyEvents reports whether there is nothing but events, for which a loop that
// has others need not hurry.
func (o *orders) onlyEvents() bool {
	return !o.granted && !o.measure && !o.finish && len(o.updates)+len(o.windows) == 0
}

// An update is a plan to come. told: the controller knows that this worker has it.
type update struct {
	wire.PlanUpdate
	told bool
}

// A mailbox hands orders from the control connection to the loop. The loop looks
// at one atomic word while there is nothing new.
type mailbox struct {
	fresh atomic.Bool
	fed   atomic.Bool   // the loop needs no events, see expects
	bell  chan struct{} // holds one ring

	mu    sync.Mutex
	o     orders
	until uint64                        // granted
	begun uint64                        // exchanges below it have begun
	wake  func()                        // interrupts the loop where it waits for the network; may be nil
	hurry func()                        // has it said at once what is done; may be nil
	open  func(ops []transport.Op) bool // what a plan needs is open; may be nil
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

func (d *mailbox) change(f func(*orders)) {
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

// grant lets exchanges below until begin.
func (d *mailbox) grant(until uint64) {
	d.change(func(o *orders) { d.until, o.granted = until, true })
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

// begin reports whether an exchange may begin, and notes that it does. While there is
// anything new, it may not: that might be another plan for it.
func (d *mailbox) begin(exchange uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fresh.Load() || exchange >= d.until {
		return false
	}
	d.begun = max(d.begun, exchange+1)
	return true
}

// attach tells the mailbox what it needs of the loop to answer for it.
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

// expects is called by a loop that is about to wait for the network, and says
// whether it needs events: if not, it is not woken for them. It returns whether
// there is something new already.
func (d *mailbox) expects(events bool) bool {
	d.fed.Store(!events)
	return d.fresh.Load()
}

// onChange sets what interrupts the loop.
func (d *mailbox) onChange(wake func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wake = wake
}

// take returns what is new, if anything is; events are moved into buf, which the mailbox
// then keeps for the next ones.
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
