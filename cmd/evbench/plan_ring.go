package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/plan/promise"
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
	Bound      float64  `json:"bound"` // of any order, of hosts that pass blocks on
	Why        string   `json:"why"`
	Fullest    string   `json:"fullest"`  // link
	Messages   int      `json:"messages"` // on it, in a step
	Given      float64  `json:"steps_in_order_given"`
	Order      []string `json:"order"`
	each       int      // ranks of a host
	least      float64  // steps of any ring
	notes      []string // of hosts with several adapters, and of blocks that go the other way
	adapters   []string // that a list names
}

const (
	ringSchema     = "evbench/ring/1"
	allReduce      = "allreduce"
	defaultRouting = "opensm-minhop" // what OpenSM takes unasked
)

// planRing orders the hosts of a job for an AllGather and its kin over the tables that there are.
func planRing(c *cli.Context) error {
	if c.String("collective") == "" {
		return usagef(`--collective "": there are allgather, reducescatter, allreduce`)
	}
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
	if s.Whole.Adaptive {
		return usagef("%s: with adaptive routing no table says which links a message takes, so no order of hosts is offered", c.String("topology"))
	}
	x, err := t.Exchange(lft.Job{Nodes: job.Nodes, Host: job.Host, Skip: job.BetweenRails()})
	if err != nil {
		return notDelivered(c, err)
	}
	watch.stage("order")
	p, bound := order.New(&x.Problem, nil), minmax.BoundRing(s.Net, job)
	ring, err := proc.Made(c.Context, func() (*order.Ring, error) { return p.Ring(bound.Step), nil })
	if err != nil {
		return err
	}
	watch.stage("")
	r := newRingPlan(c, s, job, x.Ports[ring.Link], ring, p.InOrder(), bound)
	if r.Tables = t.Engine; slices.Contains(r.Order, "") {
		return usagef("%s: an adapter does not say which host it is in: --hosts names the hosts", c.String("topology"))
	}
	if back := r.steps() * p.Back(ring).Step; r.Collective != "allgather" && back > r.Steps { // UCC's default goes both ways
		r.notes = append(r.notes, fmt.Sprintf("blocks that go to the host before, as some libraries send them, take as long as %.6g messages in a row", back))
	}
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
	r.each = max(1, job.Slots) * r.Rings
	r.Ranks = r.each * r.Hosts
	steps, times := r.steps(), r.steps()/float64(r.Ranks-1)
	r.Steps, r.Given, r.least, r.Bound = steps*ring.Step, steps*given.Step, steps*bound.Step, times*bound.Time
	word := s.Whole.HostWords()
	for _, i := range ring.Rings[0] {
		name := word(job.Nodes[i])
		if at := int(i); len(job.Names) == r.Hosts {
			if job.Host != nil {
				at = job.Host[i]
			}
			name = job.Names[at]
		}
		r.Order = append(r.Order, name)
	}
	switch {
	case len(job.Nodes) > r.Rings*r.Hosts:
		r.notes = []string{show.Plural(r.Rings, "ring", "rings") + ": not all hosts have more adapters"}
	case r.Rings > 1 && r.Messages > 1:
		r.notes = []string{fmt.Sprintf("%d rings, one for each adapter of a host", r.Rings)}
	case r.Rings > 1:
		r.notes = []string{fmt.Sprintf("%d rings share no link, one for each adapter of a host", r.Rings)}
	}
	if strings.Join(job.Adapters, "") != "" {
		r.adapters = lists.Map(job.Nodes, func(v network.Node) string { _, name, _ := strings.Cut(s.Net.Info(v).Name, " "); return name })
		slices.Sort(r.adapters)
		r.adapters = slices.Compact(r.adapters)
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
	given := fmt.Sprintf("; in the order given %.6g", r.Given)
	if r.Given <= r.Steps {
		given = "; so it is in the order given"
	}
	m := promise.Promise{Kind: promise.Ring(0), Takes: r.Steps, Least: r.least}
	if r.Bound < r.least { // within a host blocks need no link, and a ring passes all on
		m.Kind = promise.Ring(r.Ranks)
	}
	takes := fmt.Sprintf("in this order of hosts the %s takes as long as %.6g messages in a row", r.Collective, r.Steps)
	if m.Attained() && r.Messages <= 1 && r.Steps <= r.steps() {
		takes = fmt.Sprintf("in this order of hosts each link carries one message: %s", show.Plural(int(r.Steps), "step", "steps"))
	}
	e := answer.Evidence{Findings: []answer.Finding{m.Finding(takes, given)}, Why: append([]string{r.Why}, r.notes...)}
	if !m.Attained() {
		e.Why = append(e.Why, fmt.Sprintf("%s carries %s at once", r.Fullest, show.Plural(r.Messages, "message", "messages")))
	}
	return answer.Decide(answer.Hosts, e)
}

// hostFile writes the order as a host file of a launcher. The ranks of a host follow one another.
func (r *ringPlan) hostFile(launcher string) func(io.Writer) error {
	lines := []string{"# evbench ring 1", fmt.Sprintf("# %s of %d hosts, tables of %s", r.Collective, r.Hosts, r.Tables), fmt.Sprintf("# steps %.6g", r.Steps)}
	if r.adapters != nil {
		lines = append(lines, "# adapters "+strings.Join(r.adapters, " "))
	}
	line := func(host string) string { return fmt.Sprintf("%s slots=%d", host, r.each) }
	switch launcher {
	case "mpich":
		line = func(host string) string { return fmt.Sprintf("%s:%d", host, r.each) }
	case "slurm": // SLURM_HOSTFILE, srun --distribution=arbitrary: a line for each rank, and no comments
		lines = nil
		line = func(host string) string { return strings.TrimSuffix(strings.Repeat(host+"\n", r.each), "\n") }
	}
	lines = append(lines, lists.Map(r.Order, line)...)
	return func(w io.Writer) error { _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); return err }
}
