package controller

import (
	"fmt"
	"slices"

	"evbench/controller/wire"
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
