package order

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	"evbench/scheduler/order"
	"evbench/site/lft"
	"evbench/site/network"
)

// A Plan is an order of the messages between hosts, and the tables that it was made for.
type Plan struct {
	*Problem
	*Schedule
	Over    *lft.Exchange
	Network string      // its name, for people
	Hosts   []plan.Host // names, by rank; nil: none
	Bound   order.Bound
}

// Make follows the tables and takes the shortest order found; steps are those of order.Best.
func Make(name string, t *lft.Tables, job lft.Job, steps int) (*Plan, error) {
	p, err := Follow(name, t, job)
	if err == nil {
		p.Schedule = order.Best(p.Problem, steps)
	}
	return p, err
}

// Follow follows the tables, and orders nothing.
func Follow(name string, t *lft.Tables, job lft.Job) (*Plan, error) {
	x, err := t.Exchange(job)
	if err != nil {
		return nil, err
	}
	p := order.New(&x.Problem, nil)
	return &Plan{
		Problem: p, Schedule: scheduler.NewPlan(p.Hosts, "none"), Over: x, Network: name, Bound: p.Bound(),
	}, nil
}

// WriteText writes the plan file: header lines, then one line "phase src dst -" per message,
// hosts by rank, sorted.
func (p *Plan) WriteText(w io.Writer) error { return p.text().WriteText(w) }

// Hash names the plan.
func (p *Plan) Hash() string { return p.text().Hash() }

func (p *Plan) text() plan.Text {
	others := fmt.Sprintf("# schedule %s\n# made %s\n# phases %d\n# time %.6g\n# bound %.6g %s\n", Name, p.Made, p.Phases, p.Time(p.Schedule), p.Bound.Time, p.LinkName(p.Bound.Link))
	return plan.Text{Names: p.names(), Covered: p.covered(), Others: others, Rows: p.rows}
}

// names are the first header lines.
func (p *Plan) names() string {
	hosts := plan.HostLines(p.Hosts, func(rank int) int { return rank })
	return hosts + fmt.Sprintf("# network %s\n# engine %s\n", oneWord(p.Network), oneWord(p.Over.Tables.Engine))
}

// covered are the header lines that the hash covers.
func (p *Plan) covered() (out string) {
	list := func(of func(network.Node) string) string { return strings.Join(lists.Map(p.Over.Job.Nodes, of), ",") }
	value := map[string]string{
		"hosts": strconv.Itoa(len(p.Over.Job.Nodes)), "guids": list(func(v network.Node) string { return fmt.Sprintf("0x%016x", p.Over.Tables.Net.Key(v)) }),
		"readers": ranges(p.Over.Job.Reads), "builders": ranges(p.Over.Job.Builds), "tables": p.Over.Sum(),
	}
	if p.Over.Job.Host != nil {
		value["adapters"] = strings.Join(lists.Map(p.Machines(), func(own [2]int) string { return span(own[0], own[1]) }), ",")
	}
	if b := p.Over.Tables.Bits; b != nil {
		value["path-bits"] = list(func(v network.Node) string { return strconv.Itoa(int(b[v])) })
	}
	if n := len(p.Over.Missing); n > 0 {
		value["undelivered"] = strconv.Itoa(n)
	}
	for _, key := range judge.Covered {
		if value[key] != "" {
			out += "# " + key + " " + value[key] + "\n"
		}
	}
	return out
}

func (p *Plan) rows(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	first, in := p.ByPhase()
	line := make([]byte, 0, 32)
	for k := range p.Phases {
		for _, m := range in[first[k]:first[k+1]] {
			line = strconv.AppendInt(line[:0], int64(k), 10)
			line = strconv.AppendInt(append(line, ' '), int64(int(m)/p.Schedule.Hosts), 10)
			line = strconv.AppendInt(append(line, ' '), int64(int(m)%p.Schedule.Hosts), 10)
			out.Write(append(line, " -\n"...)) // which keeps its error
		}
	}
	return out.Flush()
}

// LinkName is the port by which messages leave a node: "s1_0/5", of a host "h0".
func (p *Plan) LinkName(link int) string {
	if link < 0 {
		return "-"
	}
	e := p.Over.Ports[link]
	if p.Over.Tables.Net.IsHost(e.Node) {
		return oneWord(p.Over.Tables.Net.Name(e.Node))
	}
	return oneWord(p.Over.Tables.Net.EndName(e))
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
