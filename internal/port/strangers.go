package port

import (
	"io"
	"net"
	"slices"
)

// A Stranger is a connection that has not identified itself.
type Stranger struct {
	Conn io.Closer
	From string // host, or "" if unknown
}

// From is the host of a connection.
func From(conn net.Conn) string {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // a path has none
	return host
}

// Strangers are in the order of their arrival.
type Strangers []Stranger

// maxGuests is how many there may be at a time.
const maxGuests = 1024

// Come adds a stranger. If there is no place it returns the one to drop.
func (gs *Strangers) Come(g Stranger) (gone Stranger, full bool) {
	if full = len(*gs) == maxGuests; full {
		gone, _ = gs.Go()
	}
	*gs = append(*gs, g)
	return gone, full
}

// Go returns the stranger to drop first, if any: of the host with the most places the oldest. A new
// one may still identify itself.
func (gs *Strangers) Go() (worst Stranger, found bool) {
	if len(*gs) == 0 {
		return Stranger{}, false
	}
	places := make(map[string]int)
	for _, g := range *gs {
		places[g.From]++
	}
	worst = slices.MaxFunc(*gs, func(a, b Stranger) int { return places[a.From] - places[b.From] })
	gs.Leave(worst.Conn)
	return worst, true
}

// Leave reports whether the stranger was still here.
func (gs *Strangers) Leave(conn io.Closer) bool {
	n := len(*gs)
	*gs = slices.DeleteFunc(*gs, func(g Stranger) bool { return g.Conn == conn })
	return len(*gs) < n
}
