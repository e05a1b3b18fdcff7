package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"evbench/builder"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/scheduler/list"
)

// A window is consecutive exchanges of mode ordered that one plan covers. Exchanges count
// from the first that is measured.
type window struct {
	first, exchanges int
	plan             int // of the job's plans, 0 for the first
	pieces           []list.Piece
	after            int            // exchanges of the window whose tokens it awaits; 0: it awaits none
	tokens           [][]list.Token // by piece, what its sender awaits
	own              []int          // by server, pieces that it sends
	made             *list.Plan
}

// windows plans the windows of a job, one after the other. All models have one rule: a window is
// granted when the first sending server of the window before has sent all its pieces, unless the
// duration is over then. It has as many exchanges as will begin before that, at most Window. It
// begins when the window two before it is received, so it awaits only its own tokens and those of
// the window before it; when another plan is in force, it begins when all is received. Its tokens
// come as if it had been granted long before.
type windows struct {
	j     *Job
	roles builder.Roles
	plans []*plan.Plan
	next  int         // exchange
	last  int         // exchanges of the last window
	by    int         // plan of the last window; -1: none
	chain *list.Chain // the windows by that plan
	// For equal fragments, by plan: the window, and one that follows another of the plan.
	first, again []*window

	clock *clocked // nil: the job has no load
	ended []ended  // events that the clock does not know to be built
}

// An ended event of a server was built in an exchange whose window began for it, at these times.
type ended struct {
	exchange, server int
	begun, at        float64
}

// settle has the clock know what was built until a time, in that order.
func (w *windows) settle(until float64) {
	slices.SortStableFunc(w.ended, func(a, b ended) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(w.ended) && w.ended[n].at <= until; n++ {
		e := w.ended[n]
		w.clock.built(e.exchange, e.server, e.begun, e.at, e.at)
	}
	w.ended = slices.Delete(w.ended, 0, n)
}

func newWindows(j *Job) *windows {
	w := &windows{j: j, roles: builder.RolesOf(j.Plan.Tree), plans: j.plans(), by: -1}
	w.first, w.again = make([]*window, len(w.plans)), make([]*window, len(w.plans))
	return w
}

// grant plans the next window, granted at a moment, by a plan of the job. It awaits tokens of the
// window before if both have the same plan. With a load, it takes the exchanges whose events have happened.
func (w *windows) grant(by int, at float64) (*window, error) {
	if w.next >= maxExchanges {
		return nil, fmt.Errorf("more than %d exchanges in %s: take larger fragments or a shorter duration", maxExchanges, w.j.Duration)
	}
	count := w.j.Window
	switch {
	case w.clock != nil:
		count = min(count, w.clock.exchanges()-w.next)
	case w.next > 0:
		count = w.count(at, at/float64(w.next))
	}
	x, err := w.plan(by, count)
	if err == nil && w.next == 0 && w.clock == nil {
		if count = w.count(0, w.exchange(x)); count < x.exchanges {
			x, err = w.plan(by, count)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("exchange %d: %w", w.j.Warmup+uint64(w.next), err)
	}
	x.first, w.last = w.next, x.exchanges
	w.next += x.exchanges
	return x, nil
}

// count returns how many exchanges begin until the duration is over, if each takes that long, as
// the controller computes it.
func (w *windows) count(at, each float64) int {
	left := math.Ceil((w.j.Duration.Seconds()-at)/each + 0.25)
	if w.j.Exchanges > 0 {
		left = float64(w.j.Exchanges - w.next)
	}
	return int(max(1, min(left, float64(w.j.Window))))
}

func (w *windows) exchange(x *window) float64 {
	n := float64(w.roles.Sources())
	busy := float64(x.made.Time)*8/w.j.BitPerSec + float64(len(x.pieces))/n*w.j.Timing.Overhead.Seconds()
	return busy / float64(x.exchanges)
}

func (w *windows) plan(by, count int) (*window, error) {
	memo, after := w.again, w.last
	if w.by != by || w.next == 0 {
		memo, after, w.by, w.chain = w.first, 0, by, list.NewChain(w.plans[by].Tree)
	}
	if x := memo[by]; w.j.Equal && x != nil && x.exchanges == count && x.after == after {
		x := *memo[by]
		return &x, nil
	}
	p, err := w.j.Order(w.chain, w.j.Warmup+uint64(w.next), count)
	if err != nil {
		return nil, err
	}
	if p.Len() == 0 {
		return nil, errors.New("no fragment has bytes")
	}
	x := &window{exchanges: count, plan: by, after: after, tokens: w.chain.Add(p), own: make([]int, w.j.Plan.Tree.Servers()), made: p}
	for piece := range p.Pieces() {
		x.pieces = append(x.pieces, piece)
		x.own[piece.Src]++
	}
	if w.j.PortTokens {
		x.portTokens()
	}
	memo[by] = x
	return x, nil
}

// portTokens leaves only the tokens for receive ports.
func (x *window) portTokens() {
	for i, all := range x.tokens {
		x.tokens[i] = slices.DeleteFunc(all, func(t list.Token) bool { return int(t.Rank) != x.pieces[i].Dst })
	}
}

func (w *windows) event(x *window, exchange, server int) uint64 {
	return w.roles.Event(w.j.Warmup+uint64(x.first+exchange), server)
}

func (w *windows) fragment(x *window, p *list.Piece) fragment {
	out := fragment{
		event: w.event(x, p.Exchange, p.Dst), src: int32(p.Src), dst: int32(p.Dst), route: int32(x.plan),
		payload: uint64(p.Bytes), bytes: float64(p.Bytes) + float64(w.j.Header),
	}
	if p.Path != scheduler.None {
		out.by = int32(p.Path) + 1
	}
	return out
}

type tally struct {
	missing [][]int32   // [exchange][server] pieces not received
	got     [][]uint64  // [exchange][server] payload
	whole   [][]float64 // [exchange][server] when the last piece so far was received
	opened  []float64   // by exchange, when its first piece was sent
	left    int         // pieces not received
	begun   float64     // when the window was
}

// tally begins a tally; events that miss nothing are built at once.
func (w *windows) tally(x *window, at float64, m *meter) *tally {
	n := w.j.Plan.Tree.Servers()
	t := &tally{left: len(x.pieces), begun: at}
	for range x.exchanges {
		t.missing, t.got = append(t.missing, make([]int32, n)), append(t.got, make([]uint64, n))
		t.whole, t.opened = append(t.whole, make([]float64, n)), append(t.opened, math.Inf(1))
	}
	for _, p := range x.pieces {
		t.missing[p.Exchange][p.Dst]++
	}
	for e := range t.missing {
		for s, n := range t.missing[e] {
			if n == 0 && w.roles.Builds(s) {
				w.built(x, t, e, s, at, m)
			}
		}
	}
	return t
}

func (t *tally) sent(p *list.Piece, at float64) {
	t.opened[p.Exchange] = min(t.opened[p.Exchange], at)
}

func (w *windows) received(x *window, t *tally, p *list.Piece, at float64, m *meter) {
	e, s := p.Exchange, p.Dst
	t.left--
	t.got[e][s] += uint64(p.Bytes)
	t.whole[e][s] = max(t.whole[e][s], at)
	if t.missing[e][s]--; t.missing[e][s] == 0 {
		w.built(x, t, e, s, t.whole[e][s], m)
		m.lasted(t.whole[e][s] - t.opened[e])
	}
}

// built counts the event of a server in an exchange of a window.
func (w *windows) built(x *window, t *tally, exchange, server int, at float64, m *meter) {
	m.built(at, server, t.got[exchange][server]+w.own(x, exchange, server))
	if w.clock != nil {
		w.ended = append(w.ended, ended{x.first + exchange, server, t.begun, at})
	}
}

func (w *windows) own(x *window, exchange, server int) uint64 {
	return w.j.own(&w.roles, w.event(x, exchange, server), server)
}
