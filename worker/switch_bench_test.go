package worker_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/testing/transporttest"
	"evbench/transport"
	"evbench/worker"
)

// A resting endpoint takes its time in the first phase of an exchange and none in the
// others: while a plan changes, nothing but the control of the workers runs.
type resting struct{ transport.Endpoint }

func (e resting) Exchange(ctx context.Context, ops []transport.Op) error {
	const servers = 64
	for _, op := range ops {
		if op.Kind == transport.Send && op.Peer == (e.Rank()+1)%servers {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return e.Endpoint.Exchange(ctx, ops)
}

// BenchmarkUpdate is the time from the call of Update until 64 workers have a plan whose
// paths are open, over control connections of their own, in the middle of an exchange.
func BenchmarkUpdate(b *testing.B) {
	const n = 64
	ctl := controller.New(controller.Options{Token: "secret"})
	expect.Must(b, ctl.Listen("unix:"+filepath.Join(b.TempDir(), "control")))
	nets := transporttest.New(n, nil)
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			conn, err := wire.Dial(b.Context(), ctl.Addr())
			if err == nil {
				err = worker.Run(b.Context(), worker.Options{
					Conn: conn, Token: "secret", Server: 10 + rank,
					Open: func(_ context.Context, c wire.Configure, _ func()) (worker.Connections, error) {
						return worker.Connections{Endpoint: resting{nets[c.Rank]}, Signals: nets[c.Rank]}, nil
					},
				})
			}
			expect.OK(b, err)
		})
	}
	expect.Must(b, ctl.Join(b.Context(), n))
	c := newCase(n, modes.Sync)
	c.Exchanges, c.Duration, c.Timeout, c.Interval, c.Check = 0, time.Hour, time.Minute, time.Hour, builder.CheckHeader
	c.Warmup, c.Fragment = 0, 8
	ctx, cancel := context.WithCancel(b.Context())
	began, over := make(chan struct{}), make(chan struct{})
	c.OnMeasure = func() { close(began) }
	go func() {
		defer close(over)
		_, _ = ctl.RunCase(ctx, c)
	}()
	<-began
	<-time.After(200 * time.Millisecond)
	var held, placed, switched []time.Duration
	plan := rows(n)
	for epoch := uint32(1); b.Loop(); epoch++ {
		sw := expect.Value(ctl.Update(ctx, controller.PlanChange{Epoch: epoch, Rows: plan}, nil))(b)
		held, placed = append(held, sw.Held), append(placed, sw.InPlace)
		switched = append(switched, sw.FirstNew)
	}
	for _, d := range []struct {
		all  []time.Duration
		unit string
	}{{held, "held-ms"}, {placed, "placed-ms"}, {switched, "switched-ms"}} {
		slices.Sort(d.all)
		b.ReportMetric(float64(d.all[len(d.all)/2].Microseconds())/1000, d.unit)
	}
	b.ReportMetric(float64(placed[len(placed)-1].Microseconds())/1000, "placed-max-ms")
	cancel()
	<-over
	expect.OK(b, ctl.Close())
	wg.Wait()
}
