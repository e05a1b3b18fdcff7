package open

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evbench/controller/wire"
	"evbench/worker"
)

// JoinWithin is how long a worker retries a controller that does not answer, by default.
const JoinWithin = 30 * time.Second

// retryEvery is the interval of these retries.
const retryEvery = 100 * time.Millisecond

type way struct {
	to   string // for people
	dial func(context.Context) (*wire.NetConn, error)
}

// Join connects to the controller at an address and stays until the controller ends it. Within
// patience it retries, also if the peer does not answer.
func Join(ctx context.Context, patience time.Duration, controller string, o worker.Options) error {
	dial := func(ctx context.Context) (*wire.NetConn, error) { return wire.Dial(ctx, controller) }
	return join(ctx, patience, way{controller, dial}, o)
}

// join connects to the controller and stays until the controller ends it. Launchers start both
// sides at about the same time, and strangers may interfere: within patience it dials, says hello,
// and retries if there is no answer. A server that was lost in a case which goes on joins again, while there is a
// controller.
func join(ctx context.Context, patience time.Duration, w way, o worker.Options) error {
	end := time.Now().Add(patience)
	var unheard error
	back := false
	for {
		conn, err := insist(ctx, time.Until(end), w.dial)
		if err != nil && unheard != nil && errors.Is(err, context.DeadlineExceeded) {
			err = unheard // it says more
		}
		if err != nil {
			return fmt.Errorf("controller: %w", err)
		}
		o.Conn, o.Wait = conn, max(time.Until(end), time.Nanosecond)
		err = worker.Run(ctx, o)
		back = back || errors.Is(err, worker.ErrLost)
		if ctx.Err() != nil || !errors.Is(err, worker.ErrNotJoined) && !errors.Is(err, worker.ErrLost) {
			return err
		}
		if unheard = fmt.Errorf("%s: %w", w.to, err); back {
			end = time.Now().Add(patience)
		}
		select {
		case <-time.After(min(retryEvery, time.Until(end))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// insist dials again and again. A dial whose packets are dropped takes all the time it may, so
// patience bounds each dial, too. The error is the last one before the end of patience: a dial
// notices the end by the clock, maybe before the context does.
func insist[C any](ctx context.Context, patience time.Duration, dial func(context.Context) (C, error)) (conn C, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	end, _ := bounded.Deadline()
	again := time.NewTicker(retryEvery)
	defer again.Stop()
	for {
		c, dialErr := dial(bounded)
		if dialErr == nil {
			return c, nil
		}
		if err == nil || time.Now().Before(end) {
			err = dialErr
		}
		select {
		case <-again.C:
		case <-bounded.Done():
			if ctx.Err() != nil {
				return conn, context.Cause(ctx)
			}
			return conn, err
		}
	}
}
