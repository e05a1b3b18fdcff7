package order

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/model/order/verify"
	"evbench/plan"
	"evbench/site/lft"
	"evbench/site/network"
)

// A Plan is an order of the messages between hosts, and the tables that it was made for.
type Plan struct {
	*Problem
	*Schedule
	Network string // its name, for people
	Nodes   []network.Node
	Tables  *lft.Tables
	Reads   []bool // nil: all
	Builds  []bool
	Hosts   []plan.Host // names, by rank; nil: none
	Bound   Bound
}

// Make follows the tables and takes the shortest order found.
func Make(name string, t *lft.Tables, o Options) (*Plan, error) {
	p, err := Follow(name, t, o)
	if err == nil {
		p.Schedule = Best(p.Problem, o.Steps)
	}
	return p, err
}

// Follow follows the tables, and orders nothing.
func Follow(name string, t *lft.Tables, o Options) (*Plan, error) {
	problem, err := NewProblem(t, o)
	if err != nil {
		return nil, err
	}
	return &Plan{
		Problem: problem, Schedule: newSchedule(problem.Hosts, "none"), Network: name, Nodes: o.Nodes, Tables: t,
		Reads: o.Reads, Builds: o.Builds, Bound: problem.Bound(),
	}, nil
}

// WriteText writes the plan file, version 3: header lines, then one line "phase src dst -" per message,
// hosts by rank, sorted.
func (p *Plan) WriteText(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	p.begin(out)
	fmt.Fprint(out, p.covered())
	fmt.Fprintf(out, "# schedule %s\n# made %s\n# phases %d\n# time %.6g\n# bound %.6g %s\n", Name, p.Made, p.Phases, p.Time(p.Schedule), p.Bound.Time, p.LinkName(p.Bound.Link))
	fmt.Fprintf(out, "# hash %s\n", p.Hash())
	p.body(out)
	return out.Flush()
}

// begin writes the first header lines.
func (p *Plan) begin(out io.Writer) {
	fmt.Fprintf(out, "# evbench plan 3\n")
	for _, r := range p.ranks() {
		h := p.Hosts[r]
		fmt.Fprintln(out, strings.TrimSpace(fmt.Sprintf("# x-host %d %s %d %s", r, h.Name, h.Ranks, h.Adapter)))
	}
	fmt.Fprintf(out, "# network %s\n# engine %s\n", oneWord(p.Network), oneWord(p.Tables.Engine))
}

// Hash names the plan: "sha256:" and the digest of its hosts, the tables and its messages.
func (p *Plan) Hash() string {
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	out.WriteString(p.covered())
	p.body(out)
	out.Flush()
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// ranks are the ranks of hosts with names, in the order of their lines.
func (p *Plan) ranks() []int {
	out := lists.Count[int](len(p.Hosts))
	slices.SortStableFunc(out, func(a, b int) int { return p.Hosts[a].Order - p.Hosts[b].Order })
	return out
}

// covered are the header lines that the hash covers.
func (p *Plan) covered() (out string) {
	list := func(of func(network.Node) string) string { return strings.Join(lists.Of(p.Nodes, of), ",") }
	value := map[string]string{
		"hosts": strconv.Itoa(len(p.Nodes)), "guids": list(func(v network.Node) string { return fmt.Sprintf("0x%016x", p.Tables.Net.Key(v)) }),
		"readers": ranges(p.Reads), "builders": ranges(p.Builds), "tables": Sum(p.Tables, p.Problem, p.Nodes),
	}
	if p.host != nil {
		value["adapters"] = strings.Join(lists.Of(p.ofHosts(), func(own [2]int) string { return span(own[0], own[1]) }), ",")
	}
	if b := p.Tables.Bits; b != nil {
		value["path-bits"] = list(func(v network.Node) string { return strconv.Itoa(int(b[v])) })
	}
	if n := len(p.Missing); n > 0 {
		value["undelivered"] = strconv.Itoa(n)
	}
	for _, key := range verify.Covered {
		if value[key] != "" {
			out += "# " + key + " " + value[key] + "\n"
		}
	}
	return out
}

func (p *Plan) body(w io.Writer) {
	first, in := p.byPhase()
	line := make([]byte, 0, 32)
	for k := range p.Phases {
		for _, m := range in[first[k]:first[k+1]] {
			line = strconv.AppendInt(line[:0], int64(k), 10)
			line = strconv.AppendInt(append(line, ' '), int64(int(m)/p.hosts), 10)
			line = strconv.AppendInt(append(line, ' '), int64(int(m)%p.hosts), 10)
			w.Write(append(line, " -\n"...)) // a digest takes all, and a bufio.Writer keeps its error
		}
	}
}

// LinkName is the port by which messages leave a node: "s1_0/5", of a host "h0".
func (p *Plan) LinkName(link int) string {
	if link < 0 {
		return "-"
	}
	e := p.Links[link]
	if p.Tables.Net.IsHost(e.Node) {
		return oneWord(p.Tables.Net.Name(e.Node))
	}
	return oneWord(p.Tables.Net.EndName(e))
}

func oneWord(s string) string {
	if s = strings.Join(strings.Fields(s), "_"); s == "" {
		return "-"
	}
	return s
}

// ranges writes the ranks that are set: "0-3,7".
func ranges(set []bool) string {
	var out []string
	for i := 0; i < len(set); i++ {
		from := i
		for i < len(set) && set[i] {
			i++
		}
		if i > from {
			out = append(out, span(from, i-1))
		}
	}
	return strings.Join(out, ",")
}

func span(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// Sum is the digest of all that tables say about the messages: of lines "host RANK GUID LID SWITCH PORT", with switch
// and port 0 for a host without a cable, then, sorted, "SWITCH LID PORT" for each entry that a message needs; switches
// are GUIDs.
func Sum(t *lft.Tables, p *Problem, nodes []network.Node) string {
	type entry struct {
		guid uint64
		lid  int
		port uint8
	}
	var entries []entry
	lids := 1 // of a destination that messages go to, at most
	for _, bits := range t.Bits {
		lids = max(lids, 1+int(bits))
	}
	seen := make([]int, t.Net.Switches()*lids)
	for dst, to := range nodes {
		for b, hosts := range p.from {
			if p.sends[b*p.Hosts+dst] == 0 {
				continue
			}
			lid := t.LID(nodes[hosts[0]], to)
			for at := t.Net.Leaf(nodes[hosts[0]]).Node; !t.Net.IsHost(at); {
				mark := &seen[t.Net.Index(at)*lids+lid-int(t.Net.Info(to).LID)]
				if *mark == dst+1 {
					break
				}
				*mark = dst + 1
				port := t.Port(at, lid)
				entries = append(entries, entry{t.Net.Key(at), lid, port})
				at = t.Net.At(at, int(port)).Node
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(a.guid, b.guid), a.lid-b.lid) })
	h := sha256.New()
	out := bufio.NewWriterSize(h, 1<<16)
	for i, v := range nodes {
		leaf, guid := t.Net.Leaf(v), uint64(0)
		if leaf.Node != network.NoNode {
			guid = t.Net.Key(leaf.Node)
		}
		fmt.Fprintf(out, "host %d %016x %d %016x %d\n", i, t.Net.Key(v), t.Net.Info(v).LID, guid, leaf.Port)
	}
	for _, e := range entries {
		fmt.Fprintf(out, "%016x %d %d\n", e.guid, e.lid, e.port)
	}
	out.Flush()
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
