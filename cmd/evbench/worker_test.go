package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for a controller waits no longer than he said, whatever becomes
// of what he sends.
func TestInsist(t *testing.T) {
	refused, stopped := errors.New("refused"), errors.New("stopped")
	dropped := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
	refuse := func(context.Context) (int, error) { return 0, refused }
	for _, tt := range []struct {
		name  string
		dials []func(context.Context) (int, error) // the last one for all further ones, too
		stop  time.Duration                        // when the caller gives up; 0: never
		took  time.Duration
		want  error
	}{
		{"there at once", []func(context.Context) (int, error){func(context.Context) (int, error) { return 7, nil }}, 0, 0, nil},
		{"there later", []func(context.Context) (int, error){refuse, refuse, func(context.Context) (int, error) { return 7, nil }}, 0, 2 * retryEvery, nil},
		{"refused", []func(context.Context) (int, error){refuse}, 0, 30 * time.Second, refused},
		{"packets are dropped", []func(context.Context) (int, error){dropped}, 0, 30 * time.Second, context.DeadlineExceeded},
		{"refused, then dropped", []func(context.Context) (int, error){refuse, dropped}, 0, 30 * time.Second, refused},
		{"stopped between", []func(context.Context) (int, error){refuse}, 10 * time.Second, 10 * time.Second, stopped},
		{"stopped in a dial", []func(context.Context) (int, error){dropped}, 10 * time.Second, 10 * time.Second, stopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.stop > 0 {
					defer time.AfterFunc(tt.stop, func() { cancel(stopped) }).Stop()
				}
				began, dials := time.Now(), 0
				got, err := insist(ctx, 30*time.Second, func(ctx context.Context) (int, error) {
					dials++
					return tt.dials[min(dials, len(tt.dials))-1](ctx)
				})
				if !errors.Is(err, tt.want) || (err == nil) != (got == 7) || time.Since(began) != tt.took {
					t.Errorf("%d, %v after %v; want %v after %v", got, err, time.Since(began), tt.want, tt.took)
				}
			})
		})
	}
}
