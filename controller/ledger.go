package controller

import "evbench/internal/wire"

// A ledger holds what became of every event that was assigned: ids count from
// 0, and each must be closed once, by the rank that it was given to. It costs
// four bytes an event.
type ledger struct {
	fate []fate // by id
	open int    // assigned and not closed
	sum  check
}

// A fate is the rank that an event is with, or how it was closed.
type fate int32

const (
	built  fate = -1
	gaveUp fate = -2
)

// A check is how the events that workers report compare with those assigned.
type check struct {
	assigned  uint64
	built     uint64
	lost      uint64 // assigned, and never built
	duplicate uint64 // reported a second time
	unknown   uint64 // reported by a server that was not assigned it
}

func (l *ledger) assign(rank int) uint64 {
	l.open++
	l.fate = append(l.fate, fate(rank))
	return uint64(len(l.fate) - 1)
}

func (l *ledger) close(rank int, id uint64, how fate) {
	switch {
	case id >= uint64(len(l.fate)):
		l.sum.unknown++
	case l.fate[id] < 0:
		l.sum.duplicate++
	case l.fate[id] != fate(rank):
		l.sum.unknown++
	default:
		l.open--
		l.fate[id] = how
	}
}

// check returns the balance; what is still out counts as lost.
func (l *ledger) check() check {
	c := l.sum
	c.assigned = uint64(len(l.fate))
	for _, f := range l.fate {
		if f == built {
			c.built++
		}
	}
	c.lost = c.assigned - c.built
	return c
}

// checkRanges does the same for one server of a scheduled mode, whose events
// are those of the exchanges below granted.
func checkRanges(done []wire.Range, granted uint64) check {
	c := check{assigned: granted}
	next := uint64(0) // below it everything has been seen
	for _, r := range done {
		if r.From >= r.To {
			continue
		}
		if r.From < next {
			c.duplicate += min(r.To, next) - r.From
			r.From = min(r.To, next)
		}
		if r.To > granted {
			c.unknown += r.To - max(r.From, granted)
			r.To = max(r.From, granted)
		}
		c.built += r.To - r.From
		next = max(next, r.To)
	}
	c.lost = granted - min(granted, c.built)
	return c
}

func (c *check) add(d check) {
	c.assigned += d.assigned
	c.built += d.built
	c.lost += d.lost
	c.duplicate += d.duplicate
	c.unknown += d.unknown
}
