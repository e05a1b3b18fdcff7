package sim

import (
	"fmt"
	"math"
	"slices"
)

// Orders are the rule of mode ordered: each server sends its pieces in the order of the
// plans, each when the one before has arrived and all tokens for it have come.
type orders struct {
	*windows
	list []*ordering // granted
	live int         // those before have ended
	at   []turnOf    // by server
	want bool        // the next window is granted, and has not begun
	when float64     // when it was
}

type ordering struct {
	*window
	*tally
	sends []int   // by server, pieces not sent whole
	waits []int32 // by piece, tokens not yet here
	next  [][]int // by piece, the places of those that await its reception
	came  []float64
}

type turnOf struct {
	todo []int // places of pieces, in order
	busy bool
	step uint64 // sends so far, for jitter
}

// The place of a piece is the number of its window and its own in one number.
const windowBits = 32

func placeOf(window, piece int) int { return window<<windowBits | piece }

func (o *orders) find(place int) (*ordering, int) {
	return o.list[place>>windowBits], place & (1<<windowBits - 1)
}

// aToken is the moment at which a token comes for the piece at place a.
const aToken = aSend + 1

func newOrders(j *Job) *orders {
	return &orders{windows: newWindows(j), at: make([]turnOf, j.Plan.Tree.Servers())}
}

func (o *orders) begin(f *stage) {
	o.want, o.clock = true, f.meter.clock
	o.open(f)
}

// open begins the next window, if it is granted and may begin, and its events have happened.
func (o *orders) open(f *stage) {
	if under := len(o.list) - o.live; !o.want || under > 1 || under > 0 && f.plans.now != o.by {
		return
	}
	if o.clock != nil && !o.clock.ready(f, o.next) {
		return
	}
	o.want = false
	w, err := o.grant(f.plans.now, o.when)
	if err != nil {
		f.fail = err
		return
	}
	x := &ordering{
		window: w, tally: o.tally(w, f.now, f.meter), sends: slices.Clone(w.own),
		waits: make([]int32, len(w.pieces)), next: make([][]int, len(w.pieces)), came: make([]float64, len(w.pieces)),
	}
	number := len(o.list)
	o.list = append(o.list, x)
	for i := range w.pieces {
		x.came[i] = math.Inf(1)
		o.await(f, number, i)
		t := &o.at[w.pieces[i].Src]
		t.todo = append(t.todo, placeOf(number, i))
	}
	for s := range o.at {
		o.send(f, s)
	}
}

func (o *orders) await(f *stage, number, i int) {
	x := o.list[number]
	for _, t := range x.tokens[i] {
		if t.Back > 1 {
			continue // received
		}
		of, k := o.list[number-int(t.Back)], t.Piece
		switch {
		case math.IsInf(of.came[k], 1):
			of.next[k] = append(of.next[k], placeOf(number, i))
		case int(t.Rank) == x.pieces[i].Src || of.came[k]+o.j.Timing.Round.Seconds() <= f.now:
			continue
		default:
			f.wake(moment{at: of.came[k] + o.j.Timing.Round.Seconds(), kind: aToken, a: placeOf(number, i)})
		}
		x.waits[i]++
	}
}

// send starts the next piece of a server, if the one before has arrived and its tokens
// are here.
func (o *orders) send(f *stage, s int) {
	t := &o.at[s]
	if t.busy || len(t.todo) == 0 {
		return
	}
	x, i := o.find(t.todo[0])
	if x.waits[i] > 0 {
		return
	}
	t.busy = true
	t.step++
	p := &x.pieces[i]
	x.sent(p, f.begin(o.j, s, t.step, o.fragment(x.window, p)))
}

func (o *orders) ended(f *stage, stream int32, _ *fragment) {
	s := int(stream)
	t := &o.at[s]
	x, i := o.find(t.todo[0])
	t.todo, t.busy = t.todo[1:], false
	p := &x.pieces[i]
	x.came[i] = f.now
	o.received(x.window, x.tally, p, f.now, f.meter)
	o.settle(f.now)
	for _, place := range x.next[i] {
		if y, k := o.find(place); y.pieces[k].Src == p.Dst {
			o.token(f, place)
		} else {
			f.wake(moment{at: f.now + o.j.Timing.Round.Seconds(), kind: aToken, a: place})
		}
	}
	x.next[i] = nil
	for o.live < len(o.list) && o.list[o.live].left == 0 {
		o.live++
	}
	if o.live > 1 {
		o.list[o.live-2] = nil // nothing awaits its pieces
	}
	if x.sends[s]--; x.sends[s] == 0 && x == o.list[len(o.list)-1] {
		if !o.want && (o.clock != nil || o.j.more(o.next, f.now+same(o.j))) {
			o.want, o.when = true, f.now
		}
	}
	o.open(f)
	o.send(f, s)
}

func (o *orders) token(f *stage, place int) {
	x, i := o.find(place)
	x.waits[i]--
	o.send(f, x.pieces[i].Src)
}

func (o *orders) due(f *stage, m moment) {
	if m.kind == aTick {
		o.open(f)
		return
	}
	o.token(f, m.a)
}

func (o *orders) idle() string {
	for s := range o.at {
		if todo := o.at[s].todo; len(todo) > 0 {
			x, i := o.find(todo[0])
			p := &x.pieces[i]
			return fmt.Sprintf("rank %d waits for %d tokens for its piece to rank %d of exchange %d", p.Src, x.waits[i], p.Dst, x.first+p.Exchange)
		}
	}
	return ""
}
