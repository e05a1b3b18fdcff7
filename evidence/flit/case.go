package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"evbench/evidence/loadcurve"
	"evbench/model/credit"
	"evbench/site/network"
)

// The simulators with readable results, as named in the column sim.
const (
	booksim = "booksim2"
	omnet   = "omnet_ib_flit"
)

// A Case is a row of a simulator's results, by column.
type Case map[string]string

func (c Case) number(field string) float64 {
	v, _ := strconv.ParseFloat(c[field], 64)
	return v
}

func (c Case) int(field string) int {
	v, _ := strconv.Atoi(c[field])
	return v
}

func (c Case) name() string {
	s := fmt.Sprintf("%s %s %s %s", c["case"], c["topology"], c["routing"], c["traffic"])
	if c["sim"] == booksim {
		return s + fmt.Sprintf(" %s, buffer %s, packet %s, offered %s", c["pipeline"], c["buf_flits"], c["packet_flits"], c["offered"])
	}
	return s + fmt.Sprintf(" %s packets, buffer %s, %s reads, offered %s", c["msg_packets"], c["buf_flits"], c["max_parallel_reads"], c["offered"])
}

// seeded returns a case with its k-th seed; the first is its own. Seeds of one case are farther
// apart than the simulators' own.
func (c Case) seeded(k int) Case {
	other := maps.Clone(c)
	other["seed"] = strconv.Itoa(c.int("seed") + k*1000)
	return other
}

// seeds returns how many seeds a case is run with: one if nothing is random, and more for OMNeT's,
// whose windows are short.
func (c Case) seeds() int {
	tables := choices[c["routing"]] == credit.First
	if tables && c.permutation() && (c["offered"] == "batch" || c["sim"] == omnet && c.full()) {
		return 1
	}
	return map[string]int{booksim: 3, omnet: 8}[c["sim"]]
}

// full reports whether the offered load is the capacity of links.
func (c Case) full() bool { return c.number("offered") >= 1 }

func (c Case) permutation() bool { return strings.Contains(c["traffic"], "shift") }

// comparable reports whether the model has the features of a case. BookSim's lanes share a link
// flit by flit, those of InfiniBand packet by packet, so several lanes are not comparable.
func (c Case) comparable() bool { return c["sim"] != booksim || c.int("vcs") == 1 }

var counts = map[string][]string{
	booksim: {"vcs", "buf_flits", "packet_flits", "warmup_cycles", "measured_cycles", "seed"},
	omnet:   {"msg_packets", "vls", "buf_flits", "packet_flits", "max_parallel_reads", "warm_us", "total_us", "seed"},
}

// read reads the results of a simulator. An error names the file, line and column; all cases have a
// known topology, routing and traffic.
func read(file string, r io.Reader) (cases []Case, err error) {
	rows := csv.NewReader(r)
	columns, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: header: %w", file, err)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return cases, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c := Case{}
		for i, v := range row {
			c[columns[i]] = v
		}
		if field, err := c.check(); err != nil {
			line, _ := rows.FieldPos(max(0, slices.Index(columns, field)))
			return nil, fmt.Errorf("%s: line %d: %s: %w", file, line, field, err)
		}
		cases = append(cases, c)
	}
}

// check returns the column that makes a case impossible to run.
func (c Case) check() (field string, err error) {
	whole, ok := counts[c["sim"]]
	if !ok {
		return "sim", fmt.Errorf("%q: it must be %s or %s", c["sim"], booksim, omnet)
	}
	for _, f := range whole {
		if v, err := strconv.Atoi(c[f]); err != nil || v < 0 {
			return f, fmt.Errorf("%q: it must be a whole number", c[f])
		}
	}
	if offered := c.number("offered"); !(offered > 0) && (c["offered"] != "batch" || c["sim"] == omnet) {
		return "offered", fmt.Errorf("%q: it must be a number above 0", c["offered"])
	}
	if c.int("packet_flits") == 0 {
		return "packet_flits", errors.New("a packet needs a flit")
	}
	n, err := build(c["topology"])
	if err != nil {
		return "topology", err
	}
	if _, ok := choices[c["routing"]]; !ok {
		return "routing", fmt.Errorf("%q: it is not known", c["routing"])
	}
	_, _, err = pattern(c["traffic"], n.Hosts())
	return "traffic", err
}

// build returns the network for a simulator's name of a topology.
func build(topology string) (*network.Network, error) {
	var dead []string
	switch {
	case strings.HasPrefix(topology, "ft44"):
		if strings.HasSuffix(topology, "dead00") {
			dead = []string{"s1_0-s2_0"}
		}
		topology = "kary(4;2)"
	case strings.HasPrefix(topology, "kary("):
		topology = strings.ReplaceAll(topology, ",", ";")
	case strings.HasPrefix(topology, "ft2_"):
		topology = "FT(2;" + strings.ReplaceAll(topology[4:], "x", ",") + ")"
	}
	n, err := network.Parse(topology, 0)
	if err != nil || dead == nil {
		return n, err
	}
	return n.Degrade(dead)
}

var call = regexp.MustCompile(`^(\w+)(?:\(([\d,]*)\))?$`)

func parseCall(s string) (name string, args []int, err error) {
	m := call.FindStringSubmatch(s)
	if m == nil {
		return "", nil, fmt.Errorf("%q: it must be NAME or NAME(NUMBER,…)", s)
	}
	for a := range strings.SplitSeq(m[2], ",") {
		if v, err := strconv.Atoi(a); err == nil {
			args = append(args, v)
		}
	}
	return m[1], args, nil
}

func pattern(traffic string, hosts int) (p loadcurve.Pattern, packets int64, err error) {
	name, args, err := parseCall(traffic)
	if err != nil {
		return nil, 0, err
	}
	first, second := 1, 1
	if len(args) > 0 {
		first = args[0]
	}
	if len(args) > 1 {
		second = args[1]
	}
	switch name {
	case "uniform":
		return loadcurve.Uniform(hosts), 1, nil
	case "shift":
		return loadcurve.Shift(hosts, first), 1, nil
	case "shiftseq":
		return loadcurve.ShiftSequence(hosts, second), int64(first), nil
	case "randmsg":
		return loadcurve.Others(hosts), int64(first), nil
	case "random":
		return loadcurve.Others(hosts), 0, nil
	case "linshift":
		if len(args) < 2 {
			second = first
		}
		return loadcurve.ShiftSequence(hosts, second), 0, nil
	case "randshift":
		return loadcurve.RandomShifts(hosts, uint64(first)), 0, nil
	}
	return nil, 0, fmt.Errorf("%q: it is not known", traffic)
}

// choices are the routings of the simulators, by the way a switch decides.
var choices = map[string]credit.Choice{
	"dmodk": credit.First, "dmodk-next": credit.First, "minhop-bal": credit.First,
	"nca": credit.Random, "random": credit.Random,
	"anca": credit.BetterOfTwo, "adaptive": credit.BetterOfTwo,
}

// routes returns the routes of a case: the shortest paths, all of them or the one picked by its
// rule.
func routes(name string, n *network.Network, w *credit.Wires) (*credit.Routes, error) {
	r := credit.NewRoutes(w)
	r.Choice = choices[name]
	level, err := network.Ranks(n, nil)
	if err != nil {
		return nil, err
	}
	for dst := range n.Hosts() {
		ways := shortest(n, network.Node(dst))
		for i := range n.Switches() {
			sw := n.Switch(i)
			var links []int32
			for p, far := range n.Ends(sw) {
				if far.Node != network.NoNode && ways[far.Node] >= 0 && ways[far.Node] < ways[sw] {
					links = append(links, w.Link(sw, p+1))
				}
			}
			if r.Choice == credit.First && len(links) > 1 {
				k, at := len(n.Ends(sw))/2, dst
				for range level[sw] - 1 {
					at /= k // d-mod-k: (destination div k^h) mod k
				}
				links = []int32{nextLive(w, sw, k, at, links)}
			}
			r.Set(i, dst, links...)
		}
	}
	if name == "minhop-bal" {
		balance(r, n, w)
	}
	return r, nil
}

// nextLive picks the up-link of a switch at a position of its k up-links or, if that is dead, the
// next live one.
func nextLive(w *credit.Wires, sw network.Node, k, at int, links []int32) int32 {
	for i := range k {
		if want := w.Link(sw, k+1+(at+i)%k); slices.Contains(links, want) {
			return want
		}
	}
	return links[0]
}

// shortest returns the number of links from each node to a host, -1 if the host is unreachable.
func shortest(n *network.Network, dst network.Node) []int {
	ways := slices.Repeat([]int{-1}, n.Nodes())
	ways[dst] = 0
	for next := []network.Node{dst}; len(next) > 0; next = next[1:] {
		for _, far := range n.Ends(next[0]) {
			if far.Node != network.NoNode && ways[far.Node] < 0 {
				ways[far.Node] = ways[next[0]] + 1
				next = append(next, far.Node)
			}
		}
	}
	return ways
}

// balance picks links of leaves roughly like OpenSM's min-hop counters: destination mod k if it is
// live, else the least used of the leaf, ties to the lower.
func balance(r *credit.Routes, n *network.Network, w *credit.Wires) {
	for i := range n.Switches() {
		sw := n.Switch(i)
		if far := n.Ends(sw)[0].Node; far == network.NoNode || !n.IsHost(far) {
			continue
		}
		k := len(n.Ends(sw)) / 2
		used := map[int32]int{}
		set := func(dst int, l int32) {
			used[l]++
			r.Set(i, dst, l)
		}
		var broken []int
		for dst := range n.Hosts() {
			if want := w.Link(sw, k+1+dst%k); n.Leaf(network.Node(dst)).Node == sw {
				continue
			} else if alive(n, w, want, dst) {
				set(dst, want)
			} else {
				broken = append(broken, dst)
			}
		}
		for _, dst := range broken {
			best := int32(-1)
			for p := range k {
				l := w.Link(sw, k+1+p)
				if alive(n, w, l, dst) && (best < 0 || used[l] < used[best]) {
					best = l
				}
			}
			set(dst, best)
		}
	}
}

// alive reports whether an up-link and the spine's link to a destination's leaf are.
func alive(n *network.Network, w *credit.Wires, l int32, dst int) bool {
	spine := network.Node(w.To[l])
	return spine >= 0 && slices.ContainsFunc(n.Ends(spine), func(far network.End) bool { return far.Node == n.Leaf(network.Node(dst)).Node })
}
