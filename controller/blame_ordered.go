package controller

import (
	"slices"

	"evbench/builder/modes"
	"evbench/controller/wire"
)

// sidesBefore returns the sides that a side waits for with good reason, and whether it waits.
func (m *machine) sidesBefore(s side) (next []side, waits bool) {
	if m.section.mode != modes.Ordered {
		for _, rank := range m.waitsFor(s.rank) {
			next = append(next, side{rank, false})
		}
		return next, true
	}
	at := m.workers[s.rank].at
	for _, x := range at.Awaits {
		if s.sending != (x.Send >= 0) {
			continue
		}
		waits = true
		if x.Rank != s.rank && !m.told(s.rank, x) {
			next = append(next, side{x.Rank, !s.sending})
		}
	}
	if s.sending {
		for _, peer := range at.Peers {
			next, waits = append(next, side{peer, false}), true
		}
	}
	return next, waits
}

// told reports whether the sender of what a rank awaits claims to have sent it.
func (m *machine) told(rank int, x wire.Token) bool {
	sender := x.Rank
	x.Rank = rank
	return slices.Contains(m.workers[sender].at.Told, x)
}

func (m *machine) inVain(rank int) (servers []int) {
	for _, x := range m.workers[rank].at.Awaits {
		if s := m.workers[x.Rank].server; m.told(rank, x) && !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	return servers
}
