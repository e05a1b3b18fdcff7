package controller

import (
	"slices"

	"evbench/controller/wire"
)

// In ordered mode a server's sending waits for tokens, which come of what others receive,
// and its receiving waits for the sending of others. A side is one of the two.
type side struct {
	rank    int
	sending bool
}

// orderedEnds follows what sides wait for from those that failed, and returns the ranks where
// that ends: what they wait for has been sent, or they wait for nothing.
func (m *machine) orderedEnds() []int {
	seen := map[side]bool{}
	var out []int
	var todo []side
	for _, rank := range m.failed {
		todo = append(todo, side{rank, true}, side{rank, false})
	}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		next, waits := m.sidesBefore(s)
		own := slices.Contains(m.failed, s.rank)
		if len(next) == 0 && (waits || !own) && !slices.Contains(out, s.rank) {
			out = append(out, s.rank)
		}
		todo = append(todo, next...)
	}
	if len(out) == 0 {
		return slices.Clone(m.failed)
	}
	slices.Sort(out)
	return out
}

// sidesBefore returns for whom a side waits with good reason, and whether it waits at all.
func (m *machine) sidesBefore(s side) (next []side, waits bool) {
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

// told reports whether who is to send what a rank awaits says that it has sent it.
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
