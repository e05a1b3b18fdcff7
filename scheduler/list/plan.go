package list

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// A Piece is a fragment, or a part of one, in byte times and bytes. Servers are ranks.
type Piece struct {
	Src, Dst int
	Path     int // topology.Tree.PathOf; scheduler.None within a leaf
	Start    int64
	Bytes    int64
	Offset   int64 // of its first byte in the fragment
	Exchange int   // in the window, 0 first
}

// A Plan says when each fragment starts.
type Plan struct {
	Time  int64           // when the last fragment has ended
	Order string          // what found it: OrderList, OrderFORS
	Bound scheduler.Bound // in byte times

	Tree   *topology.Tree
	Window []*Matrix // the exchanges

	layers []*Matrix // the window, and the sizes of parts
	cost   int64     // what plans are compared by
	free   []int64   // by wire, when it is free, with overheads
	placed []placed  // by start and src
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
	path     uint16 // noPath within a leaf
	layer    uint16 // its exchange, plus the length of the window for each part before it
}

const noPath = math.MaxUint16 // above topology.MaxPorts², which bounds paths

func pathOf(path int) uint16 {
	if path == scheduler.None {
		return noPath
	}
	return uint16(path)
}

// Options steer the search for a plan; the zero value works.
type Options struct {
	Seed uint64
	Runs int // list schedules that are tried; 0: as many as a few milliseconds allow
	// Order asks for one kind of order; "": the best of all.
	Order string
	// Split: the last fragments may be sent in parts, where that wins.
	Split bool
	// Overhead, in byte times, comes before each fragment when it is sent in order with
	// tokens: a token and a message. Plans are compared by their time with it.
	Overhead int64
	// Paths: fragments take the paths of this schedule, which has one from each leaf to each
	// server, and OrderFORS is its order; nil: any paths.
	Paths *scheduler.Schedule
	// After: the plan follows the windows of a chain of the same tree and waits for ports and links
	// that they still use. nil: the network is quiet.
	After *Chain
}

// Pieces returns the pieces by start and src.
func (p *Plan) Pieces() func(yield func(Piece) bool) {
	return func(yield func(Piece) bool) {
		w := len(p.Window)
		sent := map[[2]int]int64{} // of fragments in parts
		for _, x := range p.placed {
			i, j, e := int(x.src), int(x.dst), int(x.layer)%w
			path := int(x.path)
			if x.path == noPath {
				path = scheduler.None
			}
			piece := Piece{i, j, path, x.start, p.layers[x.layer].Size(i, j), 0, e}
			if piece.Bytes < p.Window[e].Size(i, j) {
				f := [2]int{e, i*p.Tree.Servers() + j}
				piece.Offset = sent[f]
				sent[f] += piece.Bytes
			}
			if !yield(piece) {
				return
			}
		}
	}
}

// Len returns the number of pieces.
func (p *Plan) Len() int { return len(p.placed) }

// Efficiency returns the bound over the time: 1 is optimal.
func (p *Plan) Efficiency() float64 { return float64(p.Bound.Phases) / float64(p.Time) }

// similar is the ratio of largest to mean size up to which the order of FORS is tried.
const similar = 1.3

// Make plans one exchange, as MakeWindow.
func Make(t *topology.Tree, m *Matrix, o Options) (*Plan, error) {
	return MakeWindow(t, []*Matrix{m}, o)
}

// MakeWindow plans exchanges back to back: a server that has nothing to do in the oldest exchange
// starts the next. One bound covers all exchanges. MakeWindow keeps the best of a portfolio: the
// order of FORS' phases where sizes are similar, and list schedules with several priorities and
// seeds. It ends early at the bound. Leaves that share no live path and have bytes for each other
// are a *topology.UnreachableError.
func MakeWindow(t *topology.Tree, window []*Matrix, o Options) (*Plan, error) {
	sum, err := add(t.Shape, window)
	if err == nil {
		err = sum.meets(t)
	}
	if err != nil {
		return nil, err
	}
	bound, shares, err := scheduler.BoundBytes(t, sum.Size)
	if err != nil {
		return nil, err
	}
	until, err := o.After.after(t)
	if err != nil {
		return nil, err
	}
	p := &Plan{Bound: bound, Tree: t, Window: window}
	l := newLister(t, window, int64(bound.Phases), shares, until)
	l.paths = o.Paths
	if err := p.search(l, o); err != nil {
		return nil, err
	}
	sortPlaced(p.placed)
	return p, nil
}

func add(t *topology.Shape, window []*Matrix) (*Matrix, error) {
	if len(window) == 0 || len(window) > schedules.MaxWindow {
		return nil, fmt.Errorf("a window of %d exchanges: must be 1..%d", len(window), schedules.MaxWindow)
	}
	sum := newMatrix(t.Servers())
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

func (p *Plan) search(l *lister, o Options) error {
	if o.Overhead < 0 || o.Overhead > MaxBytes {
		return fmt.Errorf("overhead %d: must be 0..%d byte times", o.Overhead, int64(MaxBytes))
	}
	if o.Order != "" && o.Order != OrderList && o.Order != OrderFORS {
		return fmt.Errorf("no order %q; there are %s and %s", o.Order, OrderList, OrderFORS)
	}
	if o.Order == OrderFORS || o.Order == "" && p.similar(l) {
		if order := forsOrder(p.Tree, o.Paths, len(p.Window)); order != nil {
			l.follow(order)
			p.keep(l, OrderFORS, o.Overhead)
		} else if o.Order == OrderFORS {
			return fmt.Errorf("%s without %v: FORS has no schedule", p.Tree.Notation(), p.Tree.DownNames())
		}
	}
	if o.Order != OrderFORS {
		p.lists(l, o)
	}
	return nil
}

// Limits of the search.
const (
	workload = 36_000    // servers that are considered in all runs together
	fewest   = 2         // runs of the tail where one run is more
	most     = 64        // runs, and runs of the tail
	large    = 1_000_000 // fragments above which one quick run is all
	many     = 50_000    // fragments above which servers with a little less to go wait, too
	good     = 0.99      // bound over time at which none is sent in parts
	poor     = 0.96      // bound over time that asks for up to two more runs
)

// lists tries list schedules, then other ends of the best ones: their last fragments in another
// order, and in parts.
func (p *Plan) lists(l *lister, o Options) {
	each := max(1, l.count/l.servers) // fragments of a server
	end := max(6, min(16, each/4))    // those in the tail
	l.cut = max(1, l.bound-int64(float64(l.bound)*min(0.6, float64(end)/float64(each))))
	more := func(run int) bool {
		if o.Runs > 0 {
			return run < o.Runs
		}
		poorly := run < 3 && l.looks < 3*workload && float64(l.bound) < poor*float64(p.Time)
		fits := run < most && (run+1)*l.looks <= run*workload/2 // one more, in half of it
		return run == 0 || fits || poorly
	}
	done := func() bool { return o.Overhead == 0 && o.After == nil && p.Time == l.bound }
	run, least, best := 0, int64(0), state{}
	for ; more(run) && !done(); run++ {
		first := priorityOf(run, o.Seed)
		switch {
		case l.count > large:
			first.hold = 0
		case run == 0 && l.count > many:
			first.hold = 0.88
		}
		if time := l.list(first); run == 0 || time < least {
			least = time
			best, l.saved = l.saved, best
		}
		p.keep(l, OrderList, o.Overhead)
	}
	if each <= end { // the tail is all
		best.assign(&l.fresh)
		l.cut = 0
	}
	half := (l.looks + workload) / 2
	for run := 1; run <= most && (run <= fewest || l.looks < workload) && l.count <= large && !done(); run++ {
		if o.Split && (run > most/2 || l.looks > half) && float64(l.bound) < good*float64(p.Time) {
			l.split(&best, min(4, 2+16/each), max(1, l.sum/int64(l.count)/3, 4*o.Overhead))
			o.Split = false
		}
		if o.Overhead == 0 && o.After == nil {
			l.limit = p.Time
		}
		l.tail(priorityOf(run, o.Seed), &best)
		p.keep(l, OrderList, o.Overhead)
	}
}

func (p *Plan) similar(l *lister) bool {
	largest := lists.MaxOf(p.Window, func(m *Matrix) int64 { return slices.Max(m.bytes) })
	return float64(largest) <= similar*float64(l.sum)/float64(l.count)
}

// keep takes the schedule of the lister if it is better than the best so far: shorter with
// overheads, then shorter. After other windows half the mean time at which a port is free counts as
// well, as the next window can use the port.
func (p *Plan) keep(l *lister, order string, overhead int64) {
	if l.hopeless {
		return
	}
	time := l.timed(overhead, l.free)
	cost := time
	if l.until != nil {
		cost += l.meanFree() / 2
	}
	if overhead > 0 {
		time = l.timed(0, l.bare)
	}
	if p.placed == nil || cost < p.cost || cost == p.cost && time < p.Time {
		p.Time, p.Order, p.cost, p.layers = time, order, cost, l.layers
		p.placed = append(p.placed[:0], l.placed...)
		p.free = append(p.free[:0], l.free...)
	}
}

func (l *lister) meanFree() int64 {
	sum := int64(0)
	for i := range l.servers {
		sum += l.free[l.tree.FromServer(i)] + l.free[l.tree.ToServer(i)]
	}
	return sum / int64(2*l.servers)
}
