package worker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/transport"
)

// Bounds on the values of a Configure.
const (
	maxPeers  = 1 << 16
	maxSpine  = 1 << 16
	maxTime   = 1000 * time.Hour
	maxMemory = 1 << 40 // if Options.Memory is not set
)

// check refuses a Configure that is unsafe for the loops, or that needs more than memory bytes (0:
// maxMemory). Its errors name the field.
func check(c wire.Configure, memory uint64) error {
	n := len(c.Peers)
	switch {
	case n < 2 || n > maxPeers:
		return fmt.Errorf("peers: %d, must be 2..%d", n, maxPeers)
	case c.Rank < 0 || c.Rank >= n:
		return fmt.Errorf("rank: %d of %d", c.Rank, n)
	case c.Fragment < 1 || c.Fragment > transport.MaxBody:
		return fmt.Errorf("fragment: %d bytes, must be 1..%d", c.Fragment, transport.MaxBody)
	case c.Credits < 1 || c.Credits > builder.MaxCredits:
		return fmt.Errorf("credits: %d, must be 1..%d", c.Credits, builder.MaxCredits)
	case c.AsyncCredits < 0 || c.AsyncCredits > builder.MaxCredits || c.AsyncCredits > 0 && c.Mode != modes.Sync:
		return fmt.Errorf("async credits: %d, must be 0..%d, and 0 unless %s", c.AsyncCredits, builder.MaxCredits, modes.Sync)
	case c.Sources < 0 || c.Sources >= n:
		return fmt.Errorf("sources: %d, must be 0..%d", c.Sources, n-1)
	case c.Timeout <= 0 || c.Timeout > maxTime:
		return fmt.Errorf("timeout: %v, must be above 0 and at most %v", c.Timeout, maxTime)
	case c.Trace < 0 || c.Trace > wire.MaxTrace:
		return fmt.Errorf("trace: %d spans, must be 0..%d", c.Trace, wire.MaxTrace)
	case c.Interval <= 0 || c.Interval > maxTime:
		return fmt.Errorf("interval: %v, must be above 0 and at most %v", c.Interval, maxTime)
	}
	roles := c.Roles()
	if err := roles.Check(); err != nil {
		return fmt.Errorf("roles: %w", err)
	}
	if err := c.Sizes.Check(roles); err != nil {
		return fmt.Errorf("sizes: %w", err)
	}
	if most := c.FragmentSizes().Max(); most > transport.MaxBody {
		return fmt.Errorf("sizes: fragments of up to %d bytes, at most %d", most, transport.MaxBody)
	}
	if need, most := memoryFor(c), cmp.Or(memory, maxMemory); need > most {
		return fmt.Errorf("fragment: up to %d bytes of %d servers with %d events at once need %d bytes of memory, there are %d",
			c.FragmentSizes().Max(), n, max(inFlight(c), 1), need, most)
	}
	if err := errors.Join(checkWords(c), checkStandby(c)); err != nil {
		return err
	}
	if c.Mode == modes.Ordered || c.Mode == modes.Unsync && len(c.Row) == 0 {
		return nil
	}
	return checkRow(c.Row, c.Rank, roles)
}

// memoryFor estimates the memory of a case in bytes. Earlier checks bound the factors, so the
// product does not overflow.
func memoryFor(c wire.Configure) uint64 {
	const each = 1 << 10 // for a fragment in transit, beside its payload
	roles := c.Roles()
	n, slots, size := uint64(roles.Sources()), uint64(max(inFlight(c), 1)), uint64(c.FragmentSizes().Max())
	need := size + n*slots*each
	switch {
	case !roles.Builds(c.Rank):
	case c.Deliver == builder.DeliverBuffer:
		need += n * slots * size
	case c.Check == builder.CheckPayload:
		need += n * size
	}
	return need
}

func checkStandby(c wire.Configure) error {
	for _, p := range c.Standby {
		if p.Peer < 0 || p.Peer >= len(c.Peers) || p.Peer == c.Rank || p.Spine < single || p.Spine > maxSpine {
			return fmt.Errorf("standby: rank %d of %d: rank %d through spine %d", c.Rank, len(c.Peers), p.Peer, p.Spine)
		}
	}
	return nil
}

func checkWords(c wire.Configure) error {
	switch {
	case !c.Mode.Known():
		return fmt.Errorf("mode: %q", c.Mode)
	case c.Deliver != builder.DeliverBuffer && c.Deliver != builder.DeliverDiscard:
		return fmt.Errorf("deliver: %q, must be %s or %s", c.Deliver, builder.DeliverBuffer, builder.DeliverDiscard)
	case c.Check != builder.CheckHeader && c.Check != builder.CheckPayload:
		return fmt.Errorf("check: %q, must be %s or %s", c.Check, builder.CheckHeader, builder.CheckPayload)
	}
	return builder.MayCheck(c.Deliver, c.Check, inFlight(c))
}

// checkRow wants every other builder once as a destination of a reader, and every other reader once
// as a source of a builder.
func checkRow(row []wire.Step, rank int, roles builder.Roles) error {
	reads, builds := roles.Reads(rank), roles.Builds(rank)
	to, from := make([]bool, roles.Servers), make([]bool, roles.Servers)
	for p, s := range row {
		if err := once(to, s.To, rank); err != nil {
			return fmt.Errorf("row: phase %d: send to %w", p, err)
		}
		if err := once(from, s.From, rank); err != nil {
			return fmt.Errorf("row: phase %d: receive from %w", p, err)
		}
		if min(s.ToSpine, s.FromSpine) < single || max(s.ToSpine, s.FromSpine) > maxSpine {
			return fmt.Errorf("row: phase %d: spines %d and %d, must be %d..%d", p, s.ToSpine, s.FromSpine, single, maxSpine)
		}
	}
	for r := range to {
		sends, receives := r != rank && reads && roles.Builds(r), r != rank && builds && roles.Reads(r)
		switch {
		case sends && !to[r] || receives && !from[r]:
			return fmt.Errorf("row: rank %d is left out", r)
		case to[r] && !sends || from[r] && !receives:
			return fmt.Errorf("row: rank %d has another role", r)
		}
	}
	return nil
}

func once(seen []bool, peer, rank int) error {
	switch {
	case peer == wire.Idle:
		return nil
	case peer < 0 || peer >= len(seen) || peer == rank:
		return fmt.Errorf("rank %d", peer)
	case seen[peer]:
		return fmt.Errorf("rank %d a second time", peer)
	}
	seen[peer] = true
	return nil
}

// A plan is the row used from one exchange on, and the mode from then on.
type plan struct {
	epoch uint32
	from  uint64
	mode  modes.Mode
	row   []wire.Step
}

// plans are sorted by from; the first starts at exchange 0.
type plans []plan

func (p plans) at(exchange uint64) *plan {
	i := len(p) - 1
	for p[i].from > exchange {
		i--
	}
	return &p[i]
}

func (p plans) knows(epoch uint32) bool {
	return slices.ContainsFunc(p, func(x plan) bool { return x.epoch == epoch })
}

func (p plans) update(u *wire.PlanUpdate, c wire.Configure) (plans, error) {
	if err := checkUpdate(*u, c); err != nil {
		return p, fmt.Errorf("plan update: %w", err)
	}
	last := p[len(p)-1]
	if u.From < last.from {
		return p, fmt.Errorf("plan update: from exchange %d, the one before holds from %d", u.From, last.from)
	}
	next := plan{epoch: u.Epoch, from: u.From, mode: cmp.Or(u.Mode, last.mode), row: u.Row}
	if next.mode.Phases() && len(next.row) == 0 {
		return p, errors.New("plan update: no row")
	}
	return append(p, next), nil
}

// checkUpdate checks what does not depend on earlier plans.
func checkUpdate(u wire.PlanUpdate, c wire.Configure) error {
	if u.Mode != "" && u.Mode != c.Mode && (u.Mode != modes.Unsync || c.AsyncCredits == 0) {
		return fmt.Errorf("mode %q in a case that is %s", u.Mode, c.Mode)
	}
	if len(u.Row) == 0 && (c.Mode == modes.Unsync || c.Mode == modes.Ordered || c.AsyncCredits > 0) {
		return nil
	}
	return checkRow(u.Row, c.Rank, c.Roles())
}

// paths returns, by peer, the spine towards it and the spine from it.
func paths(row []wire.Step, n int) (to, from []int) {
	to, from = slices.Repeat([]int{single}, n), slices.Repeat([]int{single}, n)
	for _, s := range row {
		if s.To >= 0 {
			to[s.To] = s.ToSpine
		}
		if s.From >= 0 {
			from[s.From] = s.FromSpine
		}
	}
	return to, from
}
