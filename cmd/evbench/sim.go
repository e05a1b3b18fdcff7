package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/barrier"
	"evbench/bench"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/failover"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/internal/unit"
	"evbench/model/sim"
	"evbench/model/simulate"
	"evbench/model/sweep"
	"evbench/report"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/study/failures"
	"evbench/study/policy"
	"evbench/view/live"
)

func simAction(c *cli.Context, shard *sweep.Sweep) error {
	needed := []string{"SCENARIO"}
	if c.IsSet("log") {
		needed = nil
	}
	if err := cmdline.Args(c, "sim", needed, 1); err != nil {
		return err
	}
	if c.IsSet("log") {
		return interruptible(simLog)(c)
	}
	s, planned, err := loadSim(c)
	if err != nil {
		return err
	}
	said := c.App.ErrWriter
	if c.Bool("quiet") {
		said = io.Discard
	}
	if err := coarser(c, s); err != nil {
		return err
	}
	if planned, err = modelled(c, said, s, planned); err != nil {
		return err
	}
	cases, err := simulate.Cases(s, planned, c.String("model"))
	if err != nil {
		return usagef("%s: %w", c.Args().First(), err)
	}
	if err := host.Fits("what comes of the cases takes up to", float64(sim.Memory(cases)), "take a shorter duration, a longer interval or fewer cases"); err != nil {
		return err
	}
	manifest := simulate.Manifest(s, planned)
	ours.Build().Describe(&manifest)
	show := newTerminal(said, c.Bool("quiet"))
	o := sim.Options{Manifest: manifest, Now: time.Now, Progress: func(x sim.Step) { simulated(show, x) }, Sweep: shard}
	if !shard.Whole() {
		_, err := sim.Run(c.Context, cases, nil, o)
		show.End()
		return err
	}
	dir, err := outDir(c, s.Name+"-sim")
	if err != nil {
		return err
	}
	simulate.WriteSize(said, cases)
	files, err := createResults(dir, c.App.ErrWriter)
	if err != nil {
		return err
	}
	sum, err := sim.Run(c.Context, cases, files, o)
	show.End()
	err = errors.Join(err, files.Close())
	if printErr := printSimulated(c, sum, s, dir); err == nil {
		err = printErr
	}
	return verdictOf(sum, false, err)
}

// loadSim loads the scenario with its flags, and plans it. Without a measurement there is no
// control.
func loadSim(c *cli.Context) (*scenario.Scenario, []bench.Planned, error) {
	name := c.Args().First()
	s, err := readScenario(name)
	if err != nil {
		return nil, nil, err
	}
	noteRates(c, name, s)
	s.Control = false
	if err := s.Override(overrides(c)); err != nil {
		return nil, nil, usagef("%s: %w", name, err)
	}
	planned, err := proc.Made(c.Context, func() ([]bench.Planned, error) { return parts.Prepare(s) })
	return s, planned, wrongIn(name, err)
}

func coarser(c *cli.Context, s *scenario.Scenario) error {
	text := c.String("packet")
	if text == "" {
		return nil
	}
	size, err := unit.ParseBytes(text)
	if err == nil {
		err = s.Fabric.Lossless.Scale(size)
	}
	return wrongIn("--packet", err)
}

// modelled leaves out the cases that the requested model cannot simulate.
func modelled(c *cli.Context, said io.Writer, s *scenario.Scenario, planned []bench.Planned) ([]bench.Planned, error) {
	out, skipped := simulate.Fit(s, c.String("model"), planned)
	for _, text := range skipped {
		if len(out) == 0 {
			return nil, usagef("no case can be simulated: %s", text)
		}
		fmt.Fprintln(said, "skipped, since", text)
	}
	return out, nil
}

// simulated shows the progress of a simulation.
func simulated(t *live.Terminal, x sim.Step) {
	head := fmt.Sprintf("[%d/%d] %s: ", x.Index+1, x.Count, x.Case.Name)
	if r := x.Result; r == nil {
		t.Passing("%s%s of %s", head, live.Seconds(x.Done), live.Seconds(x.Of))
	} else {
		t.Line(fmt.Sprintf("%s%s: %.2f events/s per server over %s, efficiency %.3f, predicted %.3f", head, x.Case.Model,
			r.EventsPerSec.Mean, live.Seconds(time.Duration(r.MeasuredSec*float64(time.Second))), r.MeasuredEfficiency, r.PredictedEfficiency))
	}
}

func printSimulated(c *cli.Context, sum results.Summary, s *scenario.Scenario, dir string) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(sum)
	}
	if len(sum.Cases) == 0 {
		return nil
	}
	if err := report.Table(c.App.Writer, sum, textOptions(c.App.Writer)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "\nsimulated by the model%s at %s per link; barrier round %s, overhead %s, jitter %s\nresults in %s\n",
		simulate.ModelNames(sum.Cases), s.Fabric.RateText(), s.Sim.Round, s.Sim.Overhead, s.Sim.Jitter, dir)
	return err
}

func simLog(c *cli.Context) error {
	for _, flag := range []string{"rate", "readers", "builders"} {
		if c.IsSet(flag) && !c.Args().Present() {
			return usagef("--%s: --log alone takes LHCb's network, with the rate of its links and the roles of its servers; give a SCENARIO for another", flag)
		}
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
	return printed(c, r.Document())
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

// logSetting is the network of the log: LHCb's, or that of a scenario.
func logSetting(c *cli.Context) (*policy.Setting, error) {
	if !c.Args().Present() {
		return policy.LHCb()
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

// settingOf is the network of a scenario, without dead links, for a log of failures. The rate of
// its servers is not limited.
func settingOf(s *scenario.Scenario, planned []bench.Planned) (*policy.Setting, error) {
	switch {
	case s.Fabric.Rate == 0:
		return nil, simulate.ErrNoRate
	case s.Tree != nil && s.Tree.Cables() > 1:
		return nil, fmt.Errorf("topology: %w", s.Tree.OneCable("logs are replayed on trees"))
	case s.Tree == nil || !s.Tree.Plain() || s.Tree.Healthy().Connected() != nil:
		return nil, errors.New("topology: logs are replayed on trees of two levels with single cables")
	}
	timing := simulate.Timing(s, barrier.Tournament)
	if i := slices.IndexFunc(planned, func(p bench.Planned) bool { return p.Mode == modes.Sync }); i >= 0 {
		timing = simulate.Timing(s, planned[i].Barrier)
	}
	return &policy.Setting{
		Tree: s.Tree.Healthy(), BitPerSec: s.Fabric.BitPerSec(), Fragment: int(s.Event.Fragment),
		Header: builder.HeaderSize, Timing: timing, Seed: s.Seed,
	}, nil
}

// linkLog reads the logs, and keeps the failures of the tree's links.
func linkLog(c *cli.Context, s *policy.Setting) (policy.Log, error) {
	cables, err := failures.TreeCables(s.Tree.Shape)
	if err != nil {
		return policy.Log{}, err
	}
	h, settings, err := historyOf(c, logWords(c, c.StringSlice("log"), ""), cables)
	if err != nil {
		return policy.Log{}, err
	}
	all, _ := failures.Pair(h)
	l := policy.FromFailures(&s.Tree.Live, h, failures.Merge(failures.Exclude(all, settings.Exclude), settings.Merge))
	if l.Failures == 0 {
		return l, usagef("--log: no link of %s fails in it; failures left out: %d", s.Tree.Notation(), l.Skipped)
	}
	return l, nil
}

// failoverTimes returns how long fail-over takes, and the source of these times.
func failoverTimes(c *cli.Context) (policy.Times, string, error) {
	times, source := policy.Stated(), policy.StatedSource
	name := c.String("measured")
	if name != "" {
		run, _, err := stored.ReadAny(name)
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
