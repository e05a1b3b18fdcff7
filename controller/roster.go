package controller

import (
	"fmt"
	"net"
	"slices"

	"evbench/internal/wire"
)

// A roster decides who of those that know the secret may join.
type roster struct {
	expected []int // positions; nil: any
	joined   map[int]bool
}

// admit returns why a Hello is refused, or "".
func (r *roster) admit(h wire.Hello) string {
	switch {
	case h.Server < 0:
		return fmt.Sprintf("server %d: not a position", h.Server)
	case r.expected != nil && !slices.Contains(r.expected, h.Server):
		return fmt.Sprintf("server %d is not part of this run", h.Server)
	case r.joined[h.Server]:
		return fmt.Sprintf("server %d has joined already", h.Server)
	}
	r.joined[h.Server] = true
	return ""
}

// missing returns the expected servers that have not joined.
func (r *roster) missing() []int {
	var out []int
	for _, s := range r.expected {
		if !r.joined[s] {
			out = append(out, s)
		}
	}
	return out
}

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
