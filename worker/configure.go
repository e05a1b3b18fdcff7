package worker

import (
	"errors"
	"fmt"

	"evbench/builder"
	"evbench/internal/wire"
	"evbench/transport"
)

// maxCredits bounds the events in flight: each costs a buffer of a whole event.
const maxCredits = 1024

// check refuses a Configure that the loops could not rely on. Its errors name
// the field.
func check(c wire.Configure) error {
	n := len(c.Peers)
	switch {
	case n < 2:
		return fmt.Errorf("peers: %d, want at least 2", n)
	case c.Rank < 0 || c.Rank >= n:
		return fmt.Errorf("rank: %d of %d", c.Rank, n)
	case c.Fragment < 1 || c.Fragment > transport.MaxBody:
		return fmt.Errorf("fragment: %d bytes, must be 1..%d", c.Fragment, transport.MaxBody)
	case !(c.Spread >= 0 && c.Spread <= 0.9):
		return fmt.Errorf("spread: %v, must be 0..0.9", c.Spread)
	case sizes(c).Max() > transport.MaxBody:
		return fmt.Errorf("spread: fragments of up to %d bytes, at most %d", sizes(c).Max(), transport.MaxBody)
	case c.Credits < 1 || c.Credits > maxCredits:
		return fmt.Errorf("credits: %d, must be 1..%d", c.Credits, maxCredits)
	case c.Sources < 0 || c.Sources >= n:
		return fmt.Errorf("sources: %d, must be 0..%d", c.Sources, n-1)
	case c.Timeout <= 0:
		return errors.New("timeout: must be above 0")
	case c.Interval <= 0:
		return errors.New("interval: must be above 0")
	}
	if err := checkWords(c); err != nil {
		return err
	}
	if c.Mode == wire.Unsync && len(c.Row) == 0 {
		return nil
	}
	return checkRow(c.Row, c.Rank, n)
}

func checkWords(c wire.Configure) error {
	switch {
	case c.Mode != wire.Sync && c.Mode != wire.Unsync && c.Mode != wire.FreeRunning:
		return fmt.Errorf("mode: %q", c.Mode)
	case c.Deliver != wire.DeliverBuffer && c.Deliver != wire.DeliverDiscard:
		return fmt.Errorf("deliver: %q, must be %s or %s", c.Deliver, wire.DeliverBuffer, wire.DeliverDiscard)
	case c.Check != wire.CheckHeader && c.Check != wire.CheckPayload:
		return fmt.Errorf("check: %q, must be %s or %s", c.Check, wire.CheckHeader, wire.CheckPayload)
	case c.Deliver == wire.DeliverDiscard && c.Check == wire.CheckPayload && c.Mode != wire.Sync && c.Credits > 1:
		return errors.New("check: payload needs deliver: buffer when several events are in flight")
	}
	return nil
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
	case peer < 0:
		return nil
	case peer >= len(seen) || peer == rank:
		return fmt.Errorf("rank %d", peer)
	case seen[peer]:
		return fmt.Errorf("rank %d a second time", peer)
	}
	seen[peer] = true
	return nil
}

// sizes of the case's fragments.
func sizes(c wire.Configure) builder.Sizes {
	return builder.Sizes{Mean: c.Fragment, Spread: c.Spread, Seed: c.Seed}
}

// A plan is the row that holds from one exchange on.
type plan struct {
	epoch uint32
	from  uint64
	row   []wire.Step
}

// plans are in order of from; the first holds from exchange 0.
type plans []plan

// at returns the plan of an exchange.
func (p plans) at(exchange uint64) *plan {
	i := len(p) - 1
	for p[i].from > exchange {
		i--
	}
	return &p[i]
}

// update adds a plan.
func (p plans) update(u *wire.PlanUpdate, rank, n int) (plans, error) {
	if err := checkRow(u.Row, rank, n); err != nil {
		return p, fmt.Errorf("plan update: %w", err)
	}
	if last := p[len(p)-1].from; u.From < last {
		return p, fmt.Errorf("plan update: from exchange %d, the one before holds from %d", u.From, last)
	}
	return append(p, plan{u.Epoch, u.From, u.Row}), nil
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
