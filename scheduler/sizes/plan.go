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
}

// A Plan says when each fragment starts.
type Plan struct {
	Time  int64  // when the last fragment has ended
	Order string // what found it: OrderList, OrderFORS
	Bound scheduler.ByteBound

	sizes  *Matrix
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
}

// Options steer the search for a plan; the zero value works.
type Options struct {
	Seed uint64
	Runs int // list schedules that are tried; 0: as many as a few milliseconds allow
}

// Pieces returns the pieces by start and src.
func (p *Plan) Pieces() func(yield func(Piece) bool) {
	return func(yield func(Piece) bool) {
		for _, x := range p.placed {
			i, j := int(x.src), int(x.dst)
			if !yield(Piece{i, j, int(x.spine), x.start, p.sizes.Size(i, j), 0}) {
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

// Make plans for the sizes of fragments on a two-level tree. It keeps the best of a
// portfolio: the order of FORS' phases where sizes are similar, and list schedules with
// several priorities and seeds. It ends early at the bound. Leaves that share no live spine and have bytes for each other are a
// *topology.UnreachableError.
func Make(t *topology.Tree, m *Matrix, o Options) (*Plan, error) {
	if m.servers != t.Servers() {
		return nil, fmt.Errorf("sizes of %d servers, the tree has %d", m.servers, t.Servers())
	}
	if m.sum == 0 {
		return nil, errors.New("no fragment has bytes")
	}
	bound, shares, err := scheduler.BoundBytes(t, m.Size)
	if err != nil {
		return nil, err
	}
	p := &Plan{Bound: bound, sizes: m}
	l := newLister(t, m, shares)
	if float64(m.largest()) <= similar*float64(m.sum)/float64(l.count) {
		if order := forsOrder(t); order != nil {
			p.keep(l, OrderFORS, l.follow(order))
		}
	}
	runs := o.Runs
	if runs == 0 {
		runs = min(maxRuns, max(1, workload/l.count))
	}
	for run := range runs {
		if p.Time == bound.Time {
			break
		}
		p.keep(l, OrderList, l.list(priorityOf(run, o.Seed)))
	}
	sortPlaced(p.placed)
	return p, nil
}

const (
	maxRuns  = 64
	workload = 13_000 // fragments planned in all runs together, but for one run of more
)

// keep takes the schedule that the lister holds if it is shorter than the best so far.
func (p *Plan) keep(l *lister, order string, time int64) {
	if p.placed == nil || time < p.Time {
		p.Time, p.Order = time, order
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
