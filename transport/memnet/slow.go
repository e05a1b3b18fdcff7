package memnet

import (
	"context"
	"time"

	"evbench/transport"
)

// A Slow endpoint's links take time: each Exchange and each Poll waits so long first.
type Slow struct {
	transport.Endpoint
	Time time.Duration
}

// Exchange implements transport.Endpoint.
func (s Slow) Exchange(ctx context.Context, ops []transport.Op) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.Endpoint.Exchange(ctx, ops)
}

// Poll implements transport.Endpoint.
func (s Slow) Poll(ctx context.Context, done []transport.Op) (int, error) {
	if err := s.pass(ctx); err != nil {
		return 0, err
	}
	return s.Endpoint.Poll(ctx, done)
}

func (s Slow) pass(ctx context.Context) error {
	t := time.NewTimer(s.Time)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
