package worker

import (
	"fmt"
	"slices"

	"evbench/controller/wire"
)

// turns says what a worker may do in ordered mode: which fragment may start, and which ranks get a
// token for a received one. It has no clock and no socket.
//
// Windows are processed in order. At most two are under way: a server may finish the sends of a
// window before its receives, or the other way round, and goes on with the next.
type turns struct {
	rank, n int
	windows []*window // that are not over, in order
	last    *window   // the newest window, over or not; nil: none
	past    *window   // the last window that ended; nil: none
	takes   int       // receives of all windows so far
	quiet   int       // receives before the last window with Quiet set
	early   []note    // tokens of windows that have not arrived
	dropped *note     // its epoch's tokens from its window on are void; may be nil
	sending bool      // a fragment has started and not left
}

// A window is the worker's part in a window, and its progress.
type window struct {
	wire.Window
	first         int      // receives of all windows before
	begun, opened bool     // its sending, its receiving
	missing       [][]int  // [send] ranks whose token is still missing
	started, left int      // sends
	take          []int32  // [exchange·n + source], -1: none
	taken         []bool   // [take]
	took          int      // number of true values in taken
	after         [][]note // [take] tokens to send after that receive
	told          []wire.Token

	owes   []int // [exchange] sends that have not left
	closed []bool
	done   int // exchanges completed, in order
}

// A note is a token for a window of an epoch: to a rank or, once it has arrived, from a rank.
type note struct {
	wire.Token
	epoch uint32
}

// check refuses a window that is unsafe for the loop. A window has at most most exchanges.
func (t *turns) check(m *wire.Window, most int) error {
	switch {
	case m.Count < 1 || m.Count > most:
		return fmt.Errorf("%d exchanges, must be 1..%d", m.Count, most)
	case !m.Quiet && (t.last == nil || t.last.To() != m.From || t.last.Epoch != m.Epoch):
		return fmt.Errorf("from exchange %d, after no window that ends there", m.From)
	}
	pairs := make(map[[2]int]bool, len(m.Sends))
	for i, x := range m.Sends {
		if err := t.checkPiece(m, pairs, x.Exchange, x.To, x.Spine); err != nil {
			return fmt.Errorf("send %d: %w", i, err)
		}
		for k, r := range x.Await {
			if r < 0 || r >= t.n || slices.Contains(x.Await[:k], r) {
				return fmt.Errorf("send %d: awaits rank %d", i, r)
			}
		}
	}
	clear(pairs)
	for i, x := range m.Takes {
		if err := t.checkPiece(m, pairs, x.Exchange, x.From, x.Spine); err != nil {
			return fmt.Errorf("receive %d: %w", i, err)
		}
	}
	before := 0
	if !m.Quiet {
		before = t.takes - t.quiet
	}
	for i, x := range m.Tells {
		if x.After < -before || x.After >= len(m.Takes) || x.To < 0 || x.To >= t.n || x.Send < 0 || x.Send >= m.Count*t.n {
			return fmt.Errorf("token %d: after receive %d, for send %d of rank %d", i, x.After, x.Send, x.To)
		}
	}
	return nil
}

func (t *turns) checkPiece(m *wire.Window, seen map[[2]int]bool, exchange, peer, spine int) error {
	at := [2]int{exchange, peer}
	if exchange < 0 || exchange >= m.Count || peer < 0 || peer >= t.n || peer == t.rank || spine < single || spine > maxSpine || seen[at] {
		return fmt.Errorf("exchange %d, rank %d, spine %d", exchange, peer, spine)
	}
	seen[at] = true
	return nil
}

// add takes a checked window. It returns the tokens that earlier receives make due at once.
func (t *turns) add(m *wire.Window) (due []note) {
	w := &window{
		Window: *m, first: t.takes, missing: make([][]int, len(m.Sends)), take: slices.Repeat([]int32{-1}, m.Count*t.n), taken: make([]bool, len(m.Takes)),
		after: make([][]note, len(m.Takes)), owes: make([]int, m.Count), closed: make([]bool, m.Count),
	}
	for i, x := range m.Sends {
		w.missing[i] = slices.Clone(x.Await)
		w.owes[x.Exchange]++
	}
	for i, x := range m.Takes {
		w.take[x.Exchange*t.n+x.From] = int32(i)
	}
	if t.takes += len(m.Takes); m.Quiet {
		t.quiet = w.first
	}
	t.windows, t.last = append(t.windows, w), w
	for _, x := range m.Tells {
		tell := note{wire.Token{Rank: x.To, Window: m.From, Send: x.Send}, m.Epoch}
		if of, i := t.pending(w.first + x.After); of != nil {
			of.after[i] = append(of.after[i], tell)
		} else {
			due = append(due, tell)
		}
	}
	early := t.early
	t.early = nil
	for _, x := range early {
		t.token(x)
	}
	return t.tell(due)
}

// pending returns the window of a receive, counted over all windows, and its index there; nil: it
// has arrived.
func (t *turns) pending(take int) (*window, int) {
	for _, w := range t.windows {
		if i := take - w.first; i >= 0 && i < len(w.taken) && !w.taken[i] {
			return w, i
		}
	}
	return nil, 0
}

// tell returns the tokens to send. It applies the worker's tokens to itself at once.
func (t *turns) tell(all []note) (out []note) {
	for _, x := range all {
		if x.Rank == t.rank {
			t.token(x)
			continue
		}
		out = append(out, x)
		if w := t.find(x); w != nil {
			w.told = append(w.told, x.Token)
		}
	}
	return out
}

func (t *turns) find(x note) *window {
	for _, w := range t.windows {
		if w.From == x.Window && w.Epoch == x.epoch {
			return w
		}
	}
	return nil
}

// mostEarly bounds the tokens kept for future windows, per peer.
const mostEarly = 64

// token takes a token of a rank. It returns false for an unexpected one.
func (t *turns) token(x note) bool {
	w := t.find(x)
	if w == nil {
		if t.dropped != nil && x.epoch == t.dropped.epoch && x.Window >= t.dropped.Window {
			return true
		}
		over := t.last != nil && (x.epoch < t.last.Epoch || x.epoch == t.last.Epoch && x.Window < t.last.To())
		if !over && len(t.early) < mostEarly*t.n {
			t.early = append(t.early, x)
			return true
		}
		return false
	}
	if x.Send < 0 || x.Send >= len(w.missing) {
		return false
	}
	i := slices.Index(w.missing[x.Send], x.Rank)
	if i < 0 {
		return false
	}
	w.missing[x.Send] = slices.Delete(w.missing[x.Send], i, i+1)
	return true
}

// next returns the window of the fragment that may start now, or nil.
func (t *turns) next() *window {
	if w := t.upcoming(); w != nil && !t.sending && len(w.missing[w.started]) == 0 {
		return w
	}
	return nil
}

// upcoming returns the window of the next fragment to send; nil if no begun window has one.
func (t *turns) upcoming() *window {
	for _, w := range t.windows {
		if w.started < len(w.Sends) {
			if w.begun {
				return w
			}
			return nil
		}
	}
	return nil
}

func (t *turns) start(w *window) *wire.Turn {
	w.started++
	t.sending = true
	return &w.Sends[w.started-1]
}

func (t *turns) departed() {
	t.sending = false
	for _, w := range t.windows {
		if w.left < w.started {
			w.owes[w.Sends[w.left].Exchange]--
			w.left++
			return
		}
	}
}

// window returns the window under way that contains an exchange, or nil.
func (t *turns) window(exchange uint64) *window {
	for _, w := range t.windows {
		if w.From <= exchange && exchange < w.To() {
			return w
		}
	}
	return nil
}

// received notes that the fragment of a source for the event of an exchange has arrived, and
// returns the tokens to send.
func (t *turns) received(exchange uint64, source int) []note {
	w := t.window(exchange)
	i := w.take[int(exchange-w.From)*t.n+source]
	if i < 0 || w.taken[i] {
		return nil
	}
	w.taken[i] = true
	w.took++
	return t.tell(w.after[i])
}

// coming does the same for a fragment that has almost arrived. No token is sent twice.
func (t *turns) coming(exchange uint64, source int) (due []note) {
	w := t.window(exchange)
	if i := w.take[int(exchange-w.From)*t.n+source]; i >= 0 && !w.taken[i] {
		due, w.after[i] = t.tell(w.after[i]), nil
	}
	return due
}

func (w *window) sent() bool     { return w.left == len(w.Sends) }
func (w *window) complete() bool { return w.took == len(w.Takes) }

// mayBegin returns the window that this worker may begin, or nil.
func (t *turns) mayBegin() *window {
	for i, w := range t.windows[:min(2, len(t.windows))] {
		if !w.begun && (i == 0 || t.windows[0].sent() || t.windows[0].complete()) {
			return w
		} else if !w.begun {
			return nil
		}
	}
	return nil
}

// mayOpen returns the window whose receives may be posted, or nil.
func (t *turns) mayOpen() *window {
	for i, w := range t.windows {
		if w.begun && !w.opened && (i == 0 || t.windows[i-1].complete()) {
			return w
		}
	}
	return nil
}

func (t *turns) close(exchange uint64) {
	w := t.window(exchange)
	w.closed[exchange-w.From] = true
}

// advance returns true for each finished exchange, in order, and forgets finished windows.
func (t *turns) advance() bool {
	for len(t.windows) > 0 {
		w := t.windows[0]
		if w.done < w.Count {
			if !w.opened || !w.closed[w.done] || w.owes[w.done] > 0 {
				return false
			}
			w.done++
			return true
		}
		t.past, t.windows = w, t.windows[1:]
	}
	return false
}

// drop forgets the windows that begin at or after an exchange and have not begun: another plan
// replaces them.
func (t *turns) drop(from uint64) {
	if t.last != nil {
		t.dropped = &note{wire.Token{Window: from}, t.last.Epoch}
	}
	t.windows = slices.DeleteFunc(t.windows, func(w *window) bool { return w.From >= from && !w.begun })
}

// awaited is what a worker waits for: tokens for its next fragment, the fragment under way on its
// send port, and the next fragment on its receive port.
type awaited struct {
	exchange uint64
	tokens   []wire.Token
	to       int         // destination of the fragment that waits for tokens
	sending  int         // destination of the fragment under way; -1: none
	next     *wire.Token // the next fragment to arrive; nil: none
}

func (t *turns) awaits() awaited {
	a := awaited{sending: -1}
	if len(t.windows) > 0 {
		w := t.windows[0]
		a.exchange = w.From + uint64(min(w.done, w.Count-1))
	}
	if w := t.upcoming(); w != nil && !t.sending {
		a.to = w.Sends[w.started].To
		for _, r := range w.missing[w.started] {
			if r != t.rank { // a token from this worker follows its own receive, which is next
				a.tokens = append(a.tokens, wire.Token{Rank: r, Window: w.From, Send: w.started})
			}
		}
	}
	for _, w := range t.windows {
		if w.left < w.started {
			a.sending = w.Sends[w.left].To
		}
		if i := slices.Index(w.taken, false); i >= 0 && w.opened && a.next == nil {
			a.next = new(wire.FragmentOf(w.Takes[i].From, w.From+uint64(w.Takes[i].Exchange)))
		}
	}
	return a
}

// told returns the tokens and fragments that the worker has sent, for a Position.
func (t *turns) told() (out []wire.Token) {
	windows := t.windows
	if t.past != nil {
		windows = append([]*window{t.past}, windows...)
	}
	for _, w := range windows {
		out = append(out, w.told...)
		for _, x := range w.Sends[:w.left] {
			out = append(out, wire.FragmentOf(x.To, w.From+uint64(x.Exchange)))
		}
	}
	return out
}
