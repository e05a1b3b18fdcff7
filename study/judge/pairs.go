package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results/attribution"
	"evbench/site/network"
	"evbench/study/judge/foreign"
)

// Pairs lists the slow pairs of hosts in a result with a rate for each pair, and the links that
// they share.
type Pairs struct {
	Count int `json:"pairs"` // of different hosts
	// Usual is the median rate of a pair over its expected share of a link, in bit/s.
	Usual float64 `json:"usual_bit_per_s"`
	// OfRate is Usual as a share of the link rate, 0 if that is not known.
	OfRate float64 `json:"usual_of_link_rate,omitempty"`
	// Below are the pairs with less than 80 % of Usual, or the share that was asked for. Shared of them share links under the tables
	// with pairs that ran at the same time, and reach the usual rate for their share; the others
	// are slow.
	Below  int `json:"below_usual"`
	Shared int `json:"below_by_sharing"`
	Slow   int `json:"slow"`
	// Pairs are the slowest of the slow ones, Causes who is slow, and Scattered the number of slow pairs that nobody
	// explains.
	Pairs     []SlowPair          `json:"slow_pairs"`
	Causes    []attribution.Cause `json:"causes"`
	Scattered int                 `json:"scattered"`
	// Above are pairs that got more than the link rate, and count as if they had the link rate.
	// Fastest is the most that a pair got, as a share of the link rate.
	Above   int     `json:"above_link_rate,omitempty"`
	Fastest float64 `json:"fastest_of_link_rate,omitempty"`

	relative bool // as of the result

	named  map[string]int      // the hosts that Causes name, as in parts.Switch
	ends   map[network.End]int // the links, by port
	matrix []float64           // rates by host of the job, [src·n + dst] in bit/s, NaN: none
}

// A SlowPair got less than its expected rate.
type SlowPair struct {
	Src      string  `json:"src"`
	Dst      string  `json:"dst"`
	Rate     float64 `json:"bit_per_s"`
	Expected float64 `json:"expected_bit_per_s"` // Usual over the sharing
	Sharing  float64 `json:"sharing"`            // of the fullest link on the way, at that time
}

const (
	mostSlow = 20 // slow pairs that are named

	tooFast = 1.25 // times the link rate: where half of the pairs have more, rates are not of links
)

// A pair is a pair of hosts with its way: the ports by which it leaves, its host's first. Without
// tables only the first and the last of them are known.
type pair struct {
	foreign.Pair
	src, dst network.Node
	way      []network.End
	sharing  float64
}

func (f *fabric) pairs(in Input) (*Pairs, error) {
	of := in.Result.Pairs
	if of.Relative {
		in.Rate, in.Tables = 0, nil
	}
	list, err := f.ways(in)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no pair of different hosts", in.Result.What)
	}
	out := &Pairs{Count: len(list), Pairs: []SlowPair{}, Causes: []attribution.Cause{}, relative: of.Relative}
	if err := out.bursts(list, in); err != nil {
		return nil, err
	}
	f.share(list)
	ratios := lists.Map(list, func(p pair) float64 { return p.Rate * p.sharing })
	slices.Sort(ratios)
	out.Usual = ratios[len(ratios)/2]
	if in.Rate > 0 {
		out.OfRate = out.Usual / in.Rate
	}
	f.matrix(out, list, of.Both)
	least := cmp.Or(in.Good.Pair, Usual.Pair)
	var slow []pair
	for _, p := range list {
		if p.Rate < least*out.Usual {
			if out.Below++; p.Rate < least*out.Usual/p.sharing {
				slow = append(slow, p)
			}
		}
	}
	out.Slow, out.Shared = len(slow), out.Below-len(slow)
	slices.SortStableFunc(slow, func(a, b pair) int { return cmp.Compare(a.Rate*a.sharing, b.Rate*b.sharing) })
	for _, p := range slow[:min(len(slow), mostSlow)] {
		out.Pairs = append(out.Pairs, SlowPair{f.net.Info(p.src).Name, f.net.Info(p.dst).Name, p.Rate, out.Usual / p.sharing, p.sharing})
	}
	f.blame(out, in, list, slow)
	return out, nil
}

// bursts caps rates at the link rate: a late receiver finds data in buffers that came before it
// read the clock. If half of the pairs are far above the link rate, the rates say nothing about
// links.
func (p *Pairs) bursts(list []pair, in Input) error {
	if in.Rate <= 0 {
		return nil
	}
	rates := make([]float64, len(list))
	for i := range list {
		if rates[i] = list[i].Rate; rates[i] > tooGood*in.Rate {
			p.Above++
		}
		list[i].Rate = min(rates[i], in.Rate)
	}
	slices.Sort(rates)
	if half := rates[len(rates)/2]; half > tooFast*in.Rate {
		return fmt.Errorf("half of the pairs got %s or more, but a link carries %s: the messages are so small that buffers hold them (use larger ones, such as 1 MiB), or the rate is wrong",
			show.Amount(half, "bit/s"), show.Amount(in.Rate, "bit/s"))
	}
	if p.Above > 0 {
		p.Fastest = rates[len(rates)-1] / in.Rate
	}
	return nil
}

// ways finds the hosts of the pairs and their routes, without pairs within a host.
func (f *fabric) ways(in Input) ([]pair, error) {
	names, job := network.NewHostNames(f.net), map[network.Node]bool{}
	for _, v := range f.hosts.Nodes {
		job[v] = true
	}
	hosts := make([]network.Node, len(in.Result.Pairs.Names))
	for i, name := range in.Result.Pairs.Names {
		v, _, err := names.Find(name)
		if err != nil {
			return nil, err
		}
		if !job[v] {
			return nil, fmt.Errorf("host %s is not in the list of hosts", name)
		}
		hosts[i] = v
	}
	out := make([]pair, 0, len(in.Result.Pairs.List))
	for _, x := range in.Result.Pairs.List {
		p := pair{Pair: x, src: hosts[x.Src], dst: hosts[x.Dst]}
		if p.src == p.dst {
			continue
		}
		var err error
		if p.way, err = f.way(in, p.src, p.dst); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// way lists the ports by which messages leave, the host's first, and where a rate is that of both directions those of the way back;
// without tables that of its leaf to the receiver is the only other one.
func (f *fabric) way(in Input, src, dst network.Node) (way []network.End, err error) {
	ends := [][2]network.Node{{src, dst}, {dst, src}}
	if !in.Result.Pairs.Both {
		ends = ends[:1]
	}
	for _, x := range ends {
		route := []network.End{f.net.Leaf(x[1])}
		if in.Tables != nil {
			if route, err = in.Tables.Way(nil, x[0], x[1]); err != nil {
				return nil, f.ofTables(in.Tables, err)
			}
		}
		way = append(append(way, network.End{Node: x[0], Port: 1}), route...)
	}
	return way, nil
}

// share sets for each pair how many concurrent pairs pass the fullest link on its way, over the
// capacity of that link.
func (f *fabric) share(list []pair) {
	type place struct {
		group int
		at    network.End
	}
	on := map[place]float64{}
	for _, p := range list {
		for _, e := range p.way {
			on[place{p.Group, e}] += 1 / f.capacity(e)
		}
	}
	for i := range list {
		p := &list[i]
		for _, e := range p.way {
			p.sharing = max(p.sharing, on[place{p.Group, e}])
		}
	}
}

// blame names who is slow, by the same attribution as a run. Without tables the ways between switches are not known.
func (f *fabric) blame(out *Pairs, in Input, list, slow []pair) {
	named := ways{f, in, map[network.End]attribution.Wire{}}
	e, at := attribution.Evidence{Timed: true, Ways: named}, map[network.Node]int{}
	for i, v := range f.hosts.Nodes {
		at[v], e.Names = i, append(e.Names, f.name(v))
	}
	for _, p := range list {
		e.Pairs = append(e.Pairs, attribution.Pair{
			Src: at[p.src], Dst: at[p.dst], Bytes: 1, Sec: 1 / p.Rate, Expected: p.sharing, Shared: int(math.Round(p.sharing)),
		})
	}
	out.Causes, out.named, out.ends = append(out.Causes, attribution.Find(e)...), map[string]int{}, map[network.End]int{}
	explained := map[[2]network.Node]bool{}
	for _, c := range out.Causes {
		how := 2
		if len(c.Parts) > 1 {
			how = 1
		}
		for _, part := range c.Parts {
			out.named[part] = how
		}
		for _, i := range c.Of {
			explained[[2]network.Node{list[i].src, list[i].dst}] = true
			for _, at := range list[i].way {
				if w := named.wire(at); slices.Contains(c.Parts, w.Cable) || slices.Contains(c.Parts, w.Name) {
					out.ends[at] = how
				}
			}
		}
	}
	out.Scattered = lists.CountIf(slow, func(p pair) bool { return !explained[[2]network.Node{p.src, p.dst}] })
}

// ways are those of messages between hosts of the job.
type ways struct {
	*fabric
	in    Input
	named map[network.End]attribution.Wire
}

// Way implements attribution.Ways. Routes were found before.
func (w ways) Way(src, dst int) (wires []attribution.Wire, known bool) {
	route, _ := w.way(w.in, w.hosts.Nodes[src], w.hosts.Nodes[dst])
	return lists.Map(route, w.wire), w.in.Tables != nil
}

// wire names the link that leaves by a port, its cable by the lower end.
func (w ways) wire(e network.End) attribution.Wire {
	x, ok := w.named[e]
	if !ok {
		d, low := w.direction(e), w.direction(e)
		if far := w.net.At(e.Node, int(e.Port)); far.Node < e.Node {
			low = w.direction(far)
		}
		x = attribution.Wire{
			From: d.From, To: d.To, Name: fmt.Sprintf("%s to %s (port %s)", d.From, d.To, d.Port),
			Cable: fmt.Sprintf("%s-%s (port %s)", low.From, low.To, low.Port),
		}
		w.named[e] = x
	}
	return x
}

// matrix holds what each host got from each other; for several pairs of ranks their mean.
func (f *fabric) matrix(out *Pairs, list []pair, both bool) {
	n, at := len(f.hosts.Nodes), map[network.Node]int{}
	for i, v := range f.hosts.Nodes {
		at[v] = i
	}
	count := make([]float64, n*n)
	out.matrix = make([]float64, n*n)
	for _, p := range list {
		cells := [...]int{at[p.src]*n + at[p.dst], at[p.dst]*n + at[p.src]}
		for i, cell := range cells {
			if i == 0 || both {
				out.matrix[cell] += p.Rate
				count[cell]++
			}
		}
	}
	for i := range out.matrix {
		if out.matrix[i] /= count[i]; count[i] == 0 {
			out.matrix[i] = math.NaN()
		}
	}
}
