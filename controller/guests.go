package controller

import (
	"net"
	"slices"

	"evbench/internal/wire"
)

// A guest is a connection that has not said who it is.
type guest struct {
	conn *wire.NetConn
	from string // host, or "" where that is not known
}

func from(conn net.Conn) string {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // a path has none
	return host
}

// Guests are in the order in which they came.
type guests []guest

// maxGuests is how many there may be at a time.
const maxGuests = 1024

// worst returns the guest who has to go first: of the host that takes most places
// the one who has been here longest. Who is new has most to say yet.
func (gs guests) worst() guest {
	places := make(map[string]int)
	for _, g := range gs {
		places[g.from]++
	}
	return slices.MaxFunc(gs, func(a, b guest) int { return places[a.from] - places[b.from] })
}

// leave reports whether the guest was still here.
func (gs *guests) leave(conn *wire.NetConn) bool {
	n := len(*gs)
	*gs = slices.DeleteFunc(*gs, func(g guest) bool { return g.conn == conn })
	return len(*gs) < n
}
