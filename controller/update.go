package controller

import (
	"context"
	"fmt"
	"time"

	"evbench/failover"
)

// An update is a call of Update under way. Each channel gets at most one value.
type update struct {
	change PlanChange
	called time.Time
	placed chan uint64
	ended  chan updateEnd
}

type updateEnd struct {
	sw  failover.Switch
	err error
}

// Update changes the plan of the case under way, and its mode, from the first exchange that no
// worker has begun: exchanges granted and not begun are taken back. It returns when that exchange
// is done everywhere; its times are since the call. Before that, once every worker has the plan,
// the same goroutine calls placed, if not nil: from then on the network must be ready.
//
// The error wraps ErrNoCase without a case, and ErrCaseOver if the case ends before that. Only one
// change can be under way. When ctx ends, the change goes on, and Update does not wait for it. Any
// goroutine may call Update, but OnSample must not.
func (c *Controller) Update(ctx context.Context, p PlanChange, placed func(from uint64)) (failover.Switch, error) {
	s := c.underWay()
	if s == nil {
		return failover.Switch{}, fmt.Errorf("plan update: %w", ErrNoCase)
	}
	u := &update{change: p, called: time.Now(), placed: make(chan uint64, 1), ended: make(chan updateEnd, 1)}
	select {
	case s.updates <- u:
	case <-s.over:
		return failover.Switch{}, fmt.Errorf("plan update: %w", ErrCaseOver)
	case <-ctx.Done():
		return failover.Switch{}, context.Cause(ctx)
	}
	return u.wait(ctx, placed)
}

// Hold begins a change of plan whose network is not ready yet: workers begin no exchange and get their
// rows. Update with the same change completes it; with nil, or another change, they go on as
// before, or get that one. Without a case, or where no exchange can be held, it does nothing.
func (c *Controller) Hold(p *PlanChange) {
	c.tell(func(m *machine, now time.Duration) { m.hold(now, p) })
}

// underWay returns the stage of the case under way, or nil.
func (c *Controller) underWay() *stage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stage
}

// tell has the machine of the case under way do something. Without a case it does nothing.
func (c *Controller) tell(do func(m *machine, now time.Duration)) {
	if s := c.underWay(); s != nil {
		select {
		case s.orders <- do:
		case <-s.over:
		}
	}
}

// wait follows an update to its end: the machine ends every update that it has begun.
func (u *update) wait(ctx context.Context, placed func(from uint64)) (failover.Switch, error) {
	tell := func(from uint64) {
		if placed != nil {
			placed(from)
		}
	}
	for {
		select {
		case from := <-u.placed:
			tell(from)
		case end := <-u.ended:
			select {
			case from := <-u.placed: // both arrived at once
				tell(from)
			default:
			}
			return end.sw, end.err
		case <-ctx.Done():
			return failover.Switch{}, context.Cause(ctx)
		}
	}
}

// Allow tells the controller that servers of the case under way cannot make progress because links
// are down, or could not until now. No time-out for lack of progress begins within the next d. A
// call replaces the one before. Without a case it does nothing.
func (c *Controller) Allow(d time.Duration) {
	c.tell(func(m *machine, now time.Duration) { m.allow(now, d) })
}
