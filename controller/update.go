package controller

import (
	"context"
	"fmt"
	"time"

	"evbench/failover"
)

// An update is a call of Update under way. Neither channel is written to twice.
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

// Update changes the plan of the case under way, and how events are built, from the first exchange
// that no worker has begun: what has been granted and not begun is taken back. It returns when that
// exchange is done everywhere; its times are since the call. placed, if not nil, is called before,
// by the same goroutine, once every worker has the plan: from then on the network must be ready.
//
// The error wraps ErrNoCase without a case, and ErrCaseOver where the case ends before that. Only
// one change can be under way; when ctx ends, it goes on, and nobody waits for it. Update may be
// called from any goroutine, but not by OnSample itself.
func (c *Controller) Update(ctx context.Context, p PlanChange, placed func(from uint64)) (failover.Switch, error) {
	c.mu.Lock()
	s := c.stage
	c.mu.Unlock()
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

// wait follows an update to its end: the machine ends all that it has begun.
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
			case from := <-u.placed: // both came at once
				tell(from)
			default:
			}
			return end.sw, end.err
		case <-ctx.Done():
			return failover.Switch{}, context.Cause(ctx)
		}
	}
}

// Allow says that servers of the case under way cannot get on for want of links, or could not
// until now, and for how long from now that is to be allowed: until then no time-out for want of
// progress begins. A call replaces the one before. Without a case it does nothing.
func (c *Controller) Allow(d time.Duration) {
	c.mu.Lock()
	s := c.stage
	c.mu.Unlock()
	if s == nil {
		return
	}
	select {
	case s.allows <- d:
	case <-s.over:
	}
}
