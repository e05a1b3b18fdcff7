package opensm

import (
	"evbench/site/lft"
	"evbench/site/network"
)

// An EFI is the edge forwarding index that jobs induce: how many routes between hosts of one job
// cross a cable between switches, in one direction. It bounds the congestion of the jobs' traffic
// there (Heydemann, Meyer and Sotteau 1989, for all routes).
type EFI struct {
	Max    int64       `json:"max"`
	Mean   float64     `json:"mean"` // over all directed cables, used or not
	Cables int         `json:"cables"`
	Unused int         `json:"unused"`
	Lost   int64       `json:"unreachable"` // routes that do not arrive
	Spread float64     `json:"spread"`      // cables to its switch over which the routes to a host come, mean
	At     network.End `json:"-"`           // the first port with most routes
	Routes []int64     `json:"-"`           // of the directed cables, by switch and port
}

// Index counts, to the first LID of each host. A pair of hosts counts once,
// however many jobs it shares. O(J² + J·leaves·hops) for J hosts of one job.
func Index(t *lft.Tables, jobs [][]network.Node) *EFI {
	c := newCounter(t, jobs)
	for h, mine := range c.jobsOf {
		if len(mine) > 0 {
			c.destination(network.Node(h))
		}
	}
	return c.sum()
}

type counter struct {
	t      *lft.Tables
	jobs   [][]network.Node
	jobsOf [][]int32
	first  []int32 // of a switch's ports in routes
	routes []int64
	lost   int64
	last   []network.Node // by port: the last host to which routes came over it as their last cable
	hosts  int64          // to which routes came
	lasts  int64          // cables, of all those hosts
	seen   []network.Node
	from   []int64 // routes of this destination by switch
	leaves []network.Node
}

func newCounter(t *lft.Tables, jobs [][]network.Node) *counter {
	n := t.Net
	c := &counter{t: t, jobs: jobs, jobsOf: make([][]int32, n.Hosts()), seen: make([]network.Node, n.Hosts()), from: make([]int64, n.Switches())}
	for h := range c.seen {
		c.seen[h] = network.NoNode
	}
	for j, job := range jobs {
		for _, h := range job {
			c.jobsOf[h] = append(c.jobsOf[h], int32(j))
		}
	}
	c.first = make([]int32, n.Switches()+1)
	for i := range n.Switches() {
		c.first[i+1] = c.first[i] + int32(len(n.Ends(n.Switch(i))))
	}
	c.routes, c.last = make([]int64, c.first[n.Switches()]), make([]network.Node, c.first[n.Switches()])
	for i := range c.last {
		c.last[i] = network.NoNode
	}
	return c
}

// destination counts the routes to a host from hosts that share a job with it, one switch after the
// other.
func (c *counter) destination(h network.Node) {
	c.leaves = c.leaves[:0]
	c.seen[h] = h
	for _, j := range c.jobsOf[h] {
		for _, m := range c.jobs[j] {
			if c.seen[m] == h {
				continue
			}
			c.seen[m] = h
			leaf := c.t.Net.Leaf(m).Node
			if leaf == network.NoNode || c.t.Net.IsHost(leaf) {
				c.lost++
				continue
			}
			if c.from[c.t.Net.Index(leaf)]++; c.from[c.t.Net.Index(leaf)] == 1 {
				c.leaves = append(c.leaves, leaf)
			}
		}
	}
	before := c.lasts
	for _, leaf := range c.leaves {
		c.walk(leaf, h, c.from[c.t.Net.Index(leaf)])
		c.from[c.t.Net.Index(leaf)] = 0
	}
	if c.lasts > before {
		c.hosts++
	}
}

func (c *counter) walk(at, h network.Node, count int64) {
	n, lid, last := c.t.Net, int(c.t.Net.Info(h).LID), int32(none)
	for range n.Switches() {
		port := c.t.Port(at, lid)
		next := n.At(at, int(port)).Node
		switch {
		case lid == 0 || next == network.NoNode || n.IsHost(next) && next != h:
			c.lost += count
			return
		case next == h:
			if last != none && c.last[last] != h {
				c.last[last] = h
				c.lasts++
			}
			return
		}
		last = c.first[n.Index(at)] + int32(port) - 1
		c.routes[last] += count
		at = next
	}
	c.lost += count // a loop
}

func (c *counter) sum() *EFI {
	n := c.t.Net
	e, total := &EFI{Max: -1, Lost: c.lost}, int64(0)
	for i := range n.Switches() {
		s := n.Switch(i)
		for p, far := range n.Ends(s) {
			if far.Node == network.NoNode || n.IsHost(far.Node) {
				continue
			}
			routes := c.routes[c.first[i]+int32(p)]
			e.Routes = append(e.Routes, routes)
			total += routes
			if routes == 0 {
				e.Unused++
			}
			if routes > e.Max {
				e.Max, e.At = routes, network.End{Node: s, Port: uint8(p + 1)}
			}
		}
	}
	e.Max, e.Cables = max(e.Max, 0), len(e.Routes)
	e.Spread = float64(c.lasts) / float64(max(c.hosts, 1))
	if e.Cables > 0 {
		e.Mean = float64(total) / float64(e.Cables)
	}
	return e
}
