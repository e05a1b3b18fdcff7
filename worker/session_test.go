package worker_test

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/testing/expect"
	"evbench/worker"
)

// A worker ends when its controller goes away, also in the middle of a case.
//
//gate:race
func TestControllerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3).start()
		c := lasting(3, modes.Sync, time.Hour)
		c.OnMeasure = func() { time.AfterFunc(time.Second, func() { _ = r.ctl.Close() }) }
		expect.True(t, expect.Err(r.ctl.RunCase(t.Context(), c)) != nil, "the case went on without a controller")
		r.wg.Wait()
		r.ended = true
		for _, err := range r.ends {
			expect.False(t, err != nil && !strings.Contains(err.Error(), "control connection"), "%v", err)
		}
		for _, cancel := range r.kill {
			cancel()
		}
	})
}

// runs has a worker run, and returns the other end of its control connection and how it ends.
func runs(t *testing.T, o worker.Options) (*wire.NetConn, <-chan error) {
	here, there := net.Pipe()
	o.Conn = wire.NewConn(here, wire.MaxFrame)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(t.Context(), o) }()
	return wire.NewConn(there, wire.MaxFrame), ended
}

// A controller that is there, but says nothing any more, is given up; one that only pings is not.
//
//gate:race
func TestSilentController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, ended := runs(t, worker.Options{KeepAlive: time.Minute})
		_, welcome, err := c.Examine("")
		expect.Must(t, err)
		expect.Must(t, c.Send(welcome))
		for range 3 {
			<-time.After(50 * time.Second)
			expect.Must(t, c.Send(wire.Ping{}))
			m, err := c.Receive()
			expect.MustTrue(t, err == nil && m == (wire.Pong{}), "ping answered with %v, %v", m, err)
		}
		expect.Error(t, <-ended, "control connection")
		expect.Equal(t, time.Since(began), 210*time.Second, "ended after")
	})
}

// A worker that cannot answer any more, as its controller has gone, still sees that the session is over.
func TestQuitBehindPings(t *testing.T) {
	l := expect.Value(net.Listen("unix", filepath.Join(t.TempDir(), "c")))(t)
	defer l.Close()
	ended := make(chan error, 1)
	go func() {
		conn, err := net.Dial("unix", l.Addr().String())
		if err == nil {
			err = worker.Run(t.Context(), worker.Options{Conn: wire.NewConn(conn, wire.MaxFrame)})
		}
		ended <- err
	}()
	c := wire.NewConn(expect.Value(l.Accept())(t), wire.MaxFrame)
	_, welcome, err := c.Examine("")
	expect.Must(t, errors.Join(err, c.Send(welcome)))
	for range 400 { // answers to so many have no room
		expect.Must(t, c.Send(wire.Ping{}))
	}
	expect.Must(t, errors.Join(c.Send(wire.Quit{}), c.Close()))
	expect.OK(t, <-ended)
}

// A worker that is refused, or that talks to something else, says so: it need not try again.
func TestNotWelcome(t *testing.T) {
	for _, tt := range []struct {
		answer wire.Message
		want   string
	}{
		{wire.Refused{Reason: "server 7 has joined already"}, "server 7: controller refused: server 7 has joined already"},
		{wire.Welcome{Proof: "00"}, "control connection: the controller does not know the secret of this run"},
		{wire.Ping{}, "control connection: wire.Ping in the place of wire.Welcome"},
	} {
		c, ended := runs(t, worker.Options{Token: "secret", Server: 7})
		expect.Must(t, expect.Err2(c.Examine("secret")))
		expect.Must(t, c.Send(tt.answer))
		err := <-ended
		expect.Error(t, err, tt.want)
		if _, refused := tt.answer.(wire.Refused); refused != errors.Is(err, worker.ErrRefused) || errors.Is(err, worker.ErrNotJoined) {
			t.Errorf("%v: ErrRefused %v", err, refused)
		}
	}
}

// Who listens where a controller should, and says nothing or hangs up, is not waited
// for longer than was said; another attempt may meet the controller.
//
//gate:race
func TestNoWelcome(t *testing.T) {
	for _, tt := range []struct {
		name    string
		says    func(c *wire.NetConn) error
		after   time.Duration
		because string
	}{
		{"nothing", func(*wire.NetConn) error { return nil }, 3 * time.Second, "no answer for 3s"},
		{"a challenge, and no more", func(c *wire.NetConn) error {
			_, _, err := c.Examine("secret")
			return err
		}, 3 * time.Second, "no answer for 3s"},
		{"goodbye", func(c *wire.NetConn) error { return c.Close() }, 0, "EOF"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			began := time.Now()
			c, ended := runs(t, worker.Options{Token: "secret", Wait: 3 * time.Second})
			defer c.Close()
			expect.OK(t, tt.says(c))
			err := <-ended
			expect.False(t, !errors.Is(err, worker.ErrNotJoined) || !strings.Contains(err.Error(), tt.because) || time.Since(began) != tt.after,
				"after %v: %v; want %q after %v", time.Since(began), err, tt.because, tt.after)
		})
	}
}

// A worker that stays is told to end by its controller, which may be writing results: its own ctx ends
// no more than the case under way, and the controller hears why.
//
//gate:race
func TestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 3)
		r.options = func(_ int, o *worker.Options) { o.Stays = true }
		r.start()
		c := lasting(3, modes.Sync, time.Hour)
		c.OnMeasure = func() { time.AfterFunc(time.Second, r.kill[1]) }
		_, err := r.ctl.RunCase(t.Context(), c)
		failed, ok := errors.AsType[*controller.CaseError](err)
		expect.True(t, ok && slices.Equal(failed.Servers, []int{11}) && slices.Contains(failed.Reasons, "server 11: context canceled"), "%v", err)
		time.Sleep(time.Hour) // results are written
		r.stop()
	})
}
