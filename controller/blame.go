package controller

import (
	"fmt"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/controller/wire"
)

// A CaseError says why a case failed.
type CaseError struct {
	Case    string
	During  string        // "warm-up", "measurement", …
	At      wire.Position // where the other servers waited; Exchange and Phase as known
	Servers []int         // positions of the servers at fault, as far as known
	Waiting []int         // positions of the servers that waited for them
	Reasons []string      // most specific first
	Stuck   bool          // servers stood still; none was lost and nothing broke before
	Closed  bool          // every server lives, and connections did not open
}

func (e *CaseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "case %q: %s", e.Case, e.During)
	if e.At.Stage != "" {
		b.WriteString(", " + place(e.At))
	}
	b.WriteString(": " + strings.Join(e.Reasons, "; "))
	if len(e.Waiting) > 0 {
		fmt.Fprintf(&b, "; waited for by %s", names(e.Waiting))
	}
	return b.String()
}

func place(p wire.Position) string {
	if p.Phase < 0 {
		return fmt.Sprintf("exchange %d, %s", p.Exchange, p.Stage)
	}
	return fmt.Sprintf("exchange %d, phase %d, %s", p.Exchange, p.Phase, p.Stage)
}

func names(servers []int) string {
	s := make([]string, 0, len(servers))
	for _, x := range servers {
		s = append(s, fmt.Sprintf("server %d", x))
	}
	return listed(s, ", ")
}

// listed joins the first texts, and says how many more there are.
func listed(texts []string, between string) string {
	const most = 6
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, between)
}

// blame returns the error of a failed case. At fault are servers that are lost or did not answer
// the abort. Without any, those are whose answer to an order is overdue, if the case stood still, else
// the ends of the chains of waiting.
func (m *machine) blame(during state) *CaseError {
	guilty := m.ranks(func(_ int, w *worker) bool { return w.lost || w.totals == nil })
	if first := m.failed; len(guilty) == 0 && len(first) > 0 && (m.workers[first[0]].stuck || slices.Contains(m.owing, first[0])) {
		guilty = m.owing
	}
	if len(guilty) == 0 {
		guilty = m.ends()
	}
	e := &CaseError{Case: m.c.Name, During: during.String(), Servers: m.servers(guilty)}
	e.Closed = during == configuring && m.all(func(w *worker) bool { return !w.lost && w.totals != nil })
	e.Stuck = len(m.failed) > 0 && m.workers[m.failed[0]].stuck
	for _, rank := range append(slices.Clone(guilty), m.failed...) {
		if r := m.reason(rank); !slices.Contains(e.Reasons, r) && len(e.Reasons) < mostReasons {
			e.Reasons = append(e.Reasons, r)
		}
	}
	// On a busy machine many servers may not have answered the abort yet: the first failure is
	// named all the same.
	if first := m.failed; len(first) > 0 && len(e.Reasons) == mostReasons && !slices.Contains(e.Reasons, m.reason(first[0])) {
		e.Reasons[mostReasons-1] = m.reason(first[0])
	}
	waiting := m.ranks(func(rank int, w *worker) bool {
		return !slices.Contains(guilty, rank) && slices.ContainsFunc(m.waitsFor(rank), func(r int) bool { return slices.Contains(guilty, r) })
	})
	e.Waiting = m.servers(waiting)
	e.At = m.where(guilty, waiting)
	return e
}

// mostReasons bounds what one error says; after a cut cable many fail.
const mostReasons = 6

// A side is the sending or the receiving of a server. In ordered mode sending waits for tokens,
// which other servers send after receiving, and receiving waits for the sending of others. In other
// modes a server has one side.
type side struct {
	rank    int
	sending bool
}

// ends follows the chains of waiting from the failed ranks and returns the ranks at their ends. In
// a ring of waiting no rank is an end: then ends returns the failed ranks.
func (m *machine) ends() []int {
	ordered := m.section.mode == modes.Ordered
	seen := map[side]bool{}
	var out []int
	var todo []side
	for _, rank := range m.failed {
		todo = append(todo, side{rank, false})
		if ordered {
			todo = append(todo, side{rank, true})
		}
	}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		next, waits := m.sidesBefore(s)
		idle := ordered && !waits && slices.Contains(m.failed, s.rank) // its other side may wait
		if len(next) == 0 && !idle && !slices.Contains(out, s.rank) {
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

// waitsFor returns the ranks that a rank has good reason to wait for, without ranks already past
// the phase in which it waits for their fragment. A worker that has built all its events waits for
// slower builders, which delay its next assignment.
func (m *machine) waitsFor(rank int) []int {
	w := &m.workers[rank]
	if m.section.mode == modes.Unsync && w.at.Stage == wire.StageIdle {
		return m.ranks(func(_ int, peer *worker) bool { return peer.builds && peer.done < w.done })
	}
	at := w.at
	var out []int
	for _, x := range at.Awaits {
		if x.Rank != rank && !m.told(rank, x) {
			out = append(out, x.Rank)
		}
	}
	for _, peer := range at.Peers {
		if peer == rank {
			continue
		}
		if at.Stage == wire.StageExchange && past(m.workers[peer].at, at) {
			continue
		}
		out = append(out, peer)
	}
	return out
}

// past reports whether p is beyond the exchange of fragments at q.
func past(p, q wire.Position) bool {
	switch {
	case p.Exchange != q.Exchange:
		return p.Exchange > q.Exchange
	case p.Phase != q.Phase:
		return p.Phase > q.Phase
	}
	return p.Stage == wire.StageBarrier
}

// where returns the position to print: of a failed rank, else of a waiting one.
func (m *machine) where(guilty, waiting []int) wire.Position {
	for _, ranks := range [][]int{m.failed, waiting, guilty} {
		for _, rank := range ranks {
			if at := m.workers[rank].at; at.Stage != "" {
				return at
			}
		}
	}
	return wire.Position{}
}

func (m *machine) reason(rank int) string {
	w := &m.workers[rank]
	switch {
	case w.failure != nil:
		if senders := m.inVain(rank); len(senders) > 0 {
			return fmt.Sprintf("server %d: %v; %s sent it", w.server, w.failure, names(senders))
		}
		return fmt.Sprintf("server %d: %v", w.server, w.failure)
	case w.totals == nil:
		return fmt.Sprintf("server %d: does not answer", w.server)
	}
	if slices.Contains(m.owing, rank) {
		return fmt.Sprintf("server %d: alive, and its answer to a change of plan has not come", w.server)
	}
	if peers := m.servers(w.at.Peers); len(peers) > 0 {
		return fmt.Sprintf("server %d: does not get on, for want of %s", w.server, names(peers))
	}
	return fmt.Sprintf("server %d: alive, but others hear nothing from it", w.server)
}

func (m *machine) ranks(is func(rank int, w *worker) bool) []int {
	var out []int
	for rank := range m.workers {
		if is(rank, &m.workers[rank]) {
			out = append(out, rank)
		}
	}
	return out
}

func (m *machine) servers(ranks []int) []int {
	out := make([]int, len(ranks))
	for i, rank := range ranks {
		out[i] = m.workers[rank].server
	}
	return out
}
