package lft

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"evbench/internal/lists"
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
	visitors := lists.Tabulate(parallel.Workers(0), func(w int) *counter {
		return &counter{g: g, weight: weight, tree: newForest(g), routes: make([]int64, len(g.far))}
	})
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

// Weights are relative amounts that the hosts of a network receive. They are whole numbers of a
// small unit, so that sums do not depend on their order.
type Weights struct {
	of   []uint32
	unit float64 // 1 is so much as was given
}

// weightSteps is the greatest weight in units.
const weightSteps = 1 << 24

// NewWeights returns weights in the order of hosts. Whole ones up to 2^24 are exact, others are
// kept to one part in 2^24 of the greatest. Negative weights, values that are no number, and
// weights without one above 0 are errors.
func NewWeights(of []float64) (*Weights, error) {
	most, whole := 0.0, true
	for h, x := range of {
		if !(x >= 0) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("weight %g of host %d: must be a number of 0 or more", x, h)
		}
		most, whole = max(most, x), whole && x == math.Trunc(x)
	}
	if most == 0 {
		return nil, errors.New("no host has a weight above 0")
	}
	w := &Weights{of: make([]uint32, len(of)), unit: most / weightSteps}
	if whole && most <= weightSteps {
		most, w.unit = weightSteps, 1
	}
	for h, x := range of {
		w.of[h] = uint32(math.Round(x / most * weightSteps))
	}
	return w, nil
}

// Of returns the weight of a host in units.
func (w *Weights) Of(h network.Node) uint32 { return w.of[h] }

// ReadWeights reads lines "host,weight", with or without that header. Each host of the network with
// a cable must appear once, by name or GUID. It skips empty lines and comments from # on. Errors
// name the line.
func ReadWeights(r io.Reader, n *network.Network) (*Weights, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	of, given, names := make([]float64, n.Hosts()), make([]int, n.Hosts()), network.Names(n)
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" || i == 0 && line == "host,weight" {
			continue
		}
		at := strings.LastIndexByte(line, ',')
		if at < 0 {
			return nil, fmt.Errorf("line %d: %.40q: a line is \"host,weight\"", i+1, line)
		}
		h, err := names.Node(strings.TrimSpace(line[:at]))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		switch {
		case !n.IsHost(h):
			return nil, fmt.Errorf("line %d: %s is a switch, not a host", i+1, n.Info(h).Name)
		case given[h] > 0:
			return nil, fmt.Errorf("line %d: %s has a weight on line %d", i+1, n.Info(h).Name, given[h])
		case err != nil || !(x >= 0) || math.IsInf(x, 0):
			return nil, fmt.Errorf("line %d: weight %.20q of %s: must be a number of 0 or more", i+1, strings.TrimSpace(line[at+1:]), n.Info(h).Name)
		}
		of[h], given[h] = x, i+1
	}
	for h, line := range given {
		if v := network.Node(h); line == 0 && !n.Isolated(v) {
			return nil, fmt.Errorf("no weight for %s", n.Info(v).Name)
		}
	}
	return NewWeights(of)
}

// A WeightedLoad is the load of the busiest cable when each host sends every other host an amount
// equal to that host's weight.
type WeightedLoad struct {
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"` // over all cables between switches, both directions
	Port string  `json:"port"` // the first with the most
}

// LoadWeighted adds up weights as Load counts routes.
func LoadWeighted(t *Tables, w *Weights) *WeightedLoad {
	l := load(t, func(dst network.Node) int64 { return int64(w.of[dst]) })
	return &WeightedLoad{float64(l.Max) * w.unit, l.Mean * w.unit, l.Port}
}
