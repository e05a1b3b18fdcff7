// Package emulate is a model of a fat tree in user space, with a clock for each direction of each
// cable. A chunk of a message takes the wires of its path one after the other, first come, first
// served; the transport asks when it may be delivered (tcp.Pacer), and holds it back until then.
// With Options.Buffer the inputs of switches have finite buffers, and senders wait for room.
//
// No packets are lost: a chunk in transit when a link dies still arrives. Acknowledgements and
// barrier signals cost nothing. The caller passes the time; rates are bit/s, sizes bytes.
package emulate

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"evbench/internal/lists"
	"evbench/internal/unit"
	"evbench/topology"
)

const (
	// Bytes of a packet beside payload: outside the MTU, and inside it (IP and TCP with time
	// stamps), as the lab counts them.
	ethernet, headers = 14, 52

	// retry is the delay after which a chunk without a path asks again.
	retry = 2 * time.Millisecond
)

// Options describe a fabric.
type Options struct {
	// Tree is the fabric, with the links that are dead at first.
	Tree *topology.Tree
	// Rate of each direction of each cable.
	Rate unit.Rate
	// MTU in bytes.
	MTU int
	// Buffer is the size of each input of a switch, in bytes on the wire. A chunk is sent there
	// only when it fits. 0: unlimited.
	Buffer int
}

// A Fabric is the model. It is safe for concurrent use.
type Fabric struct {
	o Options

	mu    sync.Mutex
	start time.Time // time 0: the first reservation
	tree  *topology.Tree
	route func(src, dst int) int
	wires []wire
	path  []topology.Wire // scratch

	credits *credits // nil if buffers are unlimited
}

type wire struct {
	busy           []span // from now on; rising, disjoint
	bytes, packets uint64
}

// A span of time since the start, in nanoseconds.
type span struct{ from, to int64 }

// New returns a fabric whose wires are all free.
func New(o Options) *Fabric {
	f := &Fabric{o: o, wires: make([]wire, o.Tree.AllWires())}
	if o.Buffer > 0 {
		f.credits = newCredits(len(f.wires), o.Buffer)
	}
	f.Install(o.Tree, nil)
	return f
}

// Install replaces the dead links, by those of a view of the same tree, and the tables. route
// chooses the path (topology.Tree.PathOf) from src to dst on different leaves, below 0 without a
// route; nil: all paths are pinned. It is called under a lock.
func (f *Fabric) Install(t *topology.Tree, route func(src, dst int) int) {
	if t.AllWires() != f.o.Tree.AllWires() {
		panic(fmt.Sprintf("emulate: a view of %s for a fabric of %s", t.Notation(), f.o.Tree.Notation()))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tree = t
	if f.route = route; route == nil {
		f.route = func(int, int) int { return -1 }
	}
}

// SetTree replaces the dead links and keeps the tables: messages that they send over a dead link
// wait.
func (f *Fabric) SetTree(t *topology.Tree) {
	f.mu.Lock()
	route := f.route
	f.mu.Unlock()
	f.Install(t, route)
}

// Reserve puts a chunk on its way at now and returns when it arrives; see tcp.Pacer. In a lossless
// fabric that depends on later traffic: the time is the earliest arrival, and the caller asks
// Landed about the flight. A path below 0 is left to the tables. If the path is dead, ok is false
// and the time is when to ask again. O(wires on the path · flows on them).
func (f *Fabric) Reserve(src, dst, path, bytes int, now time.Time) (ready time.Time, flight int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		f.start = now
	}
	if !f.find(src, dst, path) {
		return now.Add(retry), 0, false
	}
	packets := uint64(bytes+f.o.MTU-headers-1) / uint64(f.o.MTU-headers)
	onWire := uint64(bytes) + packets*(ethernet+headers)
	d := int64(float64(onWire*8) / float64(f.o.Rate) * 1e9)
	at := int64(now.Sub(f.start))
	t := at
	for _, id := range f.path {
		w := &f.wires[id]
		w.bytes += onWire
		w.packets += packets
		if f.credits == nil {
			w.forget(at)
			t = w.reserve(t, d)
		}
	}
	if f.credits != nil {
		flight = f.credits.offer(f.path, int(onWire), d, at)
	}
	return f.start.Add(time.Duration(t + d)), flight, true
}

// Landed returns when a chunk of a lossless fabric has arrived; if it has not arrived, ok is false
// and the time is when to ask again.
func (f *Fabric) Landed(flight int, now time.Time) (at time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.credits.landed(flight, int64(now.Sub(f.start)))
	return f.start.Add(time.Duration(t)), ok
}

// find puts the wires of a path into f.path. It reports false if one of them is dead or the path
// does not exist.
func (f *Fabric) find(src, dst, path int) bool {
	a, b := f.tree.Leaf(src), f.tree.Leaf(dst)
	if a != b {
		if path < 0 {
			path = f.route(src, dst)
		}
		if path < 0 || path >= f.tree.Paths() || !f.tree.PathAlive(a, b, path) {
			return false
		}
	}
	f.path = f.tree.Path(f.path[:0], src, dst, path)
	return true
}

func (w *wire) forget(now int64) {
	n := 0
	for n < len(w.busy) && w.busy[n].to <= now {
		n++
	}
	w.busy = slices.Delete(w.busy, 0, n)
}

// reserve takes the first free span of length d that starts at t or later, and returns its start. A
// chunk that waits elsewhere on its path leaves a gap here, which another one may use, as packets
// would.
func (w *wire) reserve(t, d int64) int64 {
	i := 0
	for ; i < len(w.busy) && w.busy[i].from < t+d; i++ {
		t = max(t, w.busy[i].to)
	}
	joinsLast := i > 0 && w.busy[i-1].to == t
	joinsNext := i < len(w.busy) && w.busy[i].from == t+d
	switch {
	case joinsLast && joinsNext:
		w.busy[i-1].to = w.busy[i].to
		w.busy = slices.Delete(w.busy, i, i+1)
	case joinsLast:
		w.busy[i-1].to = t + d
	case joinsNext:
		w.busy[i].from = t
	default:
		w.busy = slices.Insert(w.busy, i, span{t, t + d})
	}
	return t
}

// A Count is the traffic of a wire, headers included.
type Count struct {
	Wire           topology.Wire
	Bytes, Packets uint64
}

// Counters returns the counts of all wires, by wire.
func (f *Fabric) Counters() []Count {
	f.mu.Lock()
	defer f.mu.Unlock()
	return lists.Tabulate(len(f.wires), func(i int) Count { return Count{topology.Wire(i), f.wires[i].bytes, f.wires[i].packets} })
}
