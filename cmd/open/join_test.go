package open

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/worker"
)

// Whoever waits for a controller waits no longer than he said, whatever becomes of what he sends.
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
				expect.False(t, !errors.Is(err, tt.want) || (err == nil) != (got == 7) || time.Since(began) != tt.took,
					"%d, %v after %v; want %v after %v", got, err, time.Since(began), tt.want, tt.took)
			})
		})
	}
}

// A worker that is not welcomed begins again, for as long as it was told to wait. Each of the others here takes
// its connection: those that say nothing are not waited for longer than that, and a refusal is final.
func TestJoin(t *testing.T) {
	hangUp := func(conn *wire.NetConn) error { return conn.Close() }
	silent := func(*wire.NetConn) error { return nil }
	refuse := func(conn *wire.NetConn) error { return conn.Send(wire.Refused{Reason: "the run is over"}) }
	welcome := func(conn *wire.NetConn) error {
		_, w, err := conn.Examine("secret")
		return errors.Join(err, conn.Send(w), conn.Send(wire.Quit{}))
	}
	for _, tt := range []struct {
		name   string
		others []func(*wire.NetConn) error // the last one for all further ones, too
		took   time.Duration
		want   string // "": it joins
	}{
		{"welcome", []func(*wire.NetConn) error{welcome}, 0, ""},
		{"sent away twice", []func(*wire.NetConn) error{hangUp, hangUp, welcome}, 2 * retryEvery, ""},
		{"sent away each time", []func(*wire.NetConn) error{hangUp}, 30 * time.Second, "controller: tcp:node1:7777: server 3: not welcomed by the controller: control connection: EOF"},
		{"a listener that says nothing", []func(*wire.NetConn) error{silent}, 30 * time.Second, "controller: tcp:node1:7777: server 3: not welcomed by the controller: no answer for 30s"},
		{"refused", []func(*wire.NetConn) error{refuse, welcome}, 0, "server 3: controller refused: the run is over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, dials := time.Now(), 0
				w := way{"tcp:node1:7777", func(ctx context.Context) (*wire.NetConn, error) {
					if ctx.Err() != nil {
						return nil, ctx.Err()
					}
					here, there := net.Pipe()
					t.Cleanup(func() { there.Close() })
					other := tt.others[min(dials, len(tt.others)-1)]
					dials++
					go func() { _ = other(wire.NewConn(there, wire.MaxFrame)) }() // the worker's error tells
					return wire.NewConn(here, wire.MaxFrame), nil
				}}
				err := join(t.Context(), 30*time.Second, w, worker.Options{Token: "secret", Server: 3})
				d := time.Since(began)
				expect.False(t, d != tt.took || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want),
					"%v after %v; want %q after %v", err, d, tt.want, tt.took)
			})
		})
	}
}

// A dial that begins when patience is at its end says that time is over before the
// context does; what is told is what the dials before it met.
func TestInsistTellsTheReason(t *testing.T) {
	refused, late := errors.New("refused"), errors.New("i/o timeout")
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			_, err := insist(t.Context(), 3*retryEvery, func(ctx context.Context) (int, error) {
				if end, _ := ctx.Deadline(); !time.Now().Before(end) {
					return 0, late
				}
				return 0, refused
			})
			expect.MustTrue(t, errors.Is(err, refused), "%v", err)
		})
	}
}

// FuzzParseAddresses: all addresses of a server have one port, and are written as they were read.
func FuzzParseAddresses(f *testing.F) {
	f.Add("10.0.0.1:7000,10.1.0.1:7000")
	f.Add("[::1]:0")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddresses(text)
		if err != nil {
			return
		}
		expect.MustFalse(t, a.String() != text || a.Listen() == "", "%q became %q, at %q", text, a, a.Listen())
	})
}
