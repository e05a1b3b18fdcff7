package main

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// A proxy stands between one worker and the controller.
type proxy struct {
	ctx      context.Context
	to       string // Unix socket of the controller
	listener *net.TCPListener
	most     time.Duration // largest delay of a message
	loss     float64       // share of messages that arrive after being sent again

	mu    sync.Mutex
	rng   *rand.Rand
	conns []net.Conn

	mute    map[way]chan struct{} // closed: nothing is passed on that way any more
	running sync.WaitGroup
}

// A way is a direction of a control connection.
type way string

// The ways; both is for silence only.
const (
	both way = "both ways"
	up   way = "to the controller"
	down way = "to the worker"
)

// listen starts a proxy, which ends with ctx; the caller waits for it.
func listen(ctx context.Context, to string, most time.Duration, loss float64, seed uint64) (*proxy, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	p := &proxy{ctx: ctx, to: to, listener: l, most: most, loss: loss, rng: rand.New(rand.NewPCG(seed, 0)), mute: map[way]chan struct{}{up: make(chan struct{}), down: make(chan struct{})}}
	p.running.Go(func() {
		<-ctx.Done()
		l.Close()
		p.cut(false)
	})
	p.running.Go(p.accept)
	return p, nil
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.join(c) })
	}
}

// join connects a worker with the controller, which may not listen yet.
func (p *proxy) join(worker net.Conn) {
	p.keep(worker)
	controller, err := p.dial()
	if err != nil {
		worker.Close()
		return
	}
	p.keep(controller)
	var ways sync.WaitGroup
	ways.Go(func() { p.pass(controller, worker, p.mute[up]) })
	ways.Go(func() { p.pass(worker, controller, p.mute[down]) })
	ways.Wait()
}

func (p *proxy) dial() (net.Conn, error) {
	var d net.Dialer
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		c, err := d.DialContext(p.ctx, "unix", p.to)
		if err == nil || p.ctx.Err() != nil {
			return c, err
		}
		select {
		case <-again.C:
		case <-p.ctx.Done():
			return nil, p.ctx.Err()
		}
	}
}

// keep records a connection to close at the end.
func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns = append(p.conns, c); p.ctx.Err() != nil {
		c.Close()
	}
}

// A parcel is the data of one read, with the time when it is due.
type parcel struct {
	data []byte
	due  time.Time
}

// pass passes on the data of a connection, late but in order, and its end.
func (p *proxy) pass(to, from net.Conn, mute <-chan struct{}) {
	parcels := make(chan parcel, 1<<12)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(parcels)
		for {
			b := make([]byte, 64<<10)
			n, err := from.Read(b)
			if n > 0 {
				parcels <- parcel{b[:n], time.Now().Add(p.late())}
			}
			if err != nil {
				return
			}
		}
	})
	sound := true
	for x := range parcels {
		if sound = sound && p.due(x.due, mute); sound {
			_, err := to.Write(x.data)
			sound = err == nil
		}
	}
	reading.Wait()
	if sound = sound && p.due(time.Now(), mute); sound {
		to.Close()
	}
}

// late draws a delay. A lost message comes after TCP's time-out, or after a longer one if it is lost again.
func (p *proxy) late() (d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.most > 0 {
		d = time.Duration(p.rng.Int64N(int64(p.most)))
	}
	const again, most = 200 * time.Millisecond, 1600 * time.Millisecond
	for wait := again; wait <= most && p.rng.Float64() < p.loss; wait *= 2 {
		d += wait
	}
	return d
}

// due waits until a message is due; false if it is never passed on.
func (p *proxy) due(at time.Time, mute <-chan struct{}) bool {
	select {
	case <-mute:
	case <-p.ctx.Done():
	case <-time.After(time.Until(at)):
		select {
		case <-mute:
		default:
			return true
		}
	}
	return false
}

// silence passes nothing on any more that way, and closes nothing.
func (p *proxy) silence(w way) {
	for one, mute := range p.mute {
		if w == one || w == both {
			close(mute)
		}
	}
}

// cut breaks the connection: the worker's end is reset, or just ends.
func (p *proxy) cut(reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		if t, ok := c.(*net.TCPConn); ok && reset {
			t.SetLinger(0)
		}
		c.Close()
	}
}
