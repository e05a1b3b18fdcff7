package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/best"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
	"evbench/view/plans"
)

func planAction(c *cli.Context) error {
	if c.IsSet("collective") {
		return planRing(c)
	}
	if c.IsSet("paths") {
		return planPorts(c)
	}
	if !c.IsSet("topology") {
		return usagef("--topology is missing, for example -t 'FT(2;4,8)'")
	}
	if c.IsSet("tables") || c.IsSet("engine") {
		return planTables(c)
	}
	t, hosts, rates, err := treeAndHosts(c)
	if c.Bool("adaptive") {
		return anyWay(c, "adaptive routing")
	}
	if err != nil {
		return withoutTree(c, err)
	}
	rates.Slow = slices.DeleteFunc(rates.Slow, func(x topology.SlowLink) bool { return !t.LinkAlive(x.Link) }) // --down
	if err := checkPlans(t.Servers(), 1); err != nil {
		return err
	}
	var watch stopwatch
	if c.IsSet("sizes") {
		return planSizes(c, t, hosts, rates, &watch)
	}
	o, err := treeOptions(c, t.Shape, watch.stage)
	if err != nil {
		return err
	}
	var others []string
	if t.Servers() <= maxAnyShape && !asksForTree(c) {
		others = []string{engines.OpenSMMinHop, engines.MinMax}
	}
	p, over, engine, err := best.Best(t, o, rates, others, overEngine(c, &watch))
	switch {
	case err != nil:
		return notPlanned(&t.Live, err)
	case engine != "":
		why := "it is no whole tree"
		if p != nil {
			why = fmt.Sprintf("the plan of the tree takes %.6g message times", p.Promise.Takes)
		}
		fmt.Fprintf(c.App.ErrWriter, "%s: %s; planned is the order of messages over the tables of evbench routes compute -e %s (over the tree: --schedule fors)\n", c.String("topology"), why, engine)
		return over.write(c, &watch)
	}
	if p.Hosts = hosts; !p.Pinned() {
		noteLanes(c, &t.Live)
	}
	return writeTree(c, p, &watch)
}

// writeTree writes the plan of a tree, and what it promises.
func writeTree(c *cli.Context, p *best.Plan, watch *stopwatch) error {
	cost := p.Cost(plan.Equal, c.Uint64("seed"))
	watch.stage("")
	write := p.WriteText
	if c.String("format") == "json" {
		write = func(w io.Writer) error { return plans.WriteJSON(w, p.Plan) }
	}
	describe := func(w io.Writer) {
		m := p.Of(cost)
		fmt.Fprintln(w, plans.Answer(p.Plan, cost, m))
		plans.Describe(w, p.Plan, cost, m)
	}
	if p.Whole && !c.Bool("quiet") { // writing takes a minute, this a second
		describe(answerTo(c))
		fmt.Fprintf(c.App.ErrWriter, "%s messages follow by a closed form: server i sends to server i+p+1 in phase p, by the place of the receiver on its leaf\n", show.Commas(p.Messages()))
		describe = func(io.Writer) {}
	}
	return writePlan(c, watch, write, describe)
}

// maxAnyShape is how many hosts of a network that is no tree are planned unasked: it takes some seconds.
const maxAnyShape = 512

// withoutTree plans the order of messages over tables of an engine, the shortest found, where a network is no tree, the error, and no
// flag asks for what only trees have.
func withoutTree(c *cli.Context, err error) error {
	s, why := notTree(c)
	if why == nil || asksForTree(c) || s.Whole.Hosts() > maxAnyShape {
		return ofAnyShape(c, err)
	}
	var watch stopwatch
	_, over, engine, err := best.Best(nil, plan.Options{}, topology.Rates{}, []string{engines.MinMax, engines.OpenSMMinHop}, overEngine(c, &watch))
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.ErrWriter, "%s: %v; planned is the order of messages over the tables of evbench routes compute -e %s (over others: --tables FILE)\n", c.String("topology"), why, engine)
	return over.write(c, &watch)
}

// asksForTree reports whether a flag asks for what only plans of trees have.
func asksForTree(c *cli.Context) bool {
	return slices.ContainsFunc([]string{"fill", "spines", "reduction", "routing", "objective", "sizes"}, c.IsSet) ||
		c.IsSet("schedule") && c.String("schedule") != schedules.Best
}

// ofAnyShape adds to an error what else there is for a network that is no tree.
func ofAnyShape(c *cli.Context, err error) error {
	if _, why := notTree(c); why == nil {
		return err
	}
	return usagef("%w\n%s is a network all the same: for the best order of messages over its tables give --tables FILE, or --engine minmax", err, c.String("topology"))
}

// notTree returns the network of --topology, and why it, or with --hosts their part of it, is no tree; nil
// where it is one, or cannot be read.
func notTree(c *cli.Context) (*netfile.Source, error) {
	s, err := netfile.Read(c.String("topology"), 0)
	if err != nil {
		return nil, nil
	}
	p, why := network.Spineless(s.Whole)
	if why == nil && c.IsSet("hosts") {
		if job, err := netfile.ReadHosts(c.String("hosts"), s.Whole); err == nil {
			if _, err = p.For(s.Whole, job.Nodes); errors.Is(err, network.ErrNoLeaf) {
				why = fmt.Errorf("--hosts: %w", err)
			}
		}
	}
	return s, why
}

func writePlan(c *cli.Context, watch *stopwatch, write func(io.Writer) error, describe func(io.Writer)) error {
	_, shown := terminal(c.App.Writer)
	first := shown && c.String("out") == "" && !c.Bool("quiet")
	if first {
		describe(c.App.Writer)
	}
	if err := writeLong(c, func(w io.Writer) error { return packed(c, w, write) }); err != nil {
		return err
	}
	if !first && !c.Bool("quiet") {
		describe(answerTo(c))
	}
	if c.Bool("time") {
		fmt.Fprintln(c.App.ErrWriter, "planned in", watch)
	}
	return nil
}

// treeOptions are those of the flags for a tree.
func treeOptions(c *cli.Context, t *topology.Shape, stage func(string)) (plan.Options, error) {
	o := plan.Options{
		Schedule: c.String("schedule"), Routing: c.String("routing"), Engines: known.Engines, Seed: c.Uint64("seed"), Stage: stage,
		Objective: schedules.Objective(c.String("objective")), DropUnreachable: c.Bool("drop-unreachable"),
	}
	switch o.Schedule {
	case schedules.Best: // as without the flag
		o.Schedule = schedules.FORS
	case "":
		return o, usagef("--schedule is empty; there are %s", strings.Join(schedules.Names(), ", "))
	}
	if t.Levels() == 3 && o.Routing == "" {
		o.Routing = routing.Pinned
	}
	return o, nil
}

// notPlanned is the error of a tree without a plan. A schedule that is wrong as published, or cannot be routed, and
// tables that leave out servers, are results; other errors are wrong use.
func notPlanned(t *topology.Live, err error) error {
	_, invalid := errors.AsType[*scheduler.InvalidError](err)
	_, unroutable := errors.AsType[*scheduler.UnroutableError](err)
	_, noRoute := errors.AsType[*plan.NoRouteError](err)
	if invalid || unroutable || noRoute {
		return err
	}
	if u, ok := errors.AsType[*plan.UnreachableError](err); ok {
		other := ""
		if t.Renamed() {
			other = "; --engine minmax orders messages over tables, through other leaves where cables lead there"
		}
		return usagef("%s: %w (--drop-unreachable leaves their messages out%s)", withoutLinks(t), u, other)
	}
	return usage(err)
}

func withoutLinks(t *topology.Live) string {
	if down := t.DownNames(); len(down) > 0 {
		return t.Notation() + " without " + strings.Join(down, ", ")
	}
	return t.Notation()
}

// packed writes through gzip if the name of the file ends in .gz.
func packed(c *cli.Context, w io.Writer, write func(io.Writer) error) error {
	if !strings.HasSuffix(c.String("out"), ".gz") {
		return write(w)
	}
	z := gzip.NewWriter(w)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// A stopwatch adds up the time of stages.
type stopwatch struct {
	names []string
	took  []time.Duration
	since time.Time
}

// stage ends the stage before, if any, and begins one with a name; "" only ends.
func (w *stopwatch) stage(name string) {
	now := time.Now()
	if len(w.names) > len(w.took) {
		w.took = append(w.took, now.Sub(w.since))
	}
	if name != "" {
		w.names, w.since = append(w.names, name), now
	}
}

func (w *stopwatch) String() string {
	var sum time.Duration
	parts := make([]string, len(w.took))
	for i, d := range w.took {
		sum += d
		parts[i] = fmt.Sprintf("%s %.1f", w.names[i], d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f ms (%s)", sum.Seconds()*1e3, strings.Join(parts, ", "))
}
