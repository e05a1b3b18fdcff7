package lft

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/network"
)

// A Phase is the result of one phase of a pattern. The sharing of a cable between switches is the
// number of routes over it, each direction on its own.
type Phase struct {
	Max         int     // the greatest sharing; 1 where no such cable is used
	Time        float64 // the greatest sharing over the messages that the cable carries at once; at least 1
	Mean        float64 // over the cables in use; 1 where there are none
	Unreachable int     // messages without a route, which count nowhere else

	// The throughput of a message is 1 over the greatest such time on its route, and at most 1.
	MeanThroughput, LeastThroughput float64
}

// A Congestion says how much routes of one phase share cables, as if all
// messages of a phase began together and had one size.
type Congestion struct {
	Pattern string `json:"pattern"`
	Phases  int    `json:"phases"`
	// Conflicts is the number of phases that take longer than a message.
	Conflicts int `json:"conflicts"`
	// Worst is the greatest sharing of all phases. Slowdown is the mean of their times: how many
	// times longer the pattern takes than without sharing. All shifts are a phase for each host, as
	// in the thesis, the shift by 0 included.
	Worst    int     `json:"worst"`
	Slowdown float64 `json:"slowdown"`
	// Mean is the mean over phases of the mean sharing of cables in use.
	Mean        float64 `json:"mean"`
	Unreachable int64   `json:"unreachable"`
	// Throughput is the mean over phases of the mean share of a cable over messages. Least is the
	// mean over phases of the smallest share. For random bisections Throughput is the effective
	// bisection bandwidth, as the simulator ORCS counts it (Schneider, Hoefler and Lumsdaine,
	// 2009).
	Throughput float64 `json:"throughput"`
	Least      float64 `json:"least_throughput"`

	PerPhase []Phase `json:"-"`
}

// exchange is the slowdown of an exchange of all hosts, as plans count it: among all shifts, the
// shift by 0 sends nothing and is no phase.
func (c *Congestion) exchange(hosts int) float64 {
	if n := float64(hosts); c.Phases == hosts && hosts > 1 {
		return (c.Slowdown*n - 1) / (n - 1)
	}
	return c.Slowdown
}

// Congest follows the routes of all messages of a pattern, to the first LID of
// each destination. O(phases · hosts · hops).
func Congest(t *Tables, p Pattern) *Congestion {
	g := newGraph(t.Net)
	tracers := make([]*tracer, parallel.Workers(0))
	phases := make([]Phase, p.Phases)
	parallel.Each(len(tracers), p.Phases, func(w, k int) {
		if tracers[w] == nil {
			tracers[w] = newTracer(t, g)
		}
		p.Fill(k, tracers[w].dst)
		phases[k] = tracers[w].phase()
	})
	c := &Congestion{Pattern: p.Name, Phases: p.Phases, PerPhase: phases}
	for _, x := range phases {
		if x.Time > 1 {
			c.Conflicts++
		}
		c.Worst = max(c.Worst, x.Max)
		c.Slowdown += x.Time
		c.Mean += x.Mean
		c.Unreachable += int64(x.Unreachable)
		c.Throughput += x.MeanThroughput
		c.Least += x.LeastThroughput
	}
	if n := float64(p.Phases); n > 0 {
		c.Slowdown /= n
		c.Mean /= n
		c.Throughput /= n
		c.Least /= n
	}
	return c
}

type tracer struct {
	t       *Tables
	g       *graph
	lid     []int   // of each host, 0 if it has none or no cable
	leaf    []int32 // of each host
	dst     []int32
	sharing []int32   // by channel
	carries []float64 // messages at once, by channel; nil: one
	path    []int32   // channels, message by message
	ends    []int32   // where on path each message ends
}

func newTracer(t *Tables, g *graph) *tracer {
	hosts := t.Net.Hosts()
	r := &tracer{t: t, g: g, lid: make([]int, hosts), leaf: make([]int32, hosts), dst: make([]int32, hosts), sharing: make([]int32, len(g.far))}
	for h := range hosts {
		if e := t.Net.Leaf(network.Node(h)); e.Node != network.NoNode && !t.Net.IsHost(e.Node) {
			r.lid[h], r.leaf[h] = int(t.Net.Info(network.Node(h)).LID), int32(t.Net.Index(e.Node))
		}
	}
	if of := t.Net.Capacities(); of != nil {
		r.carries = lists.Tabulate(len(g.far), func(c int) float64 { return of(g.end(int32(c))) })
	}
	return r
}

// time is how long a channel takes for the messages that share it.
func (r *tracer) time(c int32) float64 {
	if r.carries == nil {
		return float64(r.sharing[c])
	}
	return float64(r.sharing[c]) / r.carries[c]
}

func (r *tracer) phase() Phase {
	r.path, r.ends = r.path[:0], r.ends[:0]
	p := Phase{Max: 1, Time: 1, Mean: 1, LeastThroughput: 1}
	used := 0
	for src, dst := range r.dst {
		if dst < 0 {
			continue
		}
		from := len(r.path)
		if r.lid[src] == 0 || !r.route(r.leaf[src], r.lid[dst], dst) {
			p.Unreachable++
			r.path = r.path[:from]
			continue
		}
		r.ends = append(r.ends, int32(len(r.path)))
		for _, c := range r.path[from:] {
			if r.sharing[c]++; r.sharing[c] == 1 {
				used++
			}
			p.Max, p.Time = max(p.Max, int(r.sharing[c])), max(p.Time, r.time(c))
		}
	}
	if used > 0 {
		p.Mean = float64(len(r.path)) / float64(used)
	}
	r.throughput(&p)
	for _, c := range r.path {
		r.sharing[c] = 0
	}
	return p
}

func (r *tracer) route(at int32, lid int, dst int32) bool {
	if lid == 0 {
		return false
	}
	goal := atHost(network.Node(dst))
	for range r.g.n.Switches() {
		port := r.t.ports[int(at)*r.t.LIDs+lid]
		next := r.g.next(at, port)
		if next < 0 {
			return next == goal
		}
		r.path = append(r.path, r.g.channel(at, port))
		at = next
	}
	return false
}

func (r *tracer) throughput(p *Phase) {
	from, sum := int32(0), 0.0
	for _, end := range r.ends {
		most := 1.0
		for _, c := range r.path[from:end] {
			most = max(most, r.time(c))
		}
		sum += 1 / most
		p.LeastThroughput = min(p.LeastThroughput, 1/most)
		from = end
	}
	if p.MeanThroughput = 1; len(r.ends) > 0 {
		p.MeanThroughput = sum / float64(len(r.ends))
	}
}

// A Pattern is a list of phases. In a phase a host sends to at most one other.
type Pattern struct {
	Name   string
	Phases int
	// Fill writes the destination of each host in a phase, or -1. Several goroutines call it, with
	// phases in any order.
	Fill func(phase int, dst []int32)
}

// Shifts is the linear shift: in phase k host i sends to host i+k modulo their
// number; phase 0 sends nothing.
func Shifts(hosts int) Pattern {
	return Pattern{"linear shift", hosts, func(phase int, dst []int32) { shift(dst, phase) }}
}

// SomeShifts is count different phases of the linear shift, drawn by the seed
// from those that send something; all phases if there are no more than count.
func SomeShifts(hosts, count int, seed uint64) Pattern {
	if count >= hosts {
		return Shifts(hosts)
	}
	drawn := rand.New(rand.NewPCG(seed, 1)).Perm(hosts - 1)[:count]
	slices.Sort(drawn)
	name := fmt.Sprintf("%d phases of the linear shift", count)
	return Pattern{name, count, func(phase int, dst []int32) { shift(dst, drawn[phase]+1) }}
}

func shift(dst []int32, by int) {
	for i := range dst {
		dst[i] = int32((i + by) % len(dst))
		if by == 0 {
			dst[i] = -1
		}
	}
}

// Permutations is count random permutations of all hosts. Hosts that map to themselves send
// nothing.
func Permutations(count int, seed uint64) Pattern {
	return Pattern{"random permutations", count, func(phase int, dst []int32) {
		for i := range dst {
			dst[i] = int32(i)
		}
		rng := rand.New(rand.NewPCG(seed, uint64(phase)))
		rng.Shuffle(len(dst), func(i, j int) { dst[i], dst[j] = dst[j], dst[i] })
		for i := range dst {
			if int(dst[i]) == i {
				dst[i] = -1
			}
		}
	}}
}

// Bisections is count random halvings of the hosts, in each of which every host
// of one half sends to one of the other: the pattern of effective bisection
// bandwidth (Hoefler, Schneider and Lumsdaine, "Multistage switches are not
// crossbars", 2008, and their tool Netgauge). Of an odd number one host rests.
func Bisections(count int, seed uint64) Pattern {
	return Pattern{"random bisections", count, func(phase int, dst []int32) {
		perm := rand.New(rand.NewPCG(seed, uint64(phase))).Perm(len(dst))
		for i := range dst {
			dst[i] = -1
		}
		half := len(dst) / 2
		for k, src := range perm[:half] {
			dst[src] = int32(perm[half+k])
		}
	}}
}
