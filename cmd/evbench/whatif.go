package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/internal/show"
	"evbench/model/order"
	"evbench/model/sweep"
	"evbench/plan"
	"evbench/plan/best"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/study/survey"
	"evbench/topology"
	"evbench/view/live"
)

func whatifAction(c *cli.Context, s *sweep.Sweep) error {
	if nets, pairs := networksOf(c); nets != nil {
		return whatifEach(c, s, nets, pairs)
	}
	d, err := whatifOne(c, s, nil)
	if err != nil {
		return err
	}
	return printed(c, d)
}

// whatifOne is whatif for the hosts of a job; nil: those of --hosts, or all.
func whatifOne(c *cli.Context, s *sweep.Sweep, job *network.Job) (d answer.Document, err error) {
	if c.IsSet("tables-engine") {
		return whatifOver(c, job)
	}
	t, _, rates, err := treeOf(c, job)
	if err != nil {
		if _, why := notTree(c); why != nil {
			err = usagef("%w\n%s is a network all the same: --tables-engine NAME, such as minmax, makes tables anew without each cable", err, c.String("topology"))
		}
		return d, err
	}
	if t.Leaves() == 1 && t.Renamed() {
		return d, usagef("--topology %s: one switch: no link between switches can die", c.String("topology"))
	}
	if engine := overTables(c, t, rates, job); engine != "" {
		fmt.Fprintf(c.App.ErrWriter, "%s: it is no whole tree; asked is what the order of messages over the tables of %s takes (over the tree: --schedule fors)\n", c.String("topology"), engine)
		if err := c.Set("tables-engine", engine); err != nil {
			return d, err
		}
		return whatifOver(c, job)
	}
	o := survey.WhatIfOptions{
		K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), Cases: survey.Cases(cmdline.Names(c, "schedule"), cmdline.Names(c, "routing")), Sweep: s,
		Good: c.Float64("good") / 100, Assumes: otherRates(&t.Live, rates), Adaptive: c.Bool("adaptive"), Engines: known.Engines,
	}
	sets, err := survey.CountSets(&t.Live, o)
	if err != nil {
		return d, usage(err)
	}
	if err := checkPlans(t.Servers(), runtime.GOMAXPROCS(0)); err != nil {
		return d, err
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%s; cases: %d\n", sets, len(o.Cases))
		if s.Progress == nil {
			p := live.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
			s.Progress = p.Update
			defer func() { p.End(); s.Progress = nil }()
		}
	}
	if slices.ContainsFunc(o.Cases, func(x survey.Case) bool { return x.Routing != routing.Pinned }) {
		noteLanes(c, &t.Live)
	}
	report, err := survey.WhatIf(c.Context, t, o)
	if err != nil {
		return d, usage(err)
	}
	return report.Document(), nil
}

// overTables is the engine over whose tables the order of messages is shorter than a plan of the tree, of which a network lacks so much that it is
// hardly one; "": there is none, or a flag asks for what only trees have.
func overTables(c *cli.Context, t *topology.Tree, rates topology.Rates, job *network.Job) string {
	only := slices.ContainsFunc([]string{"hosts", "schedule", "routing", "fill", "spines", "readers", "builders", "shard", "journal", "adaptive"}, c.IsSet)
	if only || !best.Hardly(&t.Live, rates) || t.Servers() > maxAnyShape || c.Int("k") > 1 && c.Int("sample") == 0 {
		return ""
	}
	_, _, engine, _ := best.Best(t, plan.Options{Schedule: schedules.FORS}, topology.Rates{Least: rates.Least}, []string{engines.MinMax}, func(engine string) (p *order.Plan, time float64, err error) {
		s, err := readSource(c, c.String("topology"))
		if err == nil {
			s.Net, err = s.Net.WithSomeLIDs()
		}
		if err != nil {
			return nil, 0, err
		}
		all := network.AllHosts(s.Whole)
		if job != nil {
			all = *job
		}
		tables, err := engines.Compute(engine, s.Net, engines.Options{Roots: s.Roots, Seed: c.Uint64("seed")})
		if err == nil {
			p, err = order.Make(engine, tables, lft.Job{Nodes: all.Nodes, Host: all.Host}, 0)
		}
		if err != nil {
			return nil, 0, err
		}
		return p, p.Time(p.Schedule), nil
	})
	return engine
}

// whatifOver is whatif for a network of any shape: an engine makes its tables anew without the dead cables,
// and messages are ordered over them.
func whatifOver(c *cli.Context, only *network.Job) (d answer.Document, err error) {
	for _, flag := range []string{"schedule", "routing", "readers", "builders", "shard", "journal"} {
		if c.IsSet(flag) {
			return d, usagef("--%s: not with --tables-engine, which orders the messages of all hosts over the tables of an engine", flag)
		}
	}
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return d, err
	}
	if s.Net, err = s.Net.WithSomeLIDs(); err != nil {
		return d, usage(err)
	}
	var job network.Job
	if only != nil {
		job = *only
	} else if job, err = jobOf(c, s); err != nil {
		return d, err
	}
	if apart := s.Whole.Disconnected(); apart != nil && slices.ContainsFunc(job.Nodes, func(v network.Node) bool { return apart(job.Nodes[0], v) }) {
		return d, severalNetworks(c)
	}
	if err := checkPlans(len(job.Nodes), runtime.GOMAXPROCS(0)); err != nil {
		return d, err
	}
	o := survey.OverOptions{
		Name: c.String("topology"), Engine: c.String("tables-engine"), Roots: s.Roots, Nodes: job.Nodes, Host: job.Host,
		K: c.Int("k"), Sample: c.Int("sample"), Seed: c.Uint64("seed"), Good: c.Float64("good") / 100,
	}
	if !c.Bool("quiet") {
		p := live.NewSets(newTerminal(c.App.ErrWriter, false), time.Now)
		o.Progress = p.Update
		defer p.End()
	}
	report, err := survey.WhatIfOver(c.Context, s.Net, o)
	if err != nil {
		return d, usage(err)
	}
	return report.Document(), nil
}

// A subnet is one of several networks of a file: the name of a switch, and its hosts.
type subnet struct {
	Network string `json:"network"` // a switch of it
	Hosts   int    `json:"hosts"`
	Report  any    `json:"report,omitempty"` // nil: it has one switch

	job network.Job
	one bool // switch
	doc answer.Document
}

// networksOf returns the networks of a file that no cable joins by design, and how many ordered pairs of hosts are in different
// ones; nil: there is one network, or --hosts says which.
func networksOf(c *cli.Context) (nets []*subnet, pairs int) {
	s, err := netfile.Read(c.String("topology"), 0)
	if err != nil || c.IsSet("hosts") {
		return nil, 0
	}
	apart := s.Whole.Disconnected()
	if apart == nil {
		return nil, 0
	}
	all := network.AllHosts(s.Whole)
	placed := 0
	for i, v := range all.Nodes {
		leaf := s.Whole.Leaf(v).Node
		if leaf == network.NoNode {
			continue
		}
		at := slices.IndexFunc(nets, func(x *subnet) bool { return !apart(x.job.Nodes[0], v) })
		if at < 0 {
			at, nets = len(nets), append(nets, &subnet{Network: s.Whole.Name(leaf), one: true, job: network.Job{Slots: 1}})
		}
		x := nets[at]
		pairs += 2 * (placed - len(x.job.Nodes))
		placed++
		x.one = x.one && (len(x.job.Nodes) == 0 || leaf == s.Whole.Leaf(x.job.Nodes[0]).Node)
		x.job.Nodes = append(x.job.Nodes, v)
		if x.Hosts++; all.Host != nil {
			x.job.Host = append(x.job.Host, all.Host[i])
		}
	}
	for _, x := range nets {
		if len(slices.Compact(slices.Clone(x.job.Host))) == len(x.job.Nodes) { // each host has one adapter here
			x.job.Host = nil
		}
	}
	return nets, pairs
}

// whatifEach is whatif for each of several networks; the worst answer is that of all.
func whatifEach(c *cli.Context, s *sweep.Sweep, nets []*subnet, pairs int) error {
	for _, flag := range []string{"shard", "journal"} {
		if c.IsSet(flag) {
			return usagef("--%s: not with several networks: --hosts takes the hosts of one", flag)
		}
	}
	place := []answer.Verdict{answer.Bad, answer.Unknown, answer.Good}
	var worst *subnet
	for _, x := range nets {
		if x.one || x.Hosts < 2 {
			continue
		}
		var err error
		if x.doc, err = whatifOne(c, s, &x.job); err != nil {
			return err
		}
		x.Report = x.doc.Fields
		if worst == nil || slices.Index(place, x.doc.Answer.Verdict) < slices.Index(place, worst.doc.Answer.Verdict) {
			worst = x
		}
	}
	if worst == nil {
		return usagef("--topology %s: %d networks of one switch: no link between switches can die", c.String("topology"), len(nets))
	}
	a := worst.doc.Answer
	a.Why = append([]string{fmt.Sprintf("this is the network of %s, of %d that no cable joins: %s pairs of hosts have no way by design", worst.Network, len(nets), show.Commas(pairs))}, a.Why...)
	return printed(c, answer.Document{Answer: a, Schema: "evbench/whatif-networks/1", Text: func(w io.Writer) error {
		err := worst.doc.Text(w)
		for _, x := range nets {
			switch {
			case x == worst || err != nil:
			case x.Report == nil:
				_, err = fmt.Fprintf(w, "\nnetwork of %s, %s: one switch, no link between switches can die\n", x.Network, show.Plural(x.Hosts, "host", "hosts"))
			default:
				fmt.Fprintf(w, "\nnetwork of %s, %s\n", x.Network, show.Plural(x.Hosts, "host", "hosts"))
				err = x.doc.Write(w, "text")
			}
		}
		return err
	}, Fields: struct {
		Disconnected int       `json:"pairs_without_a_way"`
		Networks     []*subnet `json:"networks"`
	}{pairs, nets}})
}
