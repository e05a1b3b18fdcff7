package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/builder"
	"evbench/failover"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/study/failures"
	"evbench/study/papers"
	"evbench/study/policy"
)

// simLogFlags are those of sim that say something of a failure log.
func simLogFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "log", Usage: "in place of a scenario's cases, what policies of fail-over lose over the failures of a subnet manager's log, `FILE`"},
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

// checkLogFlags refuses flags for logs without a log, and those for a scenario's cases with one.
func checkLogFlags(c *cli.Context) error {
	if !c.IsSet("log") {
		for _, f := range simLogFlags()[1:] {
			if name := f.Names()[0]; c.IsSet(name) {
				return usagef("--%s is for logs of failures: give it with --log FILE", name)
			}
		}
		return nil
	}
	for _, name := range []string{"model", "quantum", "case", "repeat", "duration", "interval", "out"} {
		if c.IsSet(name) {
			return usagef("--%s is for the cases of a scenario: --log simulates none", name)
		}
	}
	if c.IsSet("rate") && !c.Args().Present() {
		return usagef("--rate: --log alone takes LHCb's network with the rate of its links; give a SCENARIO for another")
	}
	return needArgs(c, 0, 1, "SCENARIO")
}

// simLog prints what policies are worth over a log.
func simLog(c *cli.Context) error {
	policies, err := policy.ParsePolicies(c.String("policy"))
	if err != nil {
		return usagef("--policy: %w", err)
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
	if err := workOut(c, r, policies); err != nil {
		return err
	}
	return printed(c, r.WriteText, r.WriteJSON)
}

// workOut replays the log under each policy, and shows where that stands.
func workOut(c *cli.Context, r *policy.Report, policies []failover.Policy) error {
	show := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	defer show.End()
	return r.WorkOut(c.Context, policies, policy.Progress{
		Replayed: func(i int, s *policy.Timeline) {
			show.Line(fmt.Sprintf("[%d/%d] %s: %d changes, %d spells", i+1, len(policies), s.Policy, r.Log.Moments(), len(s.Intervals)))
		},
		States: func(i, done, of int) {
			show.Passing("[%d/%d] %s: %d of %d states", i+1, len(policies), policies[i], done, of)
		},
	})
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
	out, err := settingOf(s, planned)
	if err != nil {
		return nil, usagef("%s: %w", c.Args().First(), err)
	}
	return out, out.Limit(c.Context)
}

// settingOf is the network of a scenario, without dead links, for a log of failures. What its
// servers can take is not limited.
func settingOf(s *scenario.Scenario, planned []bench.Planned) (*policy.Setting, error) {
	switch {
	case s.Fabric.Rate == 0:
		return nil, bench.ErrNoRate
	case s.Tree == nil || s.Tree.Levels() == 3 || s.Tree.Healthy().Connected() != nil:
		return nil, errors.New("topology: a log is replayed on trees of two levels")
	}
	timing := bench.SimTiming(s, scenario.Tournament)
	if i := slices.IndexFunc(planned, func(p bench.Planned) bool { return p.Mode == scenario.Sync }); i >= 0 {
		timing = bench.SimTiming(s, planned[i].Barrier)
	}
	return &policy.Setting{
		Tree: s.Tree.Healthy(), BitPerSec: s.Fabric.BitPerSec(), Fragment: int(s.Event.Fragment),
		Header: builder.HeaderSize, Timing: timing, Seed: s.Seed,
	}, nil
}

// linkLog reads the logs, and keeps the failures of links of the tree.
func linkLog(c *cli.Context, s *policy.Setting) (policy.Log, error) {
	cables, err := failures.TreeCables(s.Tree)
	if err != nil {
		return policy.Log{}, err
	}
	h, settings, err := historyOf(c, logWords(c, c.StringSlice("log"), ""), cables)
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
	times, source := policy.Stated(), policy.StatedSource
	name := c.String("measured")
	if name != "" {
		run, _, err := store.ReadAny(name)
		if err != nil {
			return times, "", usagef("--measured: %w", err)
		}
		n := times.Measured(run)
		if n == 0 {
			return times, "", usagef("--measured %s: no case of it has failed over", name)
		}
		source = fmt.Sprintf("the medians of %d changes in %s, and stated where it has none", n, name)
	}
	times, source, err := policy.ParseTimes(c.String("times"), times, source, name == "")
	if err != nil {
		return times, "", usagef("--times: %w", err)
	}
	return times, source, nil
}
