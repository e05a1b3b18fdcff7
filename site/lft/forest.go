package lft

import "evbench/site/network"

// A forest holds the routes to one LID: the entries of all switches make a tree to the destination,
// and other trees that end elsewhere.
type forest struct {
	g      *graph
	dst    int32
	column []uint8
	hops   []int32 // switches to go, this one included; 0 unknown, or less: see fault
	done   []int32 // switches whose hops are known, none before the next on its way
	stack  []int32
}

// onStack marks the switches of the route being followed. Smaller values are faults.
const onStack = -1

func faulty(f Fault) int32   { return onStack - int32(f) }
func fault(hops int32) Fault { return Fault(onStack - hops) }

func newForest(g *graph) *forest {
	return &forest{g: g, hops: make([]int32, g.n.Switches())}
}

func (f *forest) begin(dst network.Node, column []uint8) {
	f.dst, f.column = atHost(dst), column
	for _, i := range f.done {
		f.hops[i] = 0
	}
	f.done = f.done[:0]
}

// follow returns the number of switches on the route from a switch, or a fault.
// All calls for one LID together take O(S).
func (f *forest) follow(at int32) int32 {
	var end int32 // of the rest: switches to go, or a fault
	for {
		if end = f.hops[at]; end == onStack {
			end = faulty(Loop)
		}
		if end != 0 {
			break
		}
		f.hops[at] = onStack
		f.stack = append(f.stack, at)
		next := f.g.next(at, f.column[at])
		if next < 0 {
			end = f.stop(f.column[at], next)
			break
		}
		at = next
	}
	for k := len(f.stack) - 1; k >= 0; k-- {
		if end >= 0 {
			end++
		}
		f.hops[f.stack[k]] = end
		f.done = append(f.done, f.stack[k])
	}
	f.stack = f.stack[:0]
	return end
}

func (f *forest) stop(port uint8, next int32) int32 {
	switch {
	case next == f.dst:
		return 0
	case port == NoPort:
		return faulty(NoEntry)
	case next != nowhere || port == 0:
		return faulty(WrongHost)
	}
	return faulty(DeadPort)
}
