package builder

import (
	"errors"
	"fmt"
	"time"
)

// What the receiver does with a fragment's payload, and how much of it is checked.
const (
	DeliverBuffer  = "buffer"
	DeliverDiscard = "discard"
	CheckHeader    = "header"
	CheckPayload   = "payload"
)

// MayCheck returns an error if payload cannot be checked in that way with inFlight events at a
// time: discarded payload of all events shares one place.
func MayCheck(deliver, check string, inFlight int) error {
	if deliver == DeliverDiscard && check == CheckPayload && inFlight > 1 {
		return errors.New("check: payload needs deliver: buffer when several events are in flight")
	}
	return nil
}

// A Verdict is an Assembler's judgement of one arrival.
type Verdict uint8

// The verdicts. Only the first two change an event.
const (
	Accepted    Verdict = iota // good; the event waits for more fragments
	Complete                   // good; it was the last fragment
	Corrupt                    // header or payload differs from what was sent
	Duplicate                  // this fragment had arrived before
	Late                       // its event was abandoned
	WrongEvent                 // its event was not begun here
	WrongSource                // no such source
	WrongDest                  // for another server
	WrongEpoch                 // sent under another plan than its event's
	verdicts
)

func (v Verdict) String() string {
	return [...]string{"accepted", "complete", "corrupt", "duplicate", "late", "wrong event",
		"wrong source", "wrong destination", "wrong epoch"}[v]
}

// Good reports whether the fragment became part of its event.
func (v Verdict) Good() bool { return v <= Complete }

// Errors of Begin.
var (
	ErrBegun = errors.New("event begun twice")
	ErrFull  = errors.New("too many events open")
)

// remembered is how many closed events an Assembler can still tell from unknown events.
const remembered = 256

type event struct {
	id      uint64
	epoch   uint32
	open    bool
	missing int
	got     []uint64 // bit per source
	touched time.Duration
	turn    uint64 // of its beginning
}

type closed struct {
	id    uint64
	late  bool // abandoned, not complete
	valid bool
}

// An Assembler tracks the open events of one destination. Begin opens an event, Add takes one
// fragment from each source, and the last fragment or Abandon closes the event. It allocates
// nothing after NewAssembler and is not safe for concurrent use. Calls cost O(open events), Missing
// O(sources).
type Assembler struct {
	rank    int
	roles   Roles
	events  []event
	begun   uint64
	newest  []uint64 // by source: the latest beginning of an event that has its fragment
	old     [remembered]closed
	nextOld int
	counts  [verdicts]uint64
	lost    uint64
}

// NewAssembler returns an Assembler for the server of the given rank. An event has one fragment
// from each reader, and at most open events are under way at once.
func NewAssembler(rank int, roles Roles, open int) *Assembler {
	a := &Assembler{rank: rank, roles: roles, events: make([]event, open), newest: make([]uint64, roles.Servers)}
	for i := range a.events {
		a.events[i].got = make([]uint64, (roles.Servers+63)/64)
	}
	return a
}

// Begin opens an event and returns its slot, 0..open-1. The slot belongs to the event until it is
// closed, so the caller can keep buffers by slot.
func (a *Assembler) Begin(now time.Duration, id uint64, epoch uint32) (slot int, err error) {
	if a.find(id) >= 0 || a.recall(id) != nil {
		return 0, fmt.Errorf("event %d: %w", id, ErrBegun)
	}
	for i := range a.events {
		e := &a.events[i]
		if e.open {
			continue
		}
		clear(e.got)
		a.begun++
		*e = event{id: id, epoch: epoch, open: true, missing: a.roles.Sources(), got: e.got, touched: now, turn: a.begun}
		return i, nil
	}
	return 0, fmt.Errorf("event %d: %d open: %w", id, len(a.events), ErrFull)
}

// Slot returns the slot of an open event, or -1.
func (a *Assembler) Slot(id uint64) int { return a.find(id) }

// Add judges one fragment by its header. intact tells whether the payload is correct.
func (a *Assembler) Add(now time.Duration, h Header, intact bool) Verdict {
	v := a.judge(now, h, intact)
	a.counts[v]++
	return v
}

func (a *Assembler) judge(now time.Duration, h Header, intact bool) Verdict {
	switch {
	case h.Kind != Data:
		return Corrupt
	case int(h.Source) >= a.roles.Servers || !a.roles.Reads(int(h.Source)):
		return WrongSource
	case int(h.Dest) != a.rank:
		return WrongDest
	}
	i := a.find(h.Event)
	if i < 0 {
		return a.judgeClosed(h.Event)
	}
	e := &a.events[i]
	word, bit := h.Source/64, uint64(1)<<(h.Source%64)
	switch {
	case h.Epoch != e.epoch:
		return WrongEpoch
	case !intact:
		return Corrupt
	case e.got[word]&bit != 0:
		return Duplicate
	}
	e.got[word] |= bit
	e.missing--
	e.touched = now
	a.newest[h.Source] = max(a.newest[h.Source], e.turn)
	if e.missing > 0 {
		return Accepted
	}
	a.close(e, false)
	return Complete
}

func (a *Assembler) judgeClosed(id uint64) Verdict {
	switch c := a.recall(id); {
	case c == nil:
		return WrongEvent
	case c.late:
		return Late
	default:
		return Duplicate
	}
}

// Spoiled counts an arrival whose header was unreadable.
func (a *Assembler) Spoiled() { a.counts[Corrupt]++ }

// Abandon gives an open event up. Its later fragments are Late.
func (a *Assembler) Abandon(id uint64) {
	if i := a.find(id); i >= 0 {
		a.lost++
		a.close(&a.events[i], true)
	}
}

// Coming notes that bytes of a source arrive. They are progress of the open events that lack its
// fragment, but for those that a later event's fragment has overtaken.
func (a *Assembler) Coming(now time.Duration, source int) {
	for i := range a.events {
		if e := &a.events[i]; e.open && e.turn > a.newest[source] {
			e.touched = now
		}
	}
}

// Expire finds the open event that has gone longest without progress. If that is more than limit,
// Expire abandons the event and returns it.
func (a *Assembler) Expire(now, limit time.Duration) (id uint64, missing []int, expired bool) {
	oldest := -1
	for i := range a.events {
		e := &a.events[i]
		if e.open && now-e.touched > limit && (oldest < 0 || e.touched < a.events[oldest].touched) {
			oldest = i
		}
	}
	if oldest < 0 {
		return 0, nil, false
	}
	id = a.events[oldest].id
	missing = a.Missing(id)
	a.Abandon(id)
	return id, missing, true
}

// Missing returns the sources whose fragments an open event still lacks.
func (a *Assembler) Missing(id uint64) []int {
	i := a.find(id)
	if i < 0 {
		return nil
	}
	var out []int
	for s := range a.roles.Servers {
		if a.roles.Reads(s) && a.events[i].got[s/64]&(1<<(s%64)) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// Count returns how many arrivals were judged v.
func (a *Assembler) Count(v Verdict) uint64 { return a.counts[v] }

// Lost returns how many events were abandoned.
func (a *Assembler) Lost() uint64 { return a.lost }

func (a *Assembler) find(id uint64) int {
	for i := range a.events {
		if a.events[i].open && a.events[i].id == id {
			return i
		}
	}
	return -1
}

func (a *Assembler) recall(id uint64) *closed {
	for i := range a.old {
		if a.old[i].valid && a.old[i].id == id {
			return &a.old[i]
		}
	}
	return nil
}

func (a *Assembler) close(e *event, late bool) {
	e.open = false
	a.old[a.nextOld] = closed{id: e.id, late: late, valid: true}
	a.nextOld = (a.nextOld + 1) % remembered
}
