package worker

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"evbench/builder"
	"evbench/controller/wire"
	"evbench/transport"
)

// Bounds on what a controller may ask for.
const (
	maxPeers   = 1 << 16
	maxCredits = 1024 // events in flight: each costs a buffer of a whole event
	maxSpine   = 1 << 16
	maxTime    = 1000 * time.Hour
	maxMemory  = 1 << 40 // where Options.Memory does not say
)

// check refuses a Configure that the loops could not rely on, or that takes more than
// memory bytes (0: maxMemory). Its errors name the field.
func check(c wire.Configure, memory uint64) error {
	n := len(c.Peers)
	switch {
	case n < 2 || n > maxPeers:
		return fmt.Errorf("peers: %d, must be 2..%d", n, maxPeers)
	case c.Rank < 0 || c.Rank >= n:
		return fmt.Errorf("rank: %d of %d", c.Rank, n)
	case c.Fragment < 1 || c.Fragment > transport.MaxBody:
		return fmt.Errorf("fragment: %d bytes, must be 1..%d", c.Fragment, transport.MaxBody)
	case c.Credits < 1 || c.Credits > maxCredits:
		return fmt.Errorf("credits: %d, must be 1..%d", c.Credits, maxCredits)
	case c.AsyncCredits < 0 || c.AsyncCredits > maxCredits || c.AsyncCredits > 0 && c.Mode != wire.Sync:
		return fmt.Errorf("async credits: %d, must be 0..%d, and 0 unless %s", c.AsyncCredits, maxCredits, wire.Sync)
	case c.Sources < 0 || c.Sources >= n:
		return fmt.Errorf("sources: %d, must be 0..%d", c.Sources, n-1)
	case c.Timeout <= 0 || c.Timeout > maxTime:
		return fmt.Errorf("timeout: %v, must be above 0 and at most %v", c.Timeout, maxTime)
	case c.Trace < 0 || c.Trace > wire.MaxTrace:
		return fmt.Errorf("trace: %d spans, must be 0..%d", c.Trace, wire.MaxTrace)
	case c.Interval <= 0 || c.Interval > maxTime:
		return fmt.Errorf("interval: %v, must be above 0 and at most %v", c.Interval, maxTime)
	}
	if err := c.Sizes.Check(n); err != nil {
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
	if c.Mode == wire.Ordered || c.Mode == wire.Unsync && len(c.Row) == 0 {
		return nil
	}
	return checkRow(c.Row, c.Rank, n)
}

// memoryFor is about how many bytes a case takes. What is checked before it bounds the
// factors, so that it does not overflow.
func memoryFor(c wire.Configure) uint64 {
	const each = 1 << 10 // beside its payload, for a fragment that is on its way
	n, slots, size := uint64(len(c.Peers)), uint64(max(inFlight(c), 1)), uint64(c.FragmentSizes().Max())
	need := size + n*slots*each
	switch {
	case c.Deliver == wire.DeliverBuffer:
		need += n * slots * size
	case c.Check == wire.CheckPayload:
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
	case c.Mode != wire.Sync && c.Mode != wire.Unsync && c.Mode != wire.FreeRunning && c.Mode != wire.Ordered:
		return fmt.Errorf("mode: %q", c.Mode)
	case c.Deliver != wire.DeliverBuffer && c.Deliver != wire.DeliverDiscard:
		return fmt.Errorf("deliver: %q, must be %s or %s", c.Deliver, wire.DeliverBuffer, wire.DeliverDiscard)
	case c.Check != wire.CheckHeader && c.Check != wire.CheckPayload:
		return fmt.Errorf("check: %q, must be %s or %s", c.Check, wire.CheckHeader, wire.CheckPayload)
	}
	return builder.MayCheck(c.Deliver, c.Check, inFlight(c))
}

// checkRow wants every other rank once as a destination and once as a source.
func checkRow(row []wire.Step, rank, n int) error {
	to, from := make([]bool, n), make([]bool, n)
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
	for r := range n {
		if r != rank && (!to[r] || !from[r]) {
			return fmt.Errorf("row: rank %d is left out", r)
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

// A plan is the row that holds from one exchange on, and how events are built then.
type plan struct {
	epoch uint32
	from  uint64
	mode  string
	row   []wire.Step
}

// plans are in order of from; the first holds from exchange 0.
type plans []plan

func (p plans) at(exchange uint64) *plan {
	i := len(p) - 1
	for p[i].from > exchange {
		i--
	}
	return &p[i]
}

func (p plans) knows(epoch uint32) bool {
	for i := range p {
		if p[i].epoch == epoch {
			return true
		}
	}
	return false
}

func (p plans) update(u *wire.PlanUpdate, c wire.Configure) (plans, error) {
	if err := checkUpdate(*u, c); err != nil {
		return p, fmt.Errorf("plan update: %w", err)
	}
	last := p[len(p)-1]
	if u.From < last.from {
		return p, fmt.Errorf("plan update: from exchange %d, the one before holds from %d", u.From, last.from)
	}
	next := plan{epoch: u.Epoch, from: u.From, mode: u.Mode, row: u.Row}
	if next.mode == "" {
		next.mode = last.mode
	}
	if next.mode != wire.Unsync && next.mode != wire.Ordered && len(next.row) == 0 {
		return p, errors.New("plan update: no row")
	}
	return append(p, next), nil
}

// checkUpdate checks what needs no knowledge of the plans before it.
func checkUpdate(u wire.PlanUpdate, c wire.Configure) error {
	if u.Mode != "" && u.Mode != c.Mode && (u.Mode != wire.Unsync || c.AsyncCredits == 0) {
		return fmt.Errorf("mode %q in a case that is %s", u.Mode, c.Mode)
	}
	if len(u.Row) == 0 && (c.Mode == wire.Unsync || c.Mode == wire.Ordered || c.AsyncCredits > 0) {
		return nil
	}
	return checkRow(u.Row, c.Rank, len(c.Peers))
}

// paths returns, by peer, the spine towards it and the spine from it.
func paths(row []wire.Step, n int) (to, from []int) {
	to, from = make([]int, n), make([]int, n)
	for r := range n {
		to[r], from[r] = single, single
	}
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
