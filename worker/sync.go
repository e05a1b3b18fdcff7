package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// synchronised runs the schedule phase by phase: it sends one fragment, receives one, then waits at
// the barrier.
type synchronised struct {
	*loop
	gate *gate

	phase   int  // current; -1 between exchanges
	waiting bool // in the barrier
	ops     [2]transport.Op
	sending *transport.Op // of the current phase, or nil
	taking  *transport.Op
	out, in [transport.HeadSize]byte

	began   time.Duration // first send of the exchange
	started bool
	arrived time.Duration // last receive of the exchange
}

func newSynchronised(l *loop) (*synchronised, error) {
	g, err := newGate(l.c, &l.conns)
	if err != nil {
		return nil, err
	}
	return &synchronised{loop: l, gate: g, phase: -1}, nil
}

func (s *synchronised) run(ctx context.Context) error {
	for {
		granted, err := s.wait(ctx)
		if err != nil || !granted {
			return err
		}
		if err := s.exchange(ctx); err != nil {
			if errors.Is(context.Cause(ctx), errStuck) && s.lacks() {
				s.fragments.asm.Abandon(s.id(s.done))
			}
			return err
		}
	}
}

// lacks reports whether the current phase waits for a fragment.
func (s *synchronised) lacks() bool {
	return !s.waiting && s.taking != nil && s.taking.N == 0 && s.taking.Done.IsZero() // an empty fragment has no bytes
}

// wait returns true when the next exchange may run, and false at the end of the case or of its
// synchronised part.
func (s *synchronised) wait(ctx context.Context) (bool, error) {
	for {
		if err := s.take(ctx); err != nil {
			return false, err
		}
		over := s.plans.at(s.done).mode != modes.Sync
		if !over && s.mailbox.begin(s.done) {
			s.meter.busy.Store(true)
			return true, nil
		}
		s.meter.busy.Store(false)
		s.report.hurry()
		if over || s.finish {
			return false, nil
		}
		select {
		case <-s.mailbox.bell:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (s *synchronised) exchange(ctx context.Context) error {
	p, id := s.plans.at(s.done), s.id(s.done)
	s.started = false
	slot := 0
	if s.builds {
		var err error
		began := s.now()
		if slot, err = s.fragments.begin(began, id, p.epoch); err != nil {
			return err
		}
		s.ages.begun(id, began)
	}
	if !s.reads {
		s.stampSend() // a builder without reads counts as sending in the first phase
	}
	for i := range p.row {
		s.phase = i
		if err := s.transfer(ctx, p, slot); err != nil {
			return fmt.Errorf("exchange %d: phase %d: %w", s.done, i, err)
		}
		if err := s.barrier(ctx); err != nil {
			return fmt.Errorf("exchange %d: phase %d: barrier: %w", s.done, i, err)
		}
		s.upkeep()
	}
	s.phase = -1
	s.close(id)
	return nil
}

func (s *synchronised) transfer(ctx context.Context, p *plan, slot int) error {
	step := &p.row[s.phase]
	n := 0
	s.sending, s.taking = nil, nil
	if step.From != wire.Idle {
		s.taking = &s.ops[n]
		body, drop := s.fragments.buffer(slot, step.From)
		*s.taking = transport.Op{
			Kind: transport.Recv, Peer: step.From, Path: step.FromSpine, Head: s.in[:], Body: body, Drop: drop,
		}
		n++
	}
	if step.To != wire.Idle {
		s.sending = &s.ops[n]
		// The event is the receiver's: each builder builds one event in an exchange.
		theirs := s.roles.Event(s.done, step.To)
		body := s.fragments.outgoing(s.out[:], p.epoch, theirs, step.To)
		*s.sending = transport.Op{Kind: transport.Send, Peer: step.To, Path: step.ToSpine, Head: s.out[:], Body: body}
		n++
		s.stampSend()
	}
	if n == 0 {
		return nil
	}
	begun := s.now()
	if s.taking != nil {
		s.fragments.sources.await(s.taking.Peer, begun)
	}
	if err := s.ep.Exchange(ctx, s.ops[:n]); err != nil {
		return err
	}
	now := s.now()
	add(&s.meter.moves, 1)
	if s.sending != nil {
		s.gone(now, len(s.sending.Body))
		if !s.builds {
			s.arrived = now
		}
		s.trace.add(results.SpanSend, begun, now, place{s.done, s.phase, s.sending.Peer})
	}
	if s.taking != nil {
		return s.receive(ctx, begun, now)
	}
	return nil
}

func (s *synchronised) stampSend() {
	if s.started {
		return
	}
	s.started, s.began = true, s.now()
	s.tally.firstSend(s.began)
}

// receive judges the arrived fragment. After a stray or second copy it keeps receiving: the
// fragment of this phase is still to arrive on the same stream.
func (s *synchronised) receive(ctx context.Context, begun, now time.Duration) error {
	for {
		s.arrived = now
		op := s.taking
		switch _, v := s.fragments.arrived(now, op); v {
		case builder.Accepted, builder.Complete, builder.Corrupt, builder.WrongEpoch:
			came := s.came(op, now)
			s.fragments.sources.came(op.Peer, came)
			if !op.Began.IsZero() {
				s.fragments.sources.began(op.Peer, op.Began.Sub(s.base)-begun)
			}
			s.trace.add(results.SpanReceive, begun, came, place{s.done, s.phase, op.Peer})
			return nil
		}
		s.ops[0] = *op
		s.ops[0].N, s.ops[0].Began, s.ops[0].Done = 0, time.Time{}, time.Time{}
		s.taking, s.sending = &s.ops[0], nil
		if err := s.ep.Exchange(ctx, s.ops[:1]); err != nil {
			return err
		}
		now = s.now()
	}
}

// came is when a receive was done. The phase may last longer, because of the fragment that this
// server sends to another peer.
func (s *synchronised) came(op *transport.Op, returned time.Duration) time.Duration {
	if op.Done.IsZero() {
		return returned
	}
	return op.Done.Sub(s.base)
}

func (s *synchronised) barrier(ctx context.Context) error {
	s.waiting = true
	t := s.now()
	if err := s.gate.wait(ctx); err != nil {
		return err
	}
	d := s.now() - t
	s.waiting = false
	s.trace.add(results.SpanBarrier, t, t+d, place{s.done, s.phase, -1})
	s.meter.barrierWait.Store(s.meter.barrierWait.Load() + int64(d))
	add(&s.meter.moves, 1)
	return nil
}

// close ends the exchange, with its event complete or lost.
func (s *synchronised) close(id uint64) {
	switch {
	case !s.builds:
	case s.fragments.asm.Slot(id) >= 0:
		s.fragments.asm.Abandon(id)
	default:
		s.tally.complete(s.done)
	}
	if s.started {
		s.tally.took(s.arrived - s.began)
		s.trace.add(results.SpanExchange, s.began, s.arrived, place{s.done, -1, -1})
	}
	s.advance()
}

func (s *synchronised) position(err error) wire.Position {
	at := wire.Position{Exchange: s.done, Phase: s.phase, Stage: wire.StageIdle, Peers: peersOf(err)}
	switch {
	case s.phase < 0:
		return at
	case s.waiting:
		at.Stage = wire.StageBarrier
		at.Peers = append(at.Peers, s.gate.awaited()...)
		return at
	}
	at.Stage = wire.StageExchange
	switch {
	case len(at.Peers) > 0:
	case s.lacks():
		at.Peers = []int{s.taking.Peer}
	case s.sending != nil:
		at.Peers = []int{s.sending.Peer}
	}
	return at
}
