package sim

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"evbench/scheduler"
	"evbench/scheduler/list"
)

// longest is the phase model of mode ordered, which has no phases: the longest path in the graph of
// tokens. A piece starts when its server has sent the one before and all tokens for it have come,
// each a round of the barrier after the reception that it reports. Then come the overhead and the
// server's delay. The model takes each piece to be alone on its links, as tokens should make it;
// Fluid and Packets check that.
//
// A change takes over as described at windows. Pieces under way end on the paths on which they
// began. O(pieces + tokens) for each window, and the memory of two.
func longest(ctx context.Context, j *Job, progress Progress) (*Outcome, error) {
	if err := fits(j); err != nil {
		return nil, err
	}
	if j.PortTokens {
		return nil, errors.New("without tokens for links pieces share links, which only the fluid model computes")
	}
	x := newPaths(j)
	var told time.Duration
	for x.more() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := x.window(); err != nil {
			return nil, err
		}
		if now := min(seconds(x.granted), j.Duration); progress != nil && now > told {
			told = now
			progress(now, j.Duration)
		}
	}
	x.settle(math.Inf(1))
	return x.meter.outcome(j), nil
}

// more reports whether there is another window. With a load it is granted when the events of an exchange have happened.
func (x *paths) more() bool {
	c := x.clock
	if c == nil {
		return x.j.more(x.next, x.granted+same(x.j))
	}
	for {
		x.settle(x.granted)
		if c.run(x.granted); c.happened(x.next) {
			return true
		}
		next, more := c.trigger.Next()
		if !more {
			return false
		}
		x.granted = max(x.granted, next.Seconds())
	}
}

// paths are the longest paths so far, window by window. Times are seconds.
type paths struct {
	*windows
	net     *network
	meter   *meter
	granted float64   // when the next window is
	begin   float64   // no piece of the last window starts before
	early   float64   // when all pieces but those of the last window are received
	done    float64   // when all pieces so far are
	free    []float64 // by server, when it has sent all pieces so far
	step    []uint64  // by server, pieces sent
	ends    []float64 // when the pieces of the last window were received
	wires   []int32
}

func newPaths(j *Job) *paths {
	n, net := j.Plan.Tree.Servers(), networkOf(j.Plan, j.Seed)
	x := &paths{windows: newWindows(j), net: net, meter: newMeter(j, net.wires), free: make([]float64, n), step: make([]uint64, n)}
	x.clock = x.meter.clock
	return x
}

func (x *paths) window() error {
	x.begin = max(x.granted, x.early)
	by := x.j.inForce(x.begin)
	if x.next > 0 && by != x.by {
		x.begin = x.done
		by = x.j.inForce(x.begin)
	}
	x.early = x.done
	w, err := x.grant(by, x.granted)
	if err != nil {
		return err
	}
	t, left := x.tally(w, x.begin, x.meter), slices.Clone(w.own)
	x.granted = math.Inf(1)
	ends := make([]float64, len(w.pieces))
	for i := range w.pieces {
		p := &w.pieces[i]
		x.step[p.Src]++
		start := x.start(w, i, ends) + late(x.j, p.Src, x.step[p.Src]) + x.j.Timing.Overhead.Seconds()
		ends[i] = start + x.put(w, p)*8/x.j.BitPerSec
		x.meter.first = min(x.meter.first, start)
		t.sent(p, start)
		x.received(w, t, p, ends[i], x.meter)
		x.meter.arrived(ends[i], p.Src, p.Dst, uint64(p.Bytes))
		x.free[p.Src], x.done = ends[i], max(x.done, ends[i])
		if left[p.Src]--; left[p.Src] == 0 {
			x.granted = min(x.granted, ends[i])
		}
	}
	x.ends = ends
	return nil
}

func (x *paths) start(w *window, i int, ends []float64) float64 {
	src, round := w.pieces[i].Src, x.j.Timing.Round.Seconds()
	at := max(x.begin, x.free[src])
	for _, t := range w.tokens[i] {
		end := math.Inf(-1) // received before this window began
		switch t.Back {
		case 0:
			end = ends[t.Piece]
		case 1:
			end = x.ends[t.Piece]
		}
		if int(t.Rank) != src {
			end += round
		}
		at = max(at, end)
	}
	return at
}

func (x *paths) put(w *window, p *list.Piece) float64 {
	f := x.fragment(w, p)
	by := scheduler.None
	if f.by > 0 {
		by = int(f.by) - 1
	}
	x.wires = x.net.through(x.wires[:0], p.Src, p.Dst, by)
	for _, wire := range x.wires {
		x.meter.wire[wire] += f.bytes
	}
	return f.bytes
}
