package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller/wire"
)

// Lose ends the connection to a server, whose worker ends: as if it had died. A server that has not joined stays away.
func (c *Controller) Lose(server int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[server]; m != nil {
		m.hangUp(io.ErrClosedPipe)
	}
}

// away are the ranks of a case whose servers are not connected.
func (c *Controller) away(cs Case) (gone []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rank, p := range cs.Peers {
		if c.members[p.Server] == nil {
			gone = append(gone, rank)
		}
	}
	return gone
}

// runParts takes a case that goes on when servers are lost through as many parts as it needs: a part ends when one is
// lost, and the next has those that are left. One clock runs through all of them.
func (c *Controller) runParts(ctx context.Context, cs Case) (Outcome, error) {
	var (
		o       = Outcome{Servers: make([]Server, len(cs.Peers))}
		part    = cs
		earlier *earlier
		err     error
	)
	for rank, p := range cs.Peers {
		o.Servers[rank] = Server{Server: p.Server, Rank: rank}
	}
	for {
		gone := c.away(cs)
		ranks := slices.DeleteFunc(indexes(len(cs.Peers)), func(rank int) bool { return slices.Contains(gone, rank) })
		if part = cs.only(ranks); earlier != nil {
			part.Warmup, part.OnMeasure = 0, nil
		}
		if err = part.validate(); err == nil {
			err = part.Roles().Check()
		}
		if err != nil {
			return o, fmt.Errorf("case %q: %w: %w", cs.Name, notConnected(positions(cs.Peers, gone)), err)
		}
		var m *machine
		var now Outcome
		if m, now, err = c.runPart(ctx, part, earlier); m == nil {
			return o, err
		}
		lost := m.ranks(func(_ int, w *worker) bool { return w.lost && w.totals == nil })
		over := !errors.Is(m.err, errFailed) || len(lost) == 0
		if !over && m.loading == nil { // nothing counts yet
			continue
		}
		if !over {
			c.log.Info("the case goes on", "case", cs.Name, "without", err)
			earlier = m.settle(&now, lost)
			over, err = earlier.trigger.Over() && earlier.trigger.Due() == 0, nil
		}
		if o.join(now, ranks, m.shift); over {
			return o, err
		}
	}
}

func indexes(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func positions(peers []wire.Peer, ranks []int) (out []int) {
	for _, rank := range ranks {
		out = append(out, peers[rank].Server)
	}
	return out
}

// only is a case of some of its servers: the messages of the others are missing in its exchanges.
func (c Case) only(ranks []int) Case {
	if len(ranks) == len(c.Peers) {
		return c
	}
	place := make([]int, len(c.Peers))
	for i := range place {
		place[i] = wire.Idle
	}
	peers := make([]wire.Peer, len(ranks))
	for i, rank := range ranks {
		place[rank], peers[i] = i, c.Peers[rank]
	}
	roles := func(of []int) (out []int) {
		for _, rank := range of {
			if place[rank] != wire.Idle {
				out = append(out, place[rank])
			}
		}
		if of != nil && out == nil {
			return []int{}
		}
		return out
	}
	var rows [][]wire.Step
	for _, rank := range ranks[:min(len(ranks), len(c.Rows))] {
		row := slices.Clone(c.Rows[rank])
		for i, s := range row {
			if s.To != wire.Idle {
				row[i].To = place[s.To]
			}
			if s.From != wire.Idle {
				row[i].From = place[s.From]
			}
		}
		rows = append(rows, row)
	}
	c.Peers, c.Readers, c.Builders, c.Rows = peers, roles(c.Readers), roles(c.Builders), rows
	c.Standby, c.Pairs, c.Trace = nil, false, 0 // of all ranks
	return c
}

// earlier is what the parts of a case before this one leave to it.
type earlier struct {
	trigger *load.Trigger
	began   int64 // of the clock, in ns since 1970
	offered *Offered
}

// settle ends a part in which ranks were lost. Events that need one of them are closed: those that it builds and, if it
// sends fragments, all that have happened, as its buffer is gone. The others are built in the next part, from the buffers
// of their sources. What a lost server has built is known from its own reports.
func (m *machine) settle(o *Outcome, lost []int) *earlier {
	o.Assigned, o.Lost, o.Unfinished, o.Complete = o.Built, m.gaveUp(), 0, true
	l := m.loading
	reads, lacks := slices.ContainsFunc(lost, m.roles.Reads), m.workers[lost[0]].server
	var again []time.Duration
	whole, closed := l.built, l.closed
	for i, at := range l.out {
		switch rank, f := m.fateOf(l.first + uint64(i)); {
		case f == built:
			whole++
		case f == gaveUp:
			closed++
		case reads || slices.Contains(lost, rank):
			closed++
			o.Offered.Absent[lacks]++
		default:
			again = append(again, at)
		}
	}
	left := m.ranks(func(rank int, w *worker) bool { return w.builds && !slices.Contains(lost, rank) })
	dropped := l.trigger.Resume(uint64(len(left)), again, reads)
	o.Offered.Absent[lacks] += dropped
	o.Offered.Closed = closed + dropped
	if l.earlier != nil {
		o.Offered.Closed += l.earlier.offered.Closed
	}
	o.Servers[lost[0]].Events += whole - min(whole, o.Events)
	o.Events, o.Exchanges = whole, whole/l.events
	return &earlier{trigger: l.trigger, began: m.zero + int64(l.began), offered: o.Offered}
}

// fateOf is who builds an event of the counted part, counted from 0, and whether it is built.
func (m *machine) fateOf(i uint64) (rank int, f fate) {
	if m.section.mode == modes.Unsync {
		f = *m.ledger.find(m.loading.id + i)
		return int(f), f
	}
	rank = m.roles.Builder(int(i % m.loading.events))
	w := &m.workers[rank]
	done := w.done - min(w.done, m.c.Warmup)
	if w.totals != nil {
		done = w.totals.Events
	}
	if i/m.loading.events < done {
		return rank, built
	}
	return rank, fate(rank)
}

// forget lets go of the times of events that are built, before all others.
func (l *loading) forget(m *machine) {
	n := 0
	for ; n < len(l.out); n++ {
		_, f := m.fateOf(l.first + uint64(n))
		if f >= 0 {
			break
		}
		if f == built {
			l.built++
		} else {
			l.closed++
		}
	}
	l.out, l.first = l.out[n:], l.first+uint64(n)
}

// join adds the outcome of a part of some ranks, shift after the clock began.
func (o *Outcome) join(x Outcome, ranks []int, shift time.Duration) {
	o.Complete, o.IO, o.Offered = x.Complete, x.IO, x.Offered
	o.Samples, o.Exchanges, o.Events = o.Samples+x.Samples, o.Exchanges+x.Exchanges, o.Events+x.Events
	if x.Span > 0 {
		o.Span = max(o.Span, shift+x.Span)
	}
	o.Assigned, o.Built, o.Lost = o.Assigned+x.Assigned, o.Built+x.Built, o.Lost+x.Lost
	o.Duplicate, o.Unknown, o.Unfinished = o.Duplicate+x.Duplicate, o.Unknown+x.Unknown, o.Unfinished+x.Unfinished
	o.LateFragments, o.DuplicateFragments = o.LateFragments+x.LateFragments, o.DuplicateFragments+x.DuplicateFragments
	o.CorruptFragments, o.StrayFragments = o.CorruptFragments+x.CorruptFragments, o.StrayFragments+x.StrayFragments
	o.Took, o.Loads = x.Took, append(o.Loads, x.Loads...)
	o.BarrierWait, o.Tokens, o.Retransmits = o.BarrierWait+x.BarrierWait, o.Tokens+x.Tokens, o.Retransmits+x.Retransmits
	for i, s := range x.Servers {
		sum := &o.Servers[ranks[i]]
		sum.Reported = s.Reported
		sum.Events, sum.SentBytes, sum.ReceivedBytes = sum.Events+s.Events, sum.SentBytes+s.SentBytes, sum.ReceivedBytes+s.ReceivedBytes
		sum.EventBytes, sum.Totals.BarrierWait, sum.Load = sum.EventBytes+s.EventBytes, sum.Totals.BarrierWait+s.Totals.BarrierWait, s.Load
	}
}
