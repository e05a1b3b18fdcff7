package lft

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/network"
)

// Deadlocks says whether routes can wait for each other in a circle. A route that
// holds one cable and needs the next makes the first depend on the second; the
// routes are free of deadlock if no lane has a cycle of dependencies (Dally and
// Seitz, "Deadlock-Free Message Routing in Multiprocessor Interconnection
// Networks", 1987).
type Deadlocks struct {
	Lanes        int `json:"lanes"`        // in use
	Dependencies int `json:"dependencies"` // in all lanes
	// Cyclic are the lanes with a cycle.
	Cyclic []int `json:"cyclic"`
	// Cycle is a cycle of the first such lane: the ports by which packets leave, each waiting for
	// the next, and the last for the first.
	Cycle []network.End `json:"-"`
	Names []string      `json:"cycle,omitempty"`
}

// Free reports whether there is no cycle.
func (d *Deadlocks) Free() bool { return len(d.Cyclic) == 0 }

// Deadlock looks for cycles in the channel dependency graph of each lane. Dependencies of routes
// between hosts count, up to where the routes end; unused entries do not. O((S + leaves) · LIDs)
// time, and C·P bits for each lane with C channels of switches with P ports.
func Deadlock(t *Tables) *Deadlocks {
	g := newGraph(t.Net)
	d := &dependencies{g: g, lanes: t.Lanes(), words: (g.stride + 63) / 64}
	d.bits = make([]uint64, d.lanes*len(g.far)*d.words)
	visitors := lists.Tabulate(parallel.Workers(0), func(w int) *dependant {
		return &dependant{dependencies: d, t: t, seen: make([]int32, d.lanes*t.Net.Switches())}
	})
	sweep(t, g, visitors)
	out := &Deadlocks{Lanes: d.lanes, Cyclic: []int{}, Dependencies: d.count()}
	for lane := range d.lanes {
		cycle := d.cycle(lane)
		if cycle == nil {
			continue
		}
		if out.Cyclic = append(out.Cyclic, lane); len(out.Cyclic) > 1 {
			continue
		}
		for _, c := range cycle {
			e := g.end(c)
			out.Cycle = append(out.Cycle, e)
			out.Names = append(out.Names, t.Net.EndName(e))
		}
	}
	return out
}

// dependencies are bits: by lane, channel, and port of the switch to which the
// channel leads.
type dependencies struct {
	g     *graph
	lanes int
	words int
	bits  []uint64
}

func (d *dependencies) of(lane int, channel int32) []uint64 {
	at := (lane*len(d.g.far) + int(channel)) * d.words
	return d.bits[at : at+d.words]
}

func (d *dependencies) add(lane int, channel int32, port uint8) {
	word, bit := &d.of(lane, channel)[port/64], uint64(1)<<(port%64)
	if atomic.LoadUint64(word)&bit == 0 {
		atomic.OrUint64(word, bit)
	}
}

// A dependant is the visitor of Deadlock.
type dependant struct {
	*dependencies
	t    *Tables
	seen []int32 // by lane and switch: the last LID whose route passed here
}

func (d *dependant) visit(lid int, dst network.Node, column []uint8) {
	if (d.t.vl != nil || d.t.sl != nil) && d.g.n.IsOther(dst) {
		return // lanes are for the routes between hosts
	}
	for _, l := range d.g.leaves {
		if d.g.sources(l, dst) == 0 {
			continue
		}
		for lanes := d.t.lanesOf(l.sw, lid); lanes != 0; lanes &= lanes - 1 {
			d.follow(l.sw, lid, column, bits.TrailingZeros16(lanes))
		}
	}
}

// follow adds the dependencies of a route from a switch on a lane.
func (d *dependant) follow(at int32, lid int, column []uint8, lane int) {
	seen, held := d.seen[lane*d.g.n.Switches():], nowhere
	for {
		next := d.g.next(at, column[at])
		if next < 0 {
			return
		}
		if held != nowhere {
			d.add(lane, held, column[at])
		}
		if seen[at] == int32(lid) {
			return
		}
		seen[at] = int32(lid)
		held, at = d.g.channel(at, column[at]), next
	}
}

func (d *dependencies) count() int {
	return lists.Sum(d.bits, func(w uint64) int { return bits.OnesCount64(w) })
}

// cycle returns the channels of a cycle of a lane, or nil. It walks depth first,
// channels and ports in rising order.
func (d *dependencies) cycle(lane int) []int32 {
	const onPath, over = 1, 2
	state := make([]uint8, len(d.g.far))
	var path []int32
	var port []int // the next port to try, by place on the path
	for c := range d.g.far {
		if state[c] != 0 {
			continue
		}
		path, port = append(path, int32(c)), append(port, 0)
		state[c] = onPath
		for len(path) > 0 {
			top := len(path) - 1
			p := d.after(lane, path[top], port[top])
			if p < 0 {
				state[path[top]] = over
				path, port = path[:top], port[:top]
				continue
			}
			port[top] = p + 1
			next := d.g.channel(d.g.far[path[top]], uint8(p))
			switch state[next] {
			case onPath:
				return path[slices.Index(path, next):]
			case 0:
				state[next] = onPath
				path, port = append(path, next), append(port, 0)
			}
		}
	}
	return nil
}

// after returns the first port, at or after from, on which a channel depends, or -1.
func (d *dependencies) after(lane int, channel int32, from int) int {
	bits := d.of(lane, channel)
	for p := from; p < d.g.stride; p++ {
		if bits[p/64]>>(p%64)&1 != 0 {
			return p
		}
	}
	return -1
}
