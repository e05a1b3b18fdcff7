package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/show"
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
	// Pairs are the slowest of the slow ones, Common links that explain slow pairs, and Scattered
	// the number of slow pairs that no such link explains.
	Pairs     []SlowPair   `json:"slow_pairs"`
	Common    []CommonLink `json:"common_links"`
	Scattered int          `json:"scattered"`
	// Above are pairs that got more than the link rate, and count as if they had the link rate.
	// Fastest is the most that a pair got, as a share of the link rate.
	Above   int     `json:"above_link_rate,omitempty"`
	Fastest float64 `json:"fastest_of_link_rate,omitempty"`

	matrix []float64 // rates by host of the job, [src·n + dst] in bit/s, NaN: none
}

// A SlowPair got less than its expected rate.
type SlowPair struct {
	Src      string  `json:"src"`
	Dst      string  `json:"dst"`
	Rate     float64 `json:"bit_per_s"`
	Expected float64 `json:"expected_bit_per_s"` // Usual over the sharing
	Sharing  float64 `json:"sharing"`            // of the fullest link on the way, at that time
}

// A CommonLink is a link that slow pairs share: Slow of the Pairs over it are slow. Or are ports of
// links on the way of the same pairs.
type CommonLink struct {
	Direction
	Slow  int      `json:"slow"`
	Pairs int      `json:"pairs"`
	Or    []string `json:"or,omitempty"`
}

const (
	mostSlow   = 20 // slow pairs that are named
	mostCommon = 5  // links that are named

	tooFast = 1.25 // times the link rate: where half of the pairs have more, rates are not of links
)

// HostsOf are the hosts of the ends of pairs, in the order of their first ends. For a linear shift
// the ends are ranks, and all hosts have equally many.
func HostsOf(p *foreign.Pairs, n *network.Network) (network.Job, error) {
	names, ends, out := network.NewHostNames(n), map[network.Node]int{}, network.Job{Slots: 1}
	for _, name := range p.Names {
		v, _, err := names.Find(name)
		if err != nil {
			return network.Job{}, err
		}
		if ends[v] == 0 {
			out.Nodes = append(out.Nodes, v)
		}
		ends[v]++
	}
	if len(out.Nodes) < 2 {
		return network.Job{}, fmt.Errorf("%s: a pair needs two", show.Plural(len(out.Nodes), "host", "hosts"))
	}
	if p.Shifts {
		out.Slots = ends[out.Nodes[0]]
		for _, v := range out.Nodes {
			if ends[v] != out.Slots {
				return network.Job{}, network.Unequal(n, out.Nodes[0], v, ends)
			}
		}
	}
	return out, nil
}

// A pair is a pair of hosts with its way: the ports by which it leaves, its host's first. Without
// tables only the first and the last of them are known.
type pair struct {
	foreign.Pair
	src, dst network.Node
	way      []network.End
	sharing  float64
}

func (f *fabric) pairs(in Input) (*Pairs, error) {
	list, err := f.ways(in)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no pair of different hosts", in.Result.What)
	}
	out := &Pairs{Count: len(list), Pairs: []SlowPair{}, Common: []CommonLink{}}
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
	f.matrix(out, list)
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
	f.common(out, list, slow)
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
	t := in.Tables
	out := make([]pair, 0, len(in.Result.Pairs.List))
	for _, x := range in.Result.Pairs.List {
		p := pair{Pair: x, src: hosts[x.Src], dst: hosts[x.Dst]}
		if p.src == p.dst {
			continue
		}
		p.way = append(p.way, network.End{Node: p.src, Port: 1})
		if t == nil {
			p.way = append(p.way, f.net.Leaf(p.dst))
		} else {
			route, err := f.route(t, p.src, p.dst)
			if err != nil {
				return nil, err
			}
			p.way = append(p.way, route...)
		}
		out = append(out, p)
	}
	return out, nil
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

// common looks for links that slow pairs share: repeatedly the link with the most slow pairs, less
// the pairs that are not slow, until no link has more slow ones.
func (f *fabric) common(out *Pairs, list, slow []pair) {
	all, left := map[network.End]int{}, slow
	for _, p := range list {
		for _, e := range p.way {
			all[e]++
		}
	}
	for len(left) > 0 && len(out.Common) < mostCommon {
		bad := map[network.End]int{}
		for _, p := range left {
			for _, e := range p.way {
				bad[e]++
			}
		}
		var best network.End
		score := 0
		for e, n := range bad {
			x := 2*n - all[e]
			if x > score || x == score && score > 0 && (e.Node < best.Node || e.Node == best.Node && e.Port < best.Port) {
				best, score = e, x
			}
		}
		if score < 1 || bad[best] < 2 {
			break
		}
		out.Common = append(out.Common, CommonLink{f.direction(best), bad[best], all[best], f.alike(best, left, bad, all)})
		left = slices.DeleteFunc(slices.Clone(left), func(p pair) bool { return slices.Contains(p.way, best) })
	}
	out.Scattered = len(left)
}

// alike names the ports on the way of the same pairs as best.
func (f *fabric) alike(best network.End, slow []pair, bad, all map[network.End]int) (names []string) {
	i := slices.IndexFunc(slow, func(p pair) bool { return slices.Contains(p.way, best) })
	for _, e := range slow[i].way {
		together := e != best && bad[e] == bad[best] && all[e] == all[best]
		for _, p := range slow {
			together = together && slices.Contains(p.way, e) == slices.Contains(p.way, best)
		}
		if together {
			names = append(names, f.net.EndName(e))
		}
	}
	return names
}

// matrix holds what each host got from each other; for several pairs of ranks their mean.
func (f *fabric) matrix(out *Pairs, list []pair) {
	n, at := len(f.hosts.Nodes), map[network.Node]int{}
	for i, v := range f.hosts.Nodes {
		at[v] = i
	}
	count := make([]float64, n*n)
	out.matrix = make([]float64, n*n)
	for _, p := range list {
		cell := at[p.src]*n + at[p.dst]
		out.matrix[cell] += p.Rate
		count[cell]++
	}
	for i := range out.matrix {
		if out.matrix[i] /= count[i]; count[i] == 0 {
			out.matrix[i] = math.NaN()
		}
	}
}

// phased returns the share of the link rate that a linear shift has with these rates, none above
// the link rate, with each phase as long as its slowest pair needs.
func phased(p *foreign.Pairs, rate float64) float64 {
	least := map[int]float64{}
	for _, x := range p.List {
		if r, ok := least[x.Group]; !ok || x.Rate < r {
			least[x.Group] = min(x.Rate, rate)
		}
	}
	time := 0.0
	for k := 1; k < len(p.Names); k++ {
		time += rate / least[k]
	}
	return float64(len(p.Names)-1) / time
}

func (p *Pairs) summary(slow float64) string {
	text := fmt.Sprintf("%s, usually %s", show.Plural(p.Count, "pair", "pairs"), show.Amount(p.Usual, "bit/s"))
	if p.OfRate > 0 {
		text += fmt.Sprintf(" (%s of the link rate)", percent(p.OfRate))
	}
	if p.Below == 0 {
		return text + fmt.Sprintf("; none has less than %.0f%% of that", 100*slow)
	}
	text += fmt.Sprintf("; %s less than %.0f%% of that", show.Plural(p.Below, "has", "have"), 100*slow)
	if p.Shared > 0 {
		text += fmt.Sprintf(": %d get their share of links that are shared under the tables or slow, %d do not", p.Shared, p.Slow)
	}
	return text
}

func (p *Pairs) lines(slow float64, add func(string, string, ...any)) {
	add("pairs", "%s", p.summary(slow))
	if p.Above > 0 {
		add("", "%s more than a link carries, up to %.3g times that, and counted as a link's rate: bursts from buffers, which larger messages have less of",
			show.Plural(p.Above, "pair got", "pairs got"), p.Fastest)
	}
	for _, x := range p.Common {
		or := ""
		for _, port := range x.Or {
			or += " or port " + port
		}
		add("in common", "%s to %s (port %s)%s: %d of the %d pairs over it are slow", x.From, x.To, x.Port, or, x.Slow, x.Pairs)
	}
	if p.Scattered > 0 && len(p.Common) > 0 {
		add("", "%s no link in common", show.Plural(p.Scattered, "slow pair has", "slow pairs have"))
	}
	for i, x := range p.Pairs[:min(len(p.Pairs), textPairs)] {
		more := ""
		if i == textPairs-1 && p.Slow > textPairs {
			more = fmt.Sprintf("; and %d more", p.Slow-textPairs)
		}
		add("slow", "%s to %s: %s, expected %s%s", x.Src, x.Dst, show.Amount(x.Rate, "bit/s"), show.Amount(x.Expected, "bit/s"), more)
	}
}
