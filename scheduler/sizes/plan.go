package sizes

import (
	"errors"
	"fmt"

	"evbench/scheduler"
	"evbench/topology"
)

// A Piece is a fragment, or a part of one, in byte times and bytes. Servers are ranks.
type Piece struct {
	Src, Dst int
	Spine    int // scheduler.None within a leaf
	Start    int64
	Bytes    int64
	Offset   int64 // of its first byte in the fragment
	Exchange int   // in the window, 0 first
}

// A Plan says when each fragment starts.
type Plan struct {
	Time  int64  // when the last fragment has ended
	Order string // what found it: OrderList, OrderFORS
	Bound scheduler.ByteBound

	tree   *topology.Tree
	window []*Matrix
	cost   int64    // the time with overheads
	placed []placed // by start and src
}

// Orders of fragments.
const (
	OrderList = "list"       // list schedule
	OrderFORS = "fors-order" // that of the phases of FORS, without barriers
)

// placed is a fragment that has its start.
type placed struct {
	start    int64
	src, dst uint16
	spine    int16
	exchange uint16
}

// Options steer the search for a plan; the zero value works.
type Options struct {
	Seed uint64
	Runs int // list schedules that are tried; 0: as many as a few milliseconds allow
	// Order asks for one kind of order; "": the best of all.
	Order string
	// Overhead, in byte times, comes before each fragment when it is sent in order with
	// tokens: a token and a message. Plans are compared by their time with it.
	Overhead int64
}

// MaxWindow bounds the exchanges of a window.
const MaxWindow = 16

// Pieces returns the pieces by start and src.
func (p *Plan) Pieces() func(yield func(Piece) bool) {
	return func(yield func(Piece) bool) {
		for _, x := range p.placed {
			i, j := int(x.src), int(x.dst)
			if !yield(Piece{i, j, int(x.spine), x.start, p.window[x.exchange].Size(i, j), 0, int(x.exchange)}) {
				return
			}
		}
	}
}

// Len returns the number of pieces.
func (p *Plan) Len() int { return len(p.placed) }

// Efficiency returns the bound over the time: 1 is optimal.
func (p *Plan) Efficiency() float64 { return float64(p.Bound.Time) / float64(p.Time) }

// similar is up to which largest size over the mean the order of FORS is tried.
const similar = 1.3

// Make plans one exchange, as MakeWindow.
func Make(t *topology.Tree, m *Matrix, o Options) (*Plan, error) {
	return MakeWindow(t, []*Matrix{m}, o)
}

// MakeWindow plans exchanges back to back on a two-level tree: a server that has nothing
// to do in the oldest exchange goes on with the next. The bound is that of all together.
// It keeps the best of a portfolio: the order of FORS' phases where sizes are similar, and
// list schedules with several priorities and seeds. It ends early at the bound. Leaves
// that share no live spine and have bytes for each other are a
// *topology.UnreachableError.
func MakeWindow(t *topology.Tree, window []*Matrix, o Options) (*Plan, error) {
	sum, err := add(t, window)
	if err != nil {
		return nil, err
	}
	bound, shares, err := scheduler.BoundBytes(t, sum.Size)
	if err != nil {
		return nil, err
	}
	p := &Plan{Bound: bound, tree: t, window: window}
	l := newLister(t, window, shares)
	if err := p.search(l, o); err != nil {
		return nil, err
	}
	sortPlaced(p.placed)
	return p, nil
}

// add returns the sizes of all exchanges of a window together.
func add(t *topology.Tree, window []*Matrix) (*Matrix, error) {
	if len(window) == 0 || len(window) > MaxWindow {
		return nil, fmt.Errorf("a window of %d exchanges: must be 1..%d", len(window), MaxWindow)
	}
	sum := &Matrix{servers: t.Servers(), bytes: make([]int64, t.Servers()*t.Servers())}
	for _, m := range window {
		if m.servers != t.Servers() {
			return nil, fmt.Errorf("sizes of %d servers, the tree has %d", m.servers, t.Servers())
		}
		if sum.sum += m.sum; sum.sum > maxSum {
			return nil, fmt.Errorf("all fragments of the window together have more than %d bytes", int64(maxSum))
		}
		for at, n := range m.bytes {
			sum.bytes[at] += n
		}
	}
	if sum.sum == 0 {
		return nil, errors.New("no fragment has bytes")
	}
	return sum, nil
}

// search tries the portfolio.
func (p *Plan) search(l *lister, o Options) error {
	if o.Overhead < 0 || o.Overhead > MaxBytes {
		return fmt.Errorf("overhead %d: must be 0..%d byte times", o.Overhead, int64(MaxBytes))
	}
	if o.Order != "" && o.Order != OrderList && o.Order != OrderFORS {
		return fmt.Errorf("no order %q; there are %s and %s", o.Order, OrderList, OrderFORS)
	}
	if o.Order == OrderFORS || o.Order == "" && p.similar(l) {
		if order := forsOrder(p.tree, len(p.window)); order != nil {
			p.keep(l, OrderFORS, l.follow(order), o.Overhead)
		} else if o.Order == OrderFORS {
			return fmt.Errorf("%s without %v: FORS has no schedule", p.tree.Notation(), p.tree.DownNames())
		}
	}
	if o.Order == OrderFORS {
		return nil
	}
	runs := o.Runs
	if runs == 0 {
		runs = min(maxRuns, max(1, workload/l.count))
	}
	for run := range runs {
		if o.Overhead == 0 && p.Time == p.Bound.Time {
			break
		}
		p.keep(l, OrderList, l.list(priorityOf(run, o.Seed)), o.Overhead)
	}
	return nil
}

// similar reports whether the order of FORS is worth a try.
func (p *Plan) similar(l *lister) bool {
	largest := int64(0)
	for _, m := range p.window {
		largest = max(largest, m.largest())
	}
	return float64(largest) <= similar*float64(l.sum)/float64(l.count)
}

const (
	maxRuns  = 64
	workload = 13_000 // fragments planned in all runs together, but for one run of more
)

// keep takes the schedule that the lister holds if it is better than the best so far:
// shorter with overheads, then shorter.
func (p *Plan) keep(l *lister, order string, time, overhead int64) {
	cost := time
	if overhead > 0 {
		cost = l.timed(overhead, func(int, int64) {})
	}
	if p.placed == nil || cost < p.cost || cost == p.cost && time < p.Time {
		p.Time, p.Order, p.cost = time, order, cost
		p.placed = append(p.placed[:0], l.placed...)
	}
}

func (m *Matrix) largest() int64 {
	most := int64(0)
	for _, n := range m.bytes {
		most = max(most, n)
	}
	return most
}
