package worker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/controller/wire"
	"evbench/testing/expect"
)

// A floor is servers that do drawn windows, and a second account of ports and links. What is
// on its way comes in any order.
type floor struct {
	t       *testing.T
	rng     *rand.Rand
	drawn   *Drawn
	all     []*turns
	parts   [][]wire.Window // [rank] windows that it has not got
	tokens  []flyingToken
	flying  []flyingPiece
	busy    map[[3]int]Piece
	arrived int
}

type flyingToken struct {
	to   int
	note note // Rank: who sent it
}

type flyingPiece struct {
	Piece
	from uint64 // of its window
}

// send has tokens on their way.
func (f *floor) send(rank int, all []note) {
	for _, x := range all {
		f.tokens = append(f.tokens, flyingToken{x.Rank, note{wire.Token{Rank: rank, Window: x.Window, Send: x.Send}, x.epoch}})
	}
}

// step lets one thing happen that may, and returns false when nothing can.
func (f *floor) step() bool {
	var may []func()
	for r, t := range f.all {
		if len(f.parts[r]) > 0 {
			may = append(may, func() { f.hand(r) })
		}
		if w := t.mayBegin(); w != nil {
			may = append(may, func() { w.begun = true })
		}
		if w := t.mayOpen(); w != nil {
			may = append(may, func() { f.open(t, w) })
		}
		if w := t.next(); w != nil {
			may = append(may, func() { f.start(r, w) })
		}
	}
	if n := len(f.tokens); n > 0 {
		may = append(may, func() {
			i := f.rng.IntN(n)
			x := f.tokens[i]
			f.tokens = slices.Delete(f.tokens, i, i+1)
			expect.MustTrue(f.t, f.all[x.to].token(x.note), "rank %d does not want %+v", x.to, x.note)
		})
	}
	for i, x := range f.flying {
		if w := f.all[x.Dst].window(x.from); w != nil && w.opened {
			may = append(may, func() { f.arrive(i) })
		}
	}
	if len(may) == 0 {
		return false
	}
	may[f.rng.IntN(len(may))]()
	return true
}

func (f *floor) hand(r int) {
	m := &f.parts[r][0]
	f.parts[r] = f.parts[r][1:]
	expect.Must(f.t, f.all[r].check(m, 4), "rank %d", r)
	f.send(r, f.all[r].add(m))
}

// open closes the exchanges in which nothing is to be received.
func (f *floor) open(t *turns, w *window) {
	w.opened = true
	for e := range w.Count {
		if !slices.ContainsFunc(w.Takes, func(x wire.Take) bool { return x.Exchange == e }) {
			t.close(w.From + uint64(e))
		}
	}
	f.advance()
}

// advance has all servers go on.
func (f *floor) advance() {
	for _, t := range f.all {
		for t.advance() {
		}
	}
}

// start has a fragment on its way. Nothing else may be on its ports and links.
func (f *floor) start(r int, w *window) {
	x := f.all[r].start(w)
	p := Piece{x.Exchange, r, x.To, x.Spine}
	for _, u := range f.drawn.Uses(p) {
		o, ok := f.busy[u]
		expect.MustTrue(f.t, !ok, "%+v starts on %v, where %+v is", p, u, o)
		f.busy[u] = p
	}
	f.flying = append(f.flying, flyingPiece{p, w.From})
}

func (f *floor) arrive(i int) {
	x := f.flying[i]
	f.flying = slices.Delete(f.flying, i, i+1)
	for _, u := range f.drawn.Uses(x.Piece) {
		delete(f.busy, u)
	}
	f.arrived++
	f.all[x.Src].departed()
	to, exchange := f.all[x.Dst], x.from+uint64(x.Exchange)
	f.send(x.Dst, to.received(exchange, x.Src))
	w := to.window(exchange)
	left := false
	for k, take := range w.Takes {
		left = left || take.Exchange == x.Exchange && !w.taken[k]
	}
	if !left {
		to.close(exchange)
	}
	f.advance()
}

// Random windows, delivered in random order: no port and no link has two fragments at a
// time, and all comes to an end.
//
//gate:race
func TestTurns(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 17))
			d := &Drawn{Servers: 2 + rng.IntN(7), PerLeaf: 1 + rng.IntN(3), Spines: 1 + rng.IntN(3), Seed: seed}
			if seed%2 == 1 { // few pairs have a fragment: a window leaves ports and links out
				few := 0.1 + 0.5*rng.Float64()
				d.Skip = func(exchange uint64, src, dst int) bool {
					return rand.New(rand.NewPCG(exchange, uint64(src*d.Servers+dst))).Float64() > few
				}
			}
			f := &floor{t: t, rng: rng, drawn: d, parts: make([][]wire.Window, d.Servers), busy: map[[3]int]Piece{}}
			for r := range d.Servers {
				f.all = append(f.all, &turns{rank: r, n: d.Servers})
			}
			want, at := 0, uint64(0)
			for k := range 1 + rng.IntN(5) {
				count := 1 + rng.IntN(4)
				parts := expect.Value(d.Next(at, count, k == 0))(t)
				for r, p := range parts {
					p.From, p.Count, p.Quiet = at, count, k == 0
					f.parts[r] = append(f.parts[r], p)
					want += len(p.Sends)
				}
				at += uint64(count)
			}
			for f.step() {
			}
			expect.MustTrue(t, f.arrived == want && len(f.tokens) == 0, "%d of %d fragments, %d tokens on their way", f.arrived, want, len(f.tokens))
			for r, x := range f.all {
				expect.True(t, len(x.windows) == 0 && len(x.early) == 0,
					"rank %d: %d windows and %d tokens are left", r, len(x.windows), len(x.early))
			}
		})
	}
}

// ofThree is rank 0 of three with a window: it sends to 1 and 2, and receives from them.
func ofThree(quiet bool, from uint64) *wire.Window {
	return &wire.Window{
		From: from, Count: 1, Quiet: quiet, Epoch: 5,
		Sends: wire.Turns{{To: 1, Spine: 0}, {To: 2, Spine: 0, Await: []int{1, 2}}},
		Takes: wire.Takes{{From: 2, Spine: 1}, {From: 1, Spine: 0}},
		Tells: wire.Tells{{After: 0, To: 1, Send: 1}},
	}
}

// A token that nobody waits for is refused; one that comes before its window is kept; one of
// a window that another plan has replaced means nothing.
//
//gate:race
func TestTokens(t *testing.T) {
	x := &turns{rank: 0, n: 3}
	of := func(rank int, window uint64, send int) note {
		return note{wire.Token{Rank: rank, Window: window, Send: send}, 5}
	}
	expect.True(t, x.token(of(2, 0, 1)), "one that comes early is refused")
	x.add(ofThree(true, 0))
	for _, bad := range []note{of(2, 0, 1), of(1, 0, 0), of(0, 0, 1), of(1, 0, 2), of(1, 0, -1), {wire.Token{Rank: 1, Send: 1}, 4}} {
		expect.True(t, !x.token(bad), "%+v is taken", bad)
	}
	x.windows[0].begun = true
	x.start(x.next())
	x.departed()
	expect.True(t, x.next() == nil, "starts without the token of rank 1")
	a := x.awaits()
	expect.True(t, slices.Equal(a.tokens, []wire.Token{{Rank: 1, Send: 1}}) && a.to == 2, "awaits %+v", a)
	expect.True(t, x.token(of(1, 0, 1)) && x.next() != nil, "does not start with all tokens")
	x.add(ofThree(false, 1))
	x.drop(1)
	expect.True(t, len(x.windows) == 1 && x.token(of(1, 1, 1)), "%d windows, and their tokens are refused", len(x.windows))
}

// A window that a worker could not rely on is refused.
func TestCheckWindow(t *testing.T) {
	for want, change := range map[string]func(*wire.Window){
		"":                                  func(*wire.Window) {},
		"0 exchanges":                       func(w *wire.Window) { w.Count = 0 },
		"3 exchanges, must be 1..2":         func(w *wire.Window) { w.Count = 3 },
		"after no window that ends there":   func(w *wire.Window) { w.Quiet = false },
		"send 1: exchange 0, rank 1":        func(w *wire.Window) { w.Sends[1].To = 1 },
		"send 0: exchange 0, rank 0":        func(w *wire.Window) { w.Sends[0].To = 0 },
		"send 0: exchange 0, rank 3":        func(w *wire.Window) { w.Sends[0].To = 3 },
		"send 0: exchange 1":                func(w *wire.Window) { w.Sends[0].Exchange = 1 },
		"spine -2":                          func(w *wire.Window) { w.Sends[0].Spine = -2 },
		"send 1: awaits rank 1":             func(w *wire.Window) { w.Sends[1].Await = []int{1, 1} },
		"send 1: awaits rank 3":             func(w *wire.Window) { w.Sends[1].Await[0] = 3 },
		"receive 1: exchange 0, rank 2":     func(w *wire.Window) { w.Takes[1].From = 2 },
		"token 0: after receive 2":          func(w *wire.Window) { w.Tells[0].After = 2 },
		"token 0: after receive -1":         func(w *wire.Window) { w.Tells[0].After = -1 },
		"for send 3 of rank 1":              func(w *wire.Window) { w.Tells[0].Send = 3 },
		"token 0: after receive 0, for s":   func(w *wire.Window) { w.Tells[0].To = -1 },
		"receive 0: exchange -1, rank 2, s": func(w *wire.Window) { w.Takes[0].Exchange = -1 },
	} {
		x, w := &turns{rank: 0, n: 3}, ofThree(true, 0)
		change(w)
		expect.ErrorIf(t, x.check(w, 2), want)
	}
}
