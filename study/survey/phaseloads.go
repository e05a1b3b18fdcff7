package survey

import (
	"sync"

	"evbench/topology"
)

// changes are a schedule as what changes between its phases: a leaf begins to send to a server, or ends.
// The messages of a leaf to a server take one path, and in a shift they follow each other, so there are
// fewer changes than messages by the servers of a leaf.
type changes struct {
	wires         topology.Wires
	leaf          []int // by rank
	leaves, ranks int
	stride        int     // wires that a path has at most
	change        []int32 // 2·(leaf·ranks + dst), one more where it ends; phase after phase
	until         []int   // by phase, in change
	tallies       sync.Pool
}

// A tally counts the messages on each wire in one phase, for one goroutine.
type tally struct {
	path  []int32  // by leaf·ranks + dst
	wire  []int32  // stride for each of them; -1 behind the last
	load  []uint16 // by wire
	wires []int32  // by load: how many have it; not for load 0
}

func newChanges(t *topology.Live, o *Order, leaf []int) *changes {
	c := &changes{wires: t.Wires, leaf: leaf, leaves: t.Leaves(), ranks: t.Servers(), stride: 4}
	if t.Plain() {
		c.stride = 2
	}
	more := make([]int32, c.leaves*c.ranks)
	var before, touched []int32
	for p := range len(o.start) - 1 {
		touched = append(touched[:0], before...)
		for _, at := range before {
			more[at]--
		}
		before = before[:0]
		for _, m := range o.pair[o.start[p]:o.start[p+1]] {
			if src, dst := int(m>>16), int(m&0xffff); leaf[src] != leaf[dst] {
				at := int32(leaf[src]*c.ranks + dst)
				more[at]++
				before = append(before, at)
			}
		}
		for _, at := range append(touched, before...) {
			for ; more[at] > 0; more[at]-- {
				c.change = append(c.change, 2*at)
			}
			for ; more[at] < 0; more[at]++ {
				c.change = append(c.change, 2*at+1)
			}
		}
		c.until = append(c.until, len(c.change))
	}
	c.tallies.New = func() any {
		n := c.leaves * c.ranks
		return &tally{path: make([]int32, n), wire: make([]int32, n*c.stride), load: make([]uint16, t.AllWires()), wires: make([]int32, c.ranks+2)}
	}
	return c
}

// over returns the duration over the paths that fill writes, by leaf·ranks + dst, as order.duration counts it.
func (c *changes) over(fill func(path []int32) error) (int, error) {
	x := c.tallies.Get().(*tally)
	defer c.tallies.Put(x)
	if err := fill(x.path); err != nil {
		return 0, err
	}
	c.cross(x)
	clear(x.load)
	clear(x.wires)
	sum, most, first := 0, uint16(0), 0
	for _, until := range c.until {
		for _, change := range c.change[first:until] {
			at := int(change>>1) * c.stride
			for _, w := range x.wire[at : at+c.stride] {
				if w < 0 {
					break
				}
				load := x.load[w]
				x.wires[load]--
				if load++; change&1 == 1 {
					load -= 2
				}
				x.load[w] = load
				x.wires[load]++
				most = max(most, load)
			}
		}
		for most > 0 && x.wires[most] == 0 {
			most--
		}
		sum += max(1, int(most))
		first = until
	}
	return sum, nil
}

// cross finds the wires of all paths.
func (c *changes) cross(x *tally) {
	crossed := make([]topology.Wire, 0, 4)
	for l := range c.leaves {
		for dst, leaf := range c.leaf {
			at := l*c.ranks + dst
			if leaf == l || x.path[at] < 0 {
				continue
			}
			to := x.wire[at*c.stride:][:c.stride]
			if c.stride == 2 {
				to[0], to[1] = int32(c.wires.Up(l, int(x.path[at]))), int32(c.wires.Down(leaf, int(x.path[at])))
				continue
			}
			crossed = c.wires.Between(crossed[:0], l, leaf, int(x.path[at]))
			for i := range to {
				if to[i] = -1; i < len(crossed) {
					to[i] = int32(crossed[i])
				}
			}
		}
	}
}
