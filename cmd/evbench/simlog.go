package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/failover"
	"evbench/results/store"
	"evbench/study/failures"
	"evbench/study/papers"
	"evbench/study/policy"
)

func simLog(c *cli.Context) error {
	if c.IsSet("rate") && !c.Args().Present() {
		return usagef("--rate: --log alone takes LHCb's network with the rate of its links; give a SCENARIO for another")
	}
	policies, err := policy.ParsePolicies(c.String("policy"))
	if err != nil {
		return usagef("--policy: %w", err)
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
	out, err := bench.LogSetting(s, planned)
	if err != nil {
		return nil, usagef("%s: %w", c.Args().First(), err)
	}
	return out, out.Limit(c.Context)
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
	return times, source, wrongIn("--times", err)
}
