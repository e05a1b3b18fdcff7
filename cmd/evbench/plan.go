package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/site/host"
	"evbench/site/network"
	"evbench/topology"
)

func verifyAction(c *cli.Context) error {
	name := c.Args().First()
	f, ordered, err := readPlan(name)
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	o := verify.Options{AllowContention: c.Bool("allow-contention"), Bound: c.Bool("bound"), First: c.Int("first")}
	if c.IsSet("topology") {
		if o.Live, err = liveNow(c, f, ordered); err != nil {
			return err
		}
	}
	if ordered != nil {
		report, err := checkOrdered(c, ordered, o)
		if err != nil {
			return err
		}
		text, json := plan.VerifiedOrdered(name, report).Before(report.WriteText, document("evbench/verify/2", struct {
			Plan string `json:"plan"`
			*verify.OrderedReport
		}{name, report}))
		return judged(c, report.Valid, text, json)
	}
	if c.IsSet("sizes") {
		return usagef("--sizes: %s is of version 1, for equal fragments", name)
	}
	report := verify.Check(f, o)
	text, json := plan.Verified(name, report).Before(report.WriteText, document("evbench/verify/1", struct {
		Plan string `json:"plan"`
		*verify.Report
	}{name, report}))
	return judged(c, report.Valid, text, json)
}

// liveNow is the tree of a plan without the links whose cable is missing in the network, or dead.
func liveNow(c *cli.Context, f *verify.File, ordered *verify.Ordered) (*topology.Tree, error) {
	var t *topology.Tree
	if ordered != nil {
		t = ordered.Tree
	} else {
		t = f.Tree
	}
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return nil, err
	}
	p, err := network.Match(t, s.Whole)
	if err != nil {
		return nil, usagef("--topology %s: %w", c.String("topology"), err)
	}
	return p.Now(s.Net), nil
}

// readPlan reads a plan of either version, valid or not, from a file or, "-", standard input.
func readPlan(name string) (f *verify.File, o *verify.Ordered, err error) {
	f, err = planFile(name, func(r io.Reader) (f *verify.File, err error) {
		f, o, err = verify.ReadEither(r, host.Room(1))
		return f, err
	})
	return f, o, err
}

func planFile[P any](name string, read func(io.Reader) (P, error)) (p P, err error) {
	if name == "-" {
		return read(os.Stdin)
	}
	f, err := atomicfile.Open(name)
	if err != nil {
		return p, err
	}
	defer f.Close()
	return read(f)
}

func diffAction(c *cli.Context) error {
	var plans [2]*plan.Plan
	for i := range plans {
		p, err := loadPlan(c.Args().Get(i))
		if err != nil {
			return usagef("%s: %w", c.Args().Get(i), err)
		}
		plans[i] = p
	}
	d := plan.Compare(plans[0], plans[1])
	worse, err := d.Worse(cmdline.Names(c, "fail-on"))
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	err = judged(c, true, func(w io.Writer) error { return d.WriteText(w, worse) }, document("evbench/diff/1", struct {
		plan.Diff
		Worse []plan.Regression `json:"worse"`
	}{d, worse}))
	if err == nil && len(worse) > 0 {
		err = &exitError{code: exitRegression}
	}
	return err
}

// loadPlan reads a complete and valid plan, from a file or, "-", standard input.
func loadPlan(name string) (*plan.Plan, error) {
	return planFile(name, func(r io.Reader) (*plan.Plan, error) { return plan.ReadAtMost(r, host.Room(100)) })
}

func planAction(c *cli.Context) error {
	t, hosts, slow, err := treeAndHosts(c)
	if err != nil {
		return err
	}
	slow = slices.DeleteFunc(slow, func(x topology.SlowLink) bool { return !t.LinkAlive(x.Link) }) // --down
	if err := checkPlans(t.Servers(), 1); err != nil {
		return err
	}
	var watch stopwatch
	if c.IsSet("sizes") {
		return planSizes(c, t, hosts, slow, &watch)
	}
	p, slower, err := buildPlan(c, t, slow, watch.stage)
	if err != nil {
		return err
	}
	p.Hosts = hosts
	cost := p.Cost(plan.Equal, c.Uint64("seed"))
	cost.Duration = max(cost.Duration, slower.Time)
	watch.stage("")
	write := p.WriteText
	if c.String("format") == "json" {
		write = p.WriteJSON
	}
	return writePlan(c, &watch, write, func(w io.Writer) {
		fmt.Fprintln(w, p.Answer(cost, slower))
		p.Describe(w, cost)
		slower.Describe(w, t)
	})
}

func writePlan(c *cli.Context, watch *stopwatch, write func(io.Writer) error, describe func(io.Writer)) error {
	if err := writeOut(c, func(w io.Writer) error { return packed(c, w, write) }); err != nil {
		return err
	}
	if !c.Bool("quiet") {
		describe(c.App.ErrWriter)
	}
	if c.Bool("time") {
		fmt.Fprintln(c.App.ErrWriter, "planned in", watch)
	}
	return nil
}

// buildPlan plans for a tree. A schedule that is wrong as published, or cannot be routed, and
// tables that leave out servers, are results; other errors are wrong use.
func buildPlan(c *cli.Context, t *topology.Tree, slow []topology.SlowLink, stage func(string)) (p *plan.Plan, slower *plan.Slower, err error) {
	o := plan.Options{
		Schedule: c.String("schedule"), Routing: c.String("routing"), Seed: c.Uint64("seed"), Stage: stage,
		Objective: schedules.Objective(c.String("objective")), DropUnreachable: c.Bool("drop-unreachable"),
	}
	if o.Schedule == "" {
		return nil, nil, usagef("--schedule is empty; there are %s", strings.Join(schedules.Names(), ", "))
	}
	if t.Levels() == 3 && o.Routing == "" {
		o.Routing = routing.Pinned
	}
	if p, slower, err = plan.BuildSlow(t, o, slow); err == nil {
		return p, slower, nil
	}
	_, invalid := errors.AsType[*scheduler.InvalidError](err)
	_, unroutable := errors.AsType[*scheduler.UnroutableError](err)
	_, noRoute := errors.AsType[*plan.NoRouteError](err)
	if invalid || unroutable || noRoute {
		return nil, nil, err
	}
	if u, ok := errors.AsType[*plan.UnreachableError](err); ok {
		return nil, nil, usagef("%s: %w (--drop-unreachable leaves their messages out)", withoutLinks(t), u)
	}
	return nil, nil, usage(err)
}

func withoutLinks(t *topology.Tree) string {
	return t.Notation() + " without " + strings.Join(t.DownNames(), ", ")
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
