package live

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// mostVisiting is how many connections there may be that do not follow the run. A run needs
// its files for itself, and whoever reaches the address may connect.
const mostVisiting = 32

// A crowd is the connections that do not follow the run. Of too many the one goes that has
// begun and ended nothing for the longest.
type crowd struct {
	mu   sync.Mutex
	turn int
	last map[net.Conn]int // the turn at which it has last begun or ended something
}

// moved notes that a connection is in another state: http.Server.ConnState.
func (c *crowd) moved(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == http.StateClosed || s == http.StateHijacked {
		delete(c.last, conn)
		return
	}
	c.turn++
	c.last[conn] = c.turn
	if len(c.last) > mostVisiting {
		c.dismiss()
	}
}

// dismiss hangs up on the one that goes first; c.mu is held. Who waits for a request of it
// sees the end of the connection.
func (c *crowd) dismiss() {
	var first net.Conn
	for conn, turn := range c.last {
		if first == nil || turn < c.last[first] {
			first = conn
		}
	}
	delete(c.last, first)
	_ = first.Close()
}

// follows takes the connection of a request, which follows the run from now on, out of the
// crowd. When that ends it is in another state, and back.
func (c *crowd) follows(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, r.Context().Value(connection{}).(net.Conn))
}

// connection is under what the context of a request has its connection.
type connection struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connection{}, conn)
}
