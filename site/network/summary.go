package network

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/internal/unit"
)

type Summary struct {
	Schema       string   `json:"schema"`
	Source       string   `json:"source"`
	Form         string   `json:"form"`
	Notation     string   `json:"notation,omitempty"`
	Hosts        int      `json:"hosts"`
	Others       int      `json:"others,omitempty"` // with LIDs, and no hosts
	Switches     int      `json:"switches"`
	Levels       []Level  `json:"levels"`
	HostCables   int      `json:"host_cables"`
	SwitchCables int      `json:"switch_cables"`
	Roots        []string `json:"roots"`
	RootsGiven   bool     `json:"roots_given"`
	Dead         []string `json:"dead"`
	LIDs         usedLIDs `json:"lids"`
	Isolated     []string `json:"isolated"`
	Warnings     []string `json:"warnings"`
}

// A Level counts its switches; those next to hosts are on level 1.
type Level struct {
	Level    int `json:"level"`
	Switches int `json:"switches"`
}

// usedLIDs are the LIDs of the nodes.
type usedLIDs struct {
	Used     int `json:"used"`
	Last     int `json:"last"`
	Capacity int `json:"capacity"`
	LMC      int `json:"lmc"` // the largest of a host
}

// Summarise summarises a network: whole has all its cables, n the live ones. Without roots it finds
// them.
func Summarise(whole, n *Network, roots []Node) *Summary {
	r := &Summary{
		Schema: "evbench/topo/1", Notation: n.Notation, Hosts: n.Hosts(), Others: n.Others(), Switches: n.Switches(),
		Levels: []Level{}, Roots: []string{}, RootsGiven: roots != nil, Dead: []string{}, Isolated: []string{}, Warnings: []string{},
	}
	for _, c := range n.Cables() {
		switch {
		case n.IsHost(c.A.Node):
			r.HostCables++
		case c.A.Node != c.B.Node: // no plug
			r.SwitchCables++
		}
	}
	for _, c := range whole.Cables() {
		if !n.Has(c) {
			r.Dead = append(r.Dead, whole.CableName(c))
		}
	}
	for v := range Node(n.Nodes()) {
		if n.Isolated(v) {
			r.Isolated = append(r.Isolated, n.Name(v))
		}
	}
	if above := whole.AboveNote(); above != "" {
		r.warn("%s", above)
	}
	if p, err := TreeOf(whole); err == nil && p.Gaps() != "" {
		r.warn("as a tree, %s", p.Gaps())
	}
	r.countLIDs(n)
	r.rates(n)
	r.rank(n, roots)
	r.parts(n)
	return r
}

func (r *Summary) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

func (r *Summary) countLIDs(n *Network) {
	r.LIDs = usedLIDs{Last: n.MaxLID(), Capacity: maxLID}
	least, without := 0, 0
	for v := range Node(n.Nodes() + n.Others()) {
		i := n.Info(v)
		switch {
		case i.LID == 0:
			without++
		case n.IsHost(v):
			r.LIDs.LMC = max(r.LIDs.LMC, int(i.LMC))
		}
		r.LIDs.Used += n.LIDs(v)
		if n.IsHost(v) && (v == 0 || int(i.LMC) < least) {
			least = int(i.LMC)
		}
	}
	if least != r.LIDs.LMC {
		r.warn("the LMC of hosts differs: %d to %d", least, r.LIDs.LMC)
	}
	if without > 0 {
		r.warn("%d of %d nodes have no LID: give them with --lids or --lmc", without, n.Nodes()+n.Others())
	}
}

// rates warns of cables that are slower than most of their kind, as those that trained down, and of some
// whose rate is not known.
func (r *Summary) rates(n *Network) {
	var hosts, unknown []Cable
	for _, c := range n.Cables() {
		if n.IsHost(c.A.Node) {
			hosts = append(hosts, c)
		}
		if n.Rate(c.A) == 0 {
			unknown = append(unknown, c)
		}
	}
	for kind, cables := range [][]Cable{hosts, n.SwitchCables()} {
		var slow []string
		usual := n.UsualRate(cables)
		for _, c := range cables {
			if rate := n.Rate(c.A); rate > 0 && rate < usual {
				slow = append(slow, fmt.Sprintf("%s (%v)", n.CableName(c), unit.Rate(rate)))
			}
		}
		if slow != nil {
			r.warn("%s %s slower than most, which have %v: %s", show.Plural(len(slow), "cable", "cables"), []string{"to hosts", "between switches"}[kind], unit.Rate(usual), show.Few(slow))
		}
	}
	if n.Rated() && unknown != nil {
		r.warn("%s, such as %s, without a rate that is known here: taken for as fast as others", show.Plural(len(unknown), "cable", "cables"), n.CableName(unknown[0]))
	}
}

// rank counts the switches with cables of each level, if levels can be told.
func (r *Summary) rank(n *Network, roots []Node) {
	var err error
	if roots == nil {
		roots, err = DetectRoots(n)
	}
	if err != nil {
		r.warn("%v", err)
		return
	}
	for _, v := range roots {
		r.Roots = append(r.Roots, n.Name(v))
	}
	level, err := Ranks(n, roots)
	if err != nil {
		r.warn("%v", err)
		return
	}
	r.Levels = make([]Level, slices.Max(level))
	for i := range r.Levels {
		r.Levels[i].Level = i + 1
	}
	for i := range n.Switches() {
		if s := n.Switch(i); !n.Isolated(s) {
			r.Levels[level[s]-1].Switches++
		}
	}
	if odd := n.NotLayered(level); len(odd) > 0 {
		c := odd[0]
		r.warn("%d cables join no neighbouring levels, the first %s on level %d with %s on level %d",
			len(odd), n.EndName(c.A), level[c.A.Node], n.EndName(c.B), level[c.B.Node])
	}
}

func (r *Summary) parts(n *Network) {
	if p := n.Parts(); len(p) > 1 {
		names := lists.Map(slices.Concat(p[1:]...), func(v Node) string { return n.Name(v) })
		r.warn("%d hosts do not reach the other %d: %s", len(names), len(p[0]), show.Few(names))
	}
}

func (r *Summary) WriteText(w io.Writer) error {
	levels := lists.Map(r.Levels, func(l Level) string { return fmt.Sprintf("%d on level %d", l.Switches, l.Level) })
	switches := fmt.Sprint(r.Switches)
	if len(levels) > 0 {
		switches += ": " + strings.Join(levels, ", ")
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "network\t%s\n", r.Source)
	if r.Notation != "" && r.Notation != r.Source {
		fmt.Fprintf(tab, "\t= %s\n", r.Notation)
	}
	fmt.Fprintf(tab, "hosts\t%d\n", r.Hosts)
	if r.Others > 0 {
		fmt.Fprintf(tab, "others\t%d with LIDs, and no hosts: aggregation nodes, routers and the like\n", r.Others)
	}
	fmt.Fprintf(tab, "switches\t%s\n", switches)
	fmt.Fprintf(tab, "cables\t%d: %d to hosts, %d between switches\n", r.HostCables+r.SwitchCables, r.HostCables, r.SwitchCables)
	if len(r.Roots) > 0 {
		how := "found"
		if r.RootsGiven {
			how = "given"
		}
		fmt.Fprintf(tab, "roots\t%d, %s: %s\n", len(r.Roots), how, show.Few(r.Roots))
	}
	if r.LIDs.Used > 0 {
		fmt.Fprintf(tab, "LIDs\t%d of %d, the last %d; LMC %d\n", r.LIDs.Used, r.LIDs.Capacity, r.LIDs.Last, r.LIDs.LMC)
	}
	if len(r.Dead) > 0 {
		fmt.Fprintf(tab, "dead\t%d of %d cables: %s\n", len(r.Dead), len(r.Dead)+r.HostCables+r.SwitchCables, show.Few(r.Dead))
	}
	if len(r.Isolated) > 0 {
		fmt.Fprintf(tab, "isolated\t%d, without any cable: %s\n", len(r.Isolated), show.Few(r.Isolated))
	}
	for _, s := range r.Warnings {
		fmt.Fprintf(tab, "warning\t%s\n", s)
	}
	return tab.Flush()
}
