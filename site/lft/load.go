package lft

import (
	"evbench/internal/parallel"
	"evbench/site/network"
)

// Loads count routes on the cables between switches, each cable in both
// directions: the edge forwarding index (Heydemann, Meyer and Sotteau, "On
// forwarding indices of networks", 1989). One route counts for every ordered
// pair of hosts that is reached, to the first LID of the destination.
type Loads struct {
	Cables int     `json:"cables"` // directed, between switches
	Unused int     `json:"unused"` // without a route
	Max    int64   `json:"max"`
	Mean   float64 `json:"mean"` // over all, used or not
	// At is the first port with the most routes: its end and the port's name.
	At   network.End `json:"-"`
	Port string      `json:"port"`

	Routes []PortLoad `json:"-"` // by switch and port
}

// A PortLoad is how many routes leave a switch by a port.
type PortLoad struct {
	End    network.End
	Routes int64
}

// Load counts the routes of an all-to-all exchange on each cable.
// O((S + leaves·hops) · hosts).
func Load(t *Tables) *Loads {
	return load(t, func(network.Node) int64 { return 1 })
}

// load is Load with the weight of its destination for each route.
func load(t *Tables, weight func(dst network.Node) int64) *Loads {
	g := newGraph(t.Net)
	visitors := make([]*counter, parallel.Workers(0))
	for w := range visitors {
		visitors[w] = &counter{g: g, weight: weight, tree: newForest(g), routes: make([]int64, len(g.far))}
	}
	sweep(t, g, visitors)
	sum := visitors[0].routes
	for _, v := range visitors[1:] {
		for c, x := range v.routes {
			sum[c] += x
		}
	}
	l := &Loads{Max: -1}
	total := int64(0)
	for c, far := range g.far {
		if far < 0 {
			continue
		}
		p := PortLoad{g.end(int32(c)), sum[c]}
		l.Routes = append(l.Routes, p)
		l.Cables++
		total += p.Routes
		if p.Routes == 0 {
			l.Unused++
		}
		if p.Routes > l.Max {
			l.Max, l.At = p.Routes, p.End
		}
	}
	if l.Cables == 0 {
		l.Max = 0
		return l
	}
	l.Port, l.Mean = t.Net.EndName(l.At), float64(total)/float64(l.Cables)
	return l
}

// A counter is the visitor of Load.
type counter struct {
	g      *graph
	weight func(network.Node) int64
	tree   *forest
	routes []int64 // by channel
}

func (c *counter) visit(lid int, dst network.Node, column []uint8) {
	if lid != int(c.g.n.Info(dst).LID) || c.g.n.IsOther(dst) {
		return
	}
	c.tree.begin(dst, column)
	weight := c.weight(dst)
	for _, l := range c.g.leaves {
		n := int64(c.g.sources(l, dst)) * weight
		if n == 0 || c.tree.follow(l.sw) < 0 {
			continue
		}
		at := l.sw
		for next := c.g.next(at, column[at]); next >= 0; next = c.g.next(at, column[at]) {
			c.routes[c.g.channel(at, column[at])] += n
			at = next
		}
	}
}
