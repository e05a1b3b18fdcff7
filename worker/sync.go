package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"evbench/builder"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// synchronised does the schedule phase by phase: send one fragment, receive
// one, then wait for everybody. It runs on an operating system thread of its
// own, so that a blocking endpoint is not moved about between phases.
type synchronised struct {
	*loop
	gate *gate

	phase   int  // under way; -1 between exchanges
	waiting bool // in the barrier
	ops     [2]transport.Op
	sending *transport.Op // of the phase under way, or nil
	taking  *transport.Op
	out, in [transport.HeadSize]byte

	began   time.Duration // first send of the exchange
	started bool
	arrived time.Duration // last receive of it
}

func newSynchronised(l *loop) (*synchronised, error) {
	g, err := newGate(l.c, &l.conns)
	if err != nil {
		return nil, err
	}
	return &synchronised{loop: l, gate: g, phase: -1}, nil
}

func (s *synchronised) run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
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

// lacks reports whether the phase under way waits for a fragment.
func (s *synchronised) lacks() bool {
	return !s.waiting && s.taking != nil && s.taking.N == 0 && s.taking.Done.IsZero() // an empty one has no bytes
}

// wait returns true when the next exchange may run and false at the end, be it of the case
// or of the part of it that is synchronised.
func (s *synchronised) wait(ctx context.Context) (bool, error) {
	for {
		if err := s.take(ctx); err != nil {
			return false, err
		}
		over := s.plans.at(s.done).mode != wire.Sync
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
	slot, err := s.fragments.begin(s.now(), id, p.epoch)
	if err != nil {
		return err
	}
	for i := range p.row {
		s.phase = i
		if err := s.transfer(ctx, p, id, slot); err != nil {
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

func (s *synchronised) transfer(ctx context.Context, p *plan, id uint64, slot int) error {
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
		// The event is the receiver's: each server builds one in an exchange.
		theirs := id - uint64(s.c.Rank) + uint64(step.To)
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
		s.tally.t.SentBytes += uint64(len(s.sending.Body))
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

// receive judges what has come. A stray or second copy is not the fragment of
// this phase: that is still to come on the same stream.
func (s *synchronised) receive(ctx context.Context, begun, now time.Duration) error {
	for {
		s.arrived = now
		op := s.taking
		switch _, v := s.fragments.arrived(now, op); v {
		case builder.Accepted, builder.Complete, builder.Corrupt, builder.WrongEpoch:
			came := s.came(op, now)
			s.fragments.sources.came(op.Peer, came)
			s.trace.add(results.SpanReceive, begun, came, place{s.done, s.phase, op.Peer})
			return nil
		}
		s.ops[0] = *op
		s.ops[0].N, s.ops[0].Done = 0, time.Time{}
		s.taking, s.sending = &s.ops[0], nil
		if err := s.ep.Exchange(ctx, s.ops[:1]); err != nil {
			return err
		}
		now = s.now()
	}
}

// came is when a receive was done: its phase goes on where the fragment that the
// server sends takes longer, and that is another pair's affair.
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

// close ends the exchange: its event is complete, or it is lost.
func (s *synchronised) close(id uint64) {
	if s.fragments.asm.Slot(id) >= 0 {
		s.fragments.asm.Abandon(id)
	} else {
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
