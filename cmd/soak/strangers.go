package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// strangers starts a controller and its workers on loopback, and connects to the control
// port what has nothing to do with them.
func (g *stage) strangers(ctx context.Context) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := g.beginHosts(ctx, "tcp:"+addr, func(int) string { return "tcp:" + addr }); err != nil {
		return err
	}
	var taken atomic.Int64
	var waves sync.WaitGroup
	for i, w := range g.s.Waves {
		waves.Go(func() {
			if g.main.until(began.Add(w.At)) {
				taken.Add(int64(g.wave(ctx, addr, w, g.s.Seed+uint64(i))))
			}
		})
	}
	waves.Wait()
	g.seen.Strange = int(taken.Load())
	return nil
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// wave opens connections at once, says what it has to say and stays; it returns how many
// were taken.
func (g *stage) wave(ctx context.Context, addr string, w Wave, seed uint64) int {
	garbage := make([]byte, w.Bytes)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range garbage {
		garbage[i] = byte(rng.Uint32())
	}
	var all sync.WaitGroup
	var taken atomic.Int64
	for range w.Connections {
		all.Go(func() {
			c, err := g.knock(ctx, addr)
			if err != nil {
				return // there is no room
			}
			defer c.Close()
			taken.Add(1)
			c.Write(garbage) // an error says that the stranger was sent away
			g.main.until(time.Now().Add(w.For))
		})
	}
	all.Wait()
	return int(taken.Load())
}

// knock connects to the control port, which nobody may listen on yet.
func (g *stage) knock(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: knocking}
	for {
		c, err := d.DialContext(ctx, "tcp", addr)
		if !errors.Is(err, syscall.ECONNREFUSED) || !g.main.until(time.Now().Add(10*time.Millisecond)) {
			return c, err
		}
	}
}

// knocking is how long a stranger waits where the port does not take more.
const knocking = 5 * time.Second
