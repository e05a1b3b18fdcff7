package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/scheduler/order"
	"evbench/site/engines/minmax"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
)

// A ringPlan is the order of hosts of a collective, as JSON and as a host file. Times are message times: of a block of a
// host or, where it has several adapters, of the part that each takes.
type ringPlan struct {
	Schema     string   `json:"schema"`
	Collective string   `json:"collective"`
	Network    string   `json:"network"`
	Tables     string   `json:"tables"`
	Hosts      int      `json:"hosts"`
	Ranks      int      `json:"ranks"`
	Rings      int      `json:"rings"` // that share no link: one for each adapter of a host
	Steps      float64  `json:"steps"`
	Bound      float64  `json:"bound"`
	Why        string   `json:"why"`
	Fullest    string   `json:"fullest"`  // link
	Messages   int      `json:"messages"` // on it, in a step
	Given      float64  `json:"steps_in_order_given"`
	Order      []string `json:"order"`
	each       int      // ranks of a host
}

const (
	ringSchema     = "evbench/ring/1"
	allReduce      = "allreduce"
	defaultRouting = "opensm-minhop" // what OpenSM takes unasked
)

// planRing orders the hosts of a job for an AllGather and its kin over the tables that there are.
func planRing(c *cli.Context) error {
	if !c.IsSet("tables") && !c.IsSet("engine") {
		if err := c.Set("engine", defaultRouting); err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "over the tables of %s (over others: --tables FILE, --engine NAME)\n", defaultRouting)
	}
	var watch stopwatch
	watch.stage("tables")
	s, t, job, err := networkAndTables(c)
	if err != nil {
		return err
	}
	if job.Hosts() < 2 {
		return usagef("%s: an exchange needs two hosts", c.String("topology"))
	}
	x, err := t.Exchange(lft.Job{Nodes: job.Nodes, Host: job.Host})
	if err != nil {
		return notDelivered(c, err)
	}
	watch.stage("order")
	p, bound := order.New(&x.Problem, nil), minmax.BoundRing(s.Net, job.Nodes, job.Host)
	least := max(1, bound.Time/float64(job.Hosts()-1))
	ring, err := proc.Made(c.Context, func() (*order.Ring, error) { return p.Ring(least), nil })
	if err != nil {
		return err
	}
	watch.stage("")
	r := newRingPlan(c, s, job, x.Ports[ring.Link], ring, p.InOrder(), bound)
	r.Tables = t.Engine
	write := r.hostFile(c.String("launcher"))
	if c.String("format") == "json" {
		write = func(w io.Writer) error { return answer.Document{Answer: r.answer(), Fields: r}.Write(w, "json") }
	}
	return writePlan(c, &watch, write, func(w io.Writer) { _ = r.answer().WriteText(w) })
}

// newRingPlan counts steps: a ring of R ranks passes R−1 blocks on, twice for an allreduce.
func newRingPlan(c *cli.Context, s *netfile.Source, job network.Job, fullest network.End, ring, given *order.Ring, bound minmax.RingBound) *ringPlan {
	r := &ringPlan{
		Schema: ringSchema, Collective: c.String("collective"), Network: c.String("topology"), Hosts: job.Hosts(), Rings: len(ring.Rings),
		Messages: ring.Load, Fullest: s.Net.EndName(fullest), Why: bound.Why,
	}
	if r.each = max(1, job.Slots); job.Host != nil {
		r.each *= len(job.Nodes) / job.Hosts()
	}
	r.Ranks = r.each * r.Hosts
	steps := r.steps()
	r.Steps, r.Given, r.Bound = steps*ring.Step, steps*given.Step, steps*max(1, bound.Time/float64(r.Hosts-1))
	for _, i := range ring.Rings[0] {
		name := ""
		if at := int(i); job.Names != nil && len(job.Names) == r.Hosts {
			if job.Host != nil {
				at = job.Host[i]
			}
			name = job.Names[at]
		} else if name = s.Net.HostName(job.Nodes[i]); name == "" {
			name = s.Net.Name(job.Nodes[i])
		}
		r.Order = append(r.Order, name)
	}
	return r
}

// steps is how many messages a rank sends.
func (r *ringPlan) steps() float64 {
	if r.Collective == allReduce {
		return 2 * float64(r.Ranks-1)
	}
	return float64(r.Ranks - 1)
}

func (r *ringPlan) answer() answer.Answer {
	f := answer.Finding{Place: answer.At}
	given := fmt.Sprintf(" In the order given %.6g.", r.Given)
	if r.Given <= r.Steps {
		given = " So it is in the order given."
	}
	switch took := fmt.Sprintf("%.6g", r.Steps); {
	case r.Steps > r.Bound*(1+1e-9):
		f.Place = answer.Across
		f.Text = fmt.Sprintf("in this order of hosts the %s takes as long as %s messages in a row; whether an order between the bound of %.6g and that exists is not known.%s", r.Collective, took, r.Bound, given)
	case r.Messages > 1 || r.Steps > r.steps():
		f.Text = fmt.Sprintf("in this order of hosts the %s takes as long as %s messages in a row, the least.%s", r.Collective, took, given)
	default:
		f.Text = fmt.Sprintf("in this order of hosts each link carries one message: %s steps, the least.%s", took, given)
	}
	e := answer.Evidence{Findings: []answer.Finding{f}, Why: []string{r.Why}}
	if r.Rings > 1 {
		e.Why = append(e.Why, fmt.Sprintf("%d rings share no link, one for each adapter of a host", r.Rings))
	}
	if r.Steps > r.Bound*(1+1e-9) {
		e.Why = append(e.Why, fmt.Sprintf("%s carries %s at once", r.Fullest, show.Plural(r.Messages, "message", "messages")))
	}
	return answer.Decide(answer.Hosts, e)
}

// hostFile writes the order as a host file of a launcher. The ranks of a host follow one another.
func (r *ringPlan) hostFile(launcher string) func(io.Writer) error {
	lines := []string{"# evbench ring 1", fmt.Sprintf("# %s of %d hosts, tables of %s", r.Collective, r.Hosts, r.Tables), fmt.Sprintf("# steps %.6g", r.Steps)}
	line := func(host string) string { return fmt.Sprintf("%s slots=%d", host, r.each) }
	switch launcher {
	case "mpich":
		line = func(host string) string { return fmt.Sprintf("%s:%d", host, r.each) }
	case "slurm": // SLURM_HOSTFILE, srun --distribution=arbitrary: a line for each rank, and no comments
		lines = nil
		line = func(host string) string { return strings.TrimSuffix(strings.Repeat(host+"\n", r.each), "\n") }
	}
	lines = append(lines, lists.Of(r.Order, line)...)
	return func(w io.Writer) error { _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); return err }
}
