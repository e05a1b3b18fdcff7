package controller

import (
	"cmp"
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

// errLater is why a server is not admitted now.
var errLater = errors.New("not before its time")

// Lose ends the connection to a server, as if it had died, until Admit. A server that has not joined stays away.
func (c *Controller) Lose(server int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.banned[server] = true
	c.hangUp(server)
}

// Admit lets a server join again.
func (c *Controller) Admit(server int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.banned, server)
}

// hangUp takes a server off the list and ends its connection; c.mu is held.
func (c *Controller) hangUp(server int) {
	if m := c.members[server]; m != nil {
		c.leave(m)
		m.hangUp(io.ErrClosedPipe)
	}
}

// lost are the ranks without which a case goes on, that of a machine which has failed: they have not answered the abort.
// Connections to those that stand still are closed: such a server joins anew, or not at all.
func (c *Controller) lost(m *machine) (ranks []int) {
	if !errors.Is(m.err, errFailed) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for rank := range m.workers {
		if w := &m.workers[rank]; w.totals == nil {
			ranks = append(ranks, rank)
			if !w.lost {
				c.hangUp(w.server)
			}
		}
	}
	return ranks
}

// present gives the peers of a case the addresses at which they have joined, and returns the ranks of those that have
// not.
func (c *Controller) present(cs *Case) (gone []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cs.Peers = slices.Clone(cs.Peers)
	for rank, p := range cs.Peers {
		if cs.Peers[rank] = c.addressed(p); c.members[p.Server] == nil {
			gone = append(gone, rank)
		}
	}
	return gone
}

// runParts takes a case that goes on when servers are lost through as many parts as it needs: a part ends when one is
// lost, and the next has those that are left; it ends, too, with the events that have happened, when one has joined again,
// which the next has. One clock runs through all of them.
func (c *Controller) runParts(ctx context.Context, cs Case) (Outcome, error) {
	var (
		o      = Outcome{Servers: make([]Server, len(cs.Peers))}
		before *earlier
	)
	for rank, p := range cs.Peers {
		o.Servers[rank] = Server{Server: p.Server, Rank: rank}
	}
	for {
		gone := c.present(&cs)
		ranks := slices.DeleteFunc(indexes(len(cs.Peers)), func(rank int) bool { return slices.Contains(gone, rank) })
		part := cs.only(ranks)
		if before != nil {
			part.Warmup, part.OnMeasure = 0, nil
		}
		o.went(positions(cs.Peers, gone), before.ends())
		if err := cmp.Or(part.validate(), part.Roles().Check()); err != nil {
			o.Complete = false
			return o, fmt.Errorf("case %q: %w: %w", cs.Name, notConnected(positions(cs.Peers, gone)), err)
		}
		first := before.next()
		m, now, err := c.runPart(ctx, part, before, positions(cs.Peers, gone))
		if m == nil && errors.Is(err, errAway) { // since we looked
			continue
		}
		if m == nil {
			return o, err
		}
		lost := c.lost(m)
		goesOn := m.err == nil && m.parting || len(lost) > 0 || m.stoodStill() && now.Events > 0
		if goesOn && m.loading == nil { // nothing counts yet
			continue
		}
		if m.loading != nil {
			o.came(m.servers(indexes(len(m.workers))), m.shift, first)
		}
		if goesOn {
			c.log.Info("the case goes on", "case", cs.Name, "without", err)
			before = m.settle(&now, lost)
			o.went(m.servers(lost), before.ended)
			goesOn, err = !before.trigger.Over() || before.trigger.Due() > 0, nil
		}
		if o.join(now, ranks, m.shift); !goesOn {
			return o, err
		}
	}
}

// went notes that the case goes on without servers, since a time of its clock.
func (o *Outcome) went(servers []int, at time.Duration) {
	for _, server := range servers {
		if !slices.ContainsFunc(o.Away, func(a Away) bool { return a.Server == server && !a.Back }) {
			o.Away = append(o.Away, Away{Server: server, From: at})
		}
	}
}

// came notes that servers take part, from an event on.
func (o *Outcome) came(servers []int, at time.Duration, event uint64) {
	for i, a := range o.Away {
		if !a.Back && slices.Contains(servers, a.Server) {
			o.Away[i].Back, o.Away[i].To, o.Away[i].Event = true, at, event
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
	began   time.Time     // of the clock; its monotonic reading, as clocks of machines are set meanwhile
	ended   time.Duration // that the last part did, of the clock
	offered *Offered
}

func (e *earlier) ends() time.Duration {
	if e == nil {
		return 0
	}
	return e.ended
}

// next is the first event of the next part.
func (e *earlier) next() uint64 {
	if e == nil {
		return 0
	}
	return e.trigger.Accepted - e.trigger.Waiting()
}

// stoodStill reports whether a case failed since a server, or all, stood still, and did not end.
func (m *machine) stoodStill() bool {
	return errors.Is(m.err, errFailed) && len(m.failed) > 0 && m.workers[m.failed[0]].stuck
}

// settle ends a part, in which ranks may have been lost. Events that need one of them are closed: those that it builds and, if it
// sends fragments, all that have happened, as its buffer is gone: each lacks those lost that send, and its builder. The
// others are built in the next part, from the buffers of their sources. What a lost server has built is known from its own
// reports.
func (m *machine) settle(o *Outcome, lost []int) *earlier {
	o.Assigned, o.Lost, o.Unfinished, o.Complete = o.Built, m.gaveUp(), 0, true
	l := m.loading
	reads := slices.ContainsFunc(lost, m.roles.Reads)
	var again []time.Duration
	whole, closed, lacks := l.built, l.closed, make([]uint64, len(m.workers))
	lack := func(builder int, events uint64) {
		closed += events
		for _, rank := range lost {
			if rank == builder || m.roles.Reads(rank) {
				lacks[rank] += events
			}
		}
	}
	for i, at := range l.out {
		switch rank, f := m.fateOf(l.first + uint64(i)); {
		case f == built:
			whole++
		case f == gaveUp:
			closed++
		case reads || slices.Contains(lost, rank):
			lack(rank, 1)
		default:
			again = append(again, at)
		}
	}
	lack(wire.Idle, l.trigger.Resume(again, reads))
	o.Offered.Closed = closed
	if l.earlier != nil {
		o.Offered.Closed += l.earlier.offered.Closed
	}
	more := whole - min(whole, o.Events) // than the others built
	for _, rank := range lost {
		w, s := &m.workers[rank], &o.Servers[rank]
		if w.builds {
			n := min(more, w.done-min(w.done, m.c.Warmup))
			s.Events, more = s.Events+n, more-n
		}
		if lacks[rank] > 0 {
			o.Offered.Absent[s.Server] += lacks[rank]
		}
	}
	o.Events, o.Exchanges = whole, whole/l.events
	ended := m.since
	if len(m.failed) > 0 {
		ended = m.first
	}
	return &earlier{trigger: l.trigger, began: m.zero.Add(l.began), ended: ended - l.began, offered: o.Offered}
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
