package controller

import (
	"math"
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
)

// A Server is what one server reported of a case.
type Server struct {
	Server, Rank int
	Reported     bool // false: Totals are empty
	wire.Totals
}

// An Outcome is the result of a case.
type Outcome struct {
	// Complete says that every worker ran to the end. Otherwise the Outcome has the results until
	// then.
	Complete bool
	Servers  []Server // by rank
	Samples  int

	// Exchanges is the number counted. In an unsynchronised part of a synchronised case, one event
	// of each builder is an exchange; 0 in a case that is never synchronised.
	Exchanges uint64
	Events    uint64 // counted and complete, over all servers

	// Span is the longest time over servers from the first counted send to the last counted
	// receive, each by its own clock.
	Span time.Duration

	// Assigned, Built, Lost, Duplicate and Unknown compare the reported events with the assigned
	// ones, warm-up included: all is well when Built equals Assigned and the rest is 0. A server
	// reported Unknown events without having been assigned them. Unfinished events were under way,
	// or not begun, when a case ended early.
	Assigned, Built, Lost, Duplicate, Unknown, Unfinished uint64

	// Damaged or misplaced fragments, over all servers.
	LateFragments, DuplicateFragments, CorruptFragments, StrayFragments uint64

	// Took is how long the exchanges took that all servers have done and reported.
	Took Durations
	// Loads are the loads of machines in the counted part: one of each worker that reported one, in
	// the order of ranks.
	Loads []results.Load

	BarrierWait time.Duration // mean over servers
	Tokens      uint64        // counted, over all servers
	Retransmits uint64
	Offered     *Offered // by a clock; nil without a load
	Away        []Away   // where the case goes on without lost servers
	IO          string   // how the transport moved payload; "": it has one way only, or the case did not begin
}

func (m *machine) outcome() Outcome {
	o := Outcome{Complete: m.err == nil, Exchanges: math.MaxUint64, Samples: m.samples, IO: m.workers[0].io}
	c, granted := m.ledger.check(), m.granted
	if m.section.mode != modes.Unsync {
		granted = append(granted, wire.Range{From: m.section.from, To: m.pace.until})
	}
	var took []wire.Took
	for rank := range m.workers {
		w := &m.workers[rank]
		s := Server{Server: w.server, Rank: rank, Reported: w.totals != nil}
		if s.Reported {
			s.Totals = *w.totals
		}
		if w.builds {
			if s.Reported {
				took = append(took, s.Took)
			}
			c.add(checkRanges(s.Done, granted))
			o.Exchanges = min(o.Exchanges, s.Exchanges) // of an interrupted case: exchanges that all have done
		}
		o.Servers = append(o.Servers, s)
		o.add(s)
	}
	o.Took, o.Offered = meanTook(took), m.offered()
	o.BarrierWait /= time.Duration(len(m.workers))
	o.Assigned, o.Built, o.Duplicate, o.Unknown = c.assigned, c.built, c.duplicate, c.unknown
	for i := range o.Servers {
		c.lost -= min(c.lost, o.Servers[i].Incomplete)
	}
	if o.Complete {
		o.Lost = c.lost
	} else {
		o.Lost = min(m.gaveUp(), c.lost)
		o.Unfinished = c.lost - o.Lost
	}
	return o
}

func (m *machine) gaveUp() (n uint64) {
	for i := range m.workers {
		if t := m.workers[i].totals; t != nil {
			n += t.Lost
		}
	}
	return n
}

func (o *Outcome) add(s Server) {
	if s.Load != nil {
		o.Loads = append(o.Loads, *s.Load)
	}
	o.Events += s.Events
	o.Span = max(o.Span, s.LastReceive-s.FirstSend)
	o.LateFragments += s.Late
	o.DuplicateFragments += s.Totals.Duplicate
	o.CorruptFragments += s.Corrupt
	o.StrayFragments += s.Stray
	o.BarrierWait += s.Totals.BarrierWait
	o.Retransmits += s.Totals.Retransmits
	o.Tokens += s.Totals.Tokens
}
