package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/builder"
	"evbench/failover"
	"evbench/results"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/sim"
	"evbench/study/failures"
	"evbench/study/papers"
	"evbench/study/policy"
)

// simLogFlags are those of sim that say something of a failure log.
func simLogFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "log", Usage: "work out what policies of fail-over are worth over the failures of a subnet manager's log, `FILE`, in place of a scenario's cases"},
		&cli.StringFlag{Name: "policy", Usage: "with --log: `NAME[,NAME…]` of " + strings.Join(policyNames(), ", ") + ", or all (default: all)"},
		&cli.DurationFlag{Name: "hold", Value: failover.DefaultHold, Usage: "with --log: fors+hold uses a link again when it has been up for `D`"},
		&cli.StringFlag{Name: "times", Usage: "with --log: how long fail-over takes, `lab|thesis[,NAME=D…]`: seen, debounce, aid, plan, verify, install, update, clean, exchange, retransmit (default: lab)"},
		&cli.StringFlag{Name: "measured", Usage: "with --log: take the times from the results of a run with fail-over, `RESULTS`; --times goes on top"},
		&cli.IntFlag{Name: "year", Usage: "with --log: `Y` of the earliest line: OpenSM's times have none"},
		&cli.StringFlag{Name: "cables", Usage: "with --log: `FILE` with the log's cables, called leaf0-spine3 (default: those of the network)"},
		&cli.DurationFlag{Name: "merge", Usage: "with --log: failures of a link less than `D` apart are one (default: none are merged)"},
		&cli.StringSliceFlag{Name: "exclude", Usage: "with --log: leave out failures that begin in `FROM..TO`"},
	}
}

func policyNames() []string {
	var out []string
	for _, p := range failover.Policies() {
		out = append(out, string(p))
	}
	return out
}

// checkLogFlags refuses what says something of a log without one, and of results with one.
func checkLogFlags(c *cli.Context) error {
	if !c.IsSet("log") {
		for _, f := range simLogFlags()[1:] {
			if name := f.Names()[0]; c.IsSet(name) {
				return usagef("--%s: says something of a log; give it with --log FILE", name)
			}
		}
		return nil
	}
	for _, name := range []string{"model", "quantum", "case", "repeat", "duration", "interval", "out"} {
		if c.IsSet(name) {
			return usagef("--%s: says something of a scenario's cases; --log works out none", name)
		}
	}
	if c.IsSet("rate") && !c.Args().Present() {
		return usagef("--rate: the rate of LHCb's links is part of what it is reckoned with; give a SCENARIO for another network")
	}
	return needArgs(c, 0, 1, "SCENARIO")
}

// simLog prints what policies are worth over a log.
func simLog(c *cli.Context) error {
	policies, err := askedPolicies(c.String("policy"))
	if err != nil {
		return err
	}
	if c.IsSet("hold") && c.Duration("hold") <= 0 {
		return usagef("--hold %s: must be more than 0", c.Duration("hold"))
	}
	setting, err := logSetting(c)
	if err != nil {
		return err
	}
	r := &policy.Report{Setting: setting, Hold: c.Duration("hold")}
	if r.Times, r.Source, err = failoverTimes(c); err != nil {
		return err
	}
	if r.Log, err = linkLog(c, setting); err != nil {
		return err
	}
	if r.Times.Exchange == 0 {
		if r.Times.Exchange, err = setting.Exchange(c.Context); err != nil {
			return err
		}
	}
	if err := reckon(c, r, policies); err != nil {
		return err
	}
	if c.Bool("json") {
		return r.WriteJSON(c.App.Writer)
	}
	return r.WriteText(c.App.Writer)
}

// reckon replays the log under each policy, and adds up.
func reckon(c *cli.Context, r *policy.Report, policies []failover.Policy) error {
	show := newProgress(c.App.ErrWriter, c.Bool("quiet"), false)
	defer show.end()
	rates := &policy.Rates{Work: r.Setting.Rate, Same: r.Setting.Same}
	for i, p := range policies {
		story, err := policy.Replay(p, r.Log, policy.Options{Tree: r.Setting.Tree, Times: r.Times, Hold: r.Hold})
		if err != nil {
			return err
		}
		if !show.quiet {
			show.line(fmt.Sprintf("[%d/%d] %s: %d changes, %d spells", i+1, len(policies), p, r.Log.Moments(), len(story.Spells)))
		}
		rates.Progress = func(done, of int) {
			if show.live && !show.quiet {
				show.rewrite(fmt.Sprintf("[%d/%d] %s: %d of %d states", i+1, len(policies), p, done, of))
			}
		}
		if err := rates.Learn(c.Context, story); err != nil {
			return err
		}
		r.Results = append(r.Results, policy.Reckon(story, rates))
	}
	worst, ok := r.Log.Worst()
	if !ok {
		return nil
	}
	var err error
	r.OneLink, err = r.Setting.OneLink(c.Context, worst)
	return err
}

func askedPolicies(s string) ([]failover.Policy, error) {
	if s == "" || s == "all" {
		return failover.Policies(), nil
	}
	var out []failover.Policy
	for name := range strings.SplitSeq(s, ",") {
		p, err := failover.ParsePolicy(strings.TrimSpace(name))
		if err != nil {
			return nil, usagef("--policy: %w", err)
		}
		if slices.Contains(out, p) {
			return nil, usagef("--policy: %s is named twice", p)
		}
		out = append(out, p)
	}
	return out, nil
}

// logSetting is the network that the log is about: LHCb's, or that of a scenario.
func logSetting(c *cli.Context) (*policy.Setting, error) {
	if !c.Args().Present() {
		return papers.Setting()
	}
	s, planned, err := loadSim(c)
	if err != nil {
		return nil, err
	}
	name := c.Args().First()
	switch {
	case s.Fabric.Rate == 0:
		return nil, usagef("%s: fabric.rate: a simulation needs the rate of the links: write it, or give --rate", name)
	case s.Tree == nil || s.Tree.Healthy().Connected() != nil:
		return nil, usagef("%s: topology: a log is replayed on trees of two levels", name)
	}
	timing := sim.Timing{Barrier: scenario.Tournament, Round: s.Sim.Round, Overhead: s.Sim.Overhead, Jitter: s.Sim.Jitter}
	if i := slices.IndexFunc(planned, func(p bench.Planned) bool { return p.Mode == scenario.Sync }); i >= 0 {
		if timing.Barrier = planned[i].Barrier; timing.Barrier == scenario.MPIBarrier {
			timing.Barrier = scenario.Dissemination
		}
	}
	out := &policy.Setting{
		Tree: s.Tree.Healthy(), BitPerSec: float64(s.Fabric.Rate) * scenario.Factor(s.Fabric.MTU), Fragment: int(s.Event.Fragment),
		Header: builder.HeaderSize, Timing: timing, Seed: s.Seed,
	}
	return out, out.Limit(c.Context)
}

// linkLog reads the logs, and keeps the failures of links of the tree.
func linkLog(c *cli.Context, s *policy.Setting) (policy.Log, error) {
	cables, err := cablesOf(s.Tree.Ports(), s.Tree.Leaves(), s.Tree.Spines())
	if err != nil {
		return policy.Log{}, err
	}
	h, settings, err := historyOf(c, c.StringSlice("log"), cables)
	if err != nil {
		return policy.Log{}, err
	}
	all, _ := failures.Pair(h)
	l := policy.FromFailures(s.Tree, h, failures.Merge(failures.Exclude(all, settings.Exclude), settings.Merge))
	if l.Failures == 0 {
		return l, usagef("--log: no link of %s fails in it; failures left out: %d", s.Tree.Notation(), l.Skipped)
	}
	return l, nil
}

// failoverTimes returns how long fail-over takes, and where that comes from.
func failoverTimes(c *cli.Context) (policy.Times, string, error) {
	times, source := policy.Stated(), "the figures evbench is held to in its lab: first aid 2 ms, all workers on the new plan 20 ms"
	if name := c.String("measured"); name != "" {
		run, err := store.ReadAny(name)
		if err != nil {
			return times, "", usagef("--measured: %w", err)
		}
		n := measuredTimes(&times, run)
		if n == 0 {
			return times, "", usagef("--measured %s: no case of it has failed over", name)
		}
		source = fmt.Sprintf("the medians of %d changes in %s, and stated where it has none", n, name)
	}
	for i, part := range strings.FieldsFunc(c.String("times"), func(r rune) bool { return r == ',' }) {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok && i == 0 && c.String("measured") == "" && name == "lab":
		case !ok && i == 0 && c.String("measured") == "" && name == "thesis":
			times, source = policy.Thesis(), "the lab, but LHCb's subnet manager takes 1.5 s for routes (thesis 4.1.2)"
		case !ok:
			return times, "", usagef("--times: %q: write lab or thesis first, or NAME=D, such as aid=2ms", part)
		default:
			if err := times.Set(name, value); err != nil {
				return times, "", usagef("--times: %w", err)
			}
			source = strings.TrimSuffix(source, "; --times on top") + "; --times on top"
		}
	}
	return times, source, nil
}

// measuredTimes puts medians of a run in the place of stated times, and returns over how
// many changes they are. An exchange depends on the network and is not taken.
func measuredTimes(times *policy.Times, run *results.Run) int {
	n := 0
	var seen, aid, planned, verify, install, update, clean []float64
	add := func(to *[]float64, from, until *float64) {
		if from != nil && until != nil && *until >= *from {
			*to = append(*to, *until-*from)
		}
	}
	for _, x := range run.Summary.Cases {
		for _, f := range x.Failovers {
			if f.SeenSec == nil || f.Superseded {
				continue
			}
			n++
			add(&seen, f.SetSec, f.SeenSec)
			add(&aid, f.SeenSec, f.AidedSec)
			add(&planned, f.SeenSec, f.PlannedSec)
			add(&verify, f.PlannedSec, f.VerifiedSec)
			add(&install, f.VerifiedSec, f.InstalledSec)
			add(&update, f.InstalledSec, f.UpdatedSec)
			add(&clean, f.FirstNewSec, f.CleanedSec)
		}
	}
	for _, x := range []struct {
		to   *time.Duration
		from []float64
	}{
		{&times.Seen, seen}, {&times.Aid, aid}, {&times.Plan, planned}, {&times.Verify, verify},
		{&times.Install, install}, {&times.Update, update}, {&times.Clean, clean},
	} {
		if len(x.from) > 0 {
			slices.Sort(x.from)
			*x.to = time.Duration(x.from[len(x.from)/2] * float64(time.Second))
		}
	}
	if len(planned) > 0 {
		times.Debounce = 0 // it is in the time until the plan is there
	}
	return n
}
