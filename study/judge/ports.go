package judge

import (
	"cmp"
	"fmt"
	"io"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/site/network"
	"evbench/site/ports"
)

// Ports is an exchange in a network whose switches choose each path by a hash, beside what source ports allow there that
// nobody chose, and those of a plan. Shares are of the link rate.
type Ports struct {
	ports.Figures
	Linear   float64   `json:"linear_shift_efficiency"` // by the first port of each pair, which nobody chose
	Planned  float64   `json:"planned_efficiency"`
	AtMost   float64   `json:"at_most_efficiency"` // by any ports
	Measured *Measured `json:"measured,omitempty"`
	Notes    []string  `json:"notes,omitempty"`

	of   *Verdict // the result, without a network
	file string
}

// HostsOfPaths are the hosts of paths as a network, each behind a switch of its own: what is between, only the paths say.
func HostsOfPaths(p *ports.Paths) (*network.Network, error) {
	var b network.Builder
	for _, h := range p.Hosts {
		b.Host(network.Info{Name: h.Name})
	}
	for i, h := range p.Hosts {
		s := b.Switch(network.Info{Name: "switch of " + h.Name}, 1)
		if err := b.Cable(network.End{Node: network.Node(i), Port: 1}, network.End{Node: s, Port: 1}); err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

// ExchangeOf is the exchange of a job between hosts of paths, by their network, of which roles are some.
func ExchangeOf(p *ports.Paths, net *network.Network, job network.Job, roles ports.Roles) (*ports.Exchange, error) {
	p, err := p.Of(lists.Map(job.Nodes, func(h network.Node) string { return net.Info(h).Name }))
	if err != nil {
		return nil, err
	}
	return ports.NewExchange(p, roles)
}

// JudgePorts judges a result, nil: none, by paths between its hosts. Input has the network of HostsOfPaths; file is the name of the paths.
func JudgePorts(in Input, p *ports.Paths, file string) (*Ports, error) {
	x, err := ExchangeOf(p, in.Net, in.Hosts, ports.Roles{})
	if err != nil {
		return nil, err
	}
	v := &Ports{Figures: x.Plan(0).Figures, file: file}
	each := v.Hosts - 1
	v.Linear, v.Planned, v.AtMost = float64(each)/v.Figures.Linear, float64(each)/v.Steps, float64(each)/v.Any
	v.of = &Verdict{Hosts: v.Hosts, Rate: in.Rate, AtMost: &AtMost{Efficiency: v.AtMost}, good: Thresholds{Exchange: cmp.Or(in.Good.Exchange, Usual.Exchange)}}
	v.of.servers, v.of.slots, v.of.each, v.of.receives = v.Hosts, max(1, in.Hosts.Slots), int64(each), int64(each)
	if r := in.Result; r != nil {
		v.of.doubt, v.of.slow = r.Doubt, r.Slow
		if err := v.of.measure(in); err != nil {
			return nil, within(in.ResultFile, err)
		}
		v.Measured, v.Notes = v.of.Measured, append(r.Notes, v.of.Notes...)
	}
	v.Notes = append(v.Notes, x.Slow()...)
	return v, nil
}

// Document is what was found, as commands print it.
func (v *Ports) Document() answer.Document {
	return answer.Document{Answer: v.answer(), Text: v.writeText, Schema: "evbench/judge-ports/1", Fields: v}
}

// Share is the measured rate over the possible one, if something was measured.
func (v *Ports) Share() (of float64, known bool) { return v.of.Share() }

// answer is word and first sentence. What collisions cost is a shortfall by itself where no result was given.
func (v *Ports) answer() answer.Answer {
	cost := answer.Finding{Text: fmt.Sprintf("linear shift over ports that nobody chose allows %s of the link rate, the ports of a plan %s", percent(v.Linear), percent(v.Planned)), Place: answer.At}
	e := answer.Evidence{Findings: []answer.Finding{cost}}
	if v.Linear < v.of.good.Exchange*v.Planned {
		e.Findings[0].Place = answer.Below
	}
	if v.Measured == nil && e.Findings[0].Place == answer.At {
		e.Findings[0].Doubts = []answer.Doubt{{Text: "no result was given", Remedy: "give one (--result)"}}
	}
	if v.Measured != nil {
		e.Findings[0] = v.of.measured()
		if cost.Place = answer.At; e.Findings[0].Place == answer.Below {
			e.Findings = append(e.Findings, cost)
		}
	}
	if v.of.doubt != "" {
		e.Doubts = []answer.Doubt{{Text: v.of.doubt}}
	}
	if v.Fullest > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%d messages meet on %s by ports that nobody chose, of which the first of each pair is a sample; %d on the fullest link of a plan", v.Fullest, v.FullestLink, v.FullestPlan))
	}
	a := answer.Decide(answer.Exchange, e)
	if a.Verdict != answer.Good {
		a.Next = append(a.Next, answer.Typed("evbench", "plan", "--paths", v.file, "-o", "plan.txt"))
	}
	return a
}

// writeText lists the fullest links.
func (v *Ports) writeText(w io.Writer) error {
	fmt.Fprintf(w, "  messages by ports that nobody chose, and in the plan:\n")
	for _, l := range v.Links[:min(mostLinks, len(v.Links))] {
		fmt.Fprintf(w, "  %5d %5d  %s\n", l.First, l.Planned, l.Link)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	return nil
}
