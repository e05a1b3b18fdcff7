package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric/hosts/host"
	"evbench/failover"
	"evbench/internal/unit"
	"evbench/report"
	"evbench/results"
	"evbench/scenario"
	"evbench/sim"
)

func simCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "sim",
		Usage:     "work a scenario out in virtual time, and write what a run would write; or a log of failures under policies of fail-over",
		ArgsUsage: "SCENARIO | --log LOG [--policy P] [SCENARIO]",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "`NAME` for all cases: phase (skips those that are not synchronised), fluid (default: phase for synchronised cases, fluid for the others)"},
			&cli.DurationFlag{Name: "quantum", Usage: "of the fluid model: work rates out anew only every `D` (default: exact)"},
			&cli.StringFlag{Name: "case", Usage: "work out only the case of this `NAME`"},
			&cli.IntFlag{Name: "repeat", Usage: "work the list of cases out `N` times, with other seeds"},
			&cli.DurationFlag{Name: "duration", Usage: "let each case last `D` of virtual time"},
			&cli.DurationFlag{Name: "interval", Usage: "sample every `D`"},
			&cli.StringFlag{Name: "rate", Usage: "link `RATE`, such as 200Gbit/s"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write results to `DIR` (default: results/<name>-sim-<UTC>)"},
			&cli.BoolFlag{Name: "json", Usage: "print the summary as one JSON document"},
			&cli.BoolFlag{Name: "quiet", Usage: "no progress"},
		}, simLogFlags()...),
		Action: simAction,
	}, "  evbench sim scenarios/sim-4x8.yaml\n  evbench sim --model phase scenarios/lhcb-fig65.yaml\n"+
		"  evbench sim --log scenarios/failures-lhcb.log --policy fors+hold")
}

func simAction(c *cli.Context) error {
	if err := checkLogFlags(c); err != nil {
		return err
	}
	if c.IsSet("log") {
		return leavable(c, simLog)
	}
	if err := needArgs(c, 1, 1, "SCENARIO"); err != nil {
		return err
	}
	s, planned, err := loadSim(c)
	if err != nil {
		return err
	}
	said := c.App.ErrWriter
	if c.Bool("quiet") {
		said = io.Discard
	}
	if planned, err = modelled(c, said, planned); err != nil {
		return err
	}
	cases, err := simCases(s, planned, func(p bench.Planned) string { return modelOf(c, p) }, c.Duration("quantum"))
	if err != nil {
		return usagef("%s: %w", c.Args().First(), err)
	}
	if err := fits("what comes of the cases takes up to", float64(sim.Memory(cases, 0)), host.Available(),
		"take a shorter duration, a longer interval or fewer cases"); err != nil {
		return err
	}
	dir, err := outDir(c, s.Name+"-sim")
	if err != nil {
		return err
	}
	return simulate(c, said, s, planned, cases, dir)
}

// loadSim loads the scenario with its flags, and plans it. Nothing is measured, so
// nothing is controlled.
func loadSim(c *cli.Context) (*scenario.Scenario, []bench.Planned, error) {
	name := c.Args().First()
	o := scenario.Overrides{
		Case: c.String("case"), Repeat: c.Int("repeat"), Duration: c.Duration("duration"), Interval: c.Duration("interval"),
	}
	if err := overrideRate(c, &o); err != nil {
		return nil, nil, err
	}
	s, err := scenario.ReadFile(name)
	if err != nil {
		return nil, nil, usage(err)
	}
	s.Control = false
	if err := s.Override(o); err != nil {
		return nil, nil, usagef("%s: %w", name, err)
	}
	planned, err := made(c.Context, func() ([]bench.Planned, error) { return bench.Prepare(s) })
	if err != nil {
		return nil, nil, usagef("%s: %w", name, err)
	}
	return s, planned, nil
}

// modelOf names the model that a case is worked out by.
func modelOf(c *cli.Context, p bench.Planned) string {
	if m := c.String("model"); m != "" {
		return m
	}
	return usualModel(p)
}

// usualModel names the model that fits a case.
func usualModel(p bench.Planned) string {
	if p.Mode == scenario.Sync {
		return sim.PhaseModel
	}
	return sim.FluidModel
}

// modelled checks the flags on models, and leaves out the cases that the one asked for
// cannot work out.
func modelled(c *cli.Context, said io.Writer, planned []bench.Planned) ([]bench.Planned, error) {
	switch m := c.String("model"); m {
	case "", sim.FluidModel, sim.PhaseModel:
	default:
		return nil, usagef("--model: no model %q; there are %s, %s", m, sim.PhaseModel, sim.FluidModel)
	}
	if q := c.Duration("quantum"); q < 0 {
		return nil, usagef("--quantum %s: must not be negative", q)
	}
	var out []bench.Planned
	skipped := map[string][]string{} // names by reason
	for _, p := range planned {
		if why := unmodelled(c.String("model"), p); why != "" {
			skipped[why] = append(skipped[why], fmt.Sprintf("%q", p.Name))
		} else {
			out = append(out, p)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		if len(out) == 0 {
			return nil, usagef("no case can be simulated: %s: %s", why, strings.Join(skipped[why], ", "))
		}
		fmt.Fprintf(said, "skipped, since %s: %s\n", why, strings.Join(skipped[why], ", "))
	}
	return out, nil
}

// unmodelled returns why a model cannot work out a case, or "".
func unmodelled(model string, p bench.Planned) string {
	switch f := p.Failover; {
	case model == sim.PhaseModel && p.Mode != scenario.Sync:
		return "only synchronised cases have phases"
	case f != nil && len(p.Timed) > 0 && (f.Policy == string(failover.None) || f.Policy == string(failover.Unsync)):
		return "a simulated case does not stand still, nor give up its phases (evbench sim --log reckons what such a policy costs)"
	}
	return ""
}

// simulate works the cases out and prints what came of it.
func simulate(c *cli.Context, said io.Writer, s *scenario.Scenario, planned []bench.Planned, cases []*sim.Case, dir string) error {
	fmt.Fprintf(said, "cases: %d, %s of virtual time, at most about %s of memory\n", len(cases), virtual(cases),
		unit.Bytes(max(sim.Memory(cases, 0)>>20, 1)<<20))
	sayExact(said, cases)
	files, err := createResults(dir, c.App.ErrWriter)
	if err != nil {
		return err
	}
	show := simProgress{newProgress(said, c.Bool("quiet"), false)}
	sum, err := sim.Run(c.Context, cases, files, sim.Options{
		Manifest: simManifest(s, planned, c.Duration("quantum")), Fluid: sim.Fluid, Now: time.Now, Progress: show.step,
	})
	show.p.end()
	err = errors.Join(err, files.Close())
	if printErr := printSimulated(c, sum, s, dir); err == nil {
		err = printErr
	}
	return verdictOf(sum, err)
}

// sayExact says for how many cases of the fluid model a quantum changes nothing.
func sayExact(said io.Writer, cases []*sim.Case) {
	exact := 0
	for _, c := range cases {
		if c.Model == sim.FluidModel && c.Quantum > 0 && !c.Quantised() {
			exact++
		}
	}
	if exact > 0 {
		fmt.Fprintf(said, "exact without a quantum, since not all sources are asked at once: cases: %d\n", exact)
	}
}

// simManifest is what a simulated run says about itself.
func simManifest(s *scenario.Scenario, planned []bench.Planned, quantum time.Duration) results.Manifest {
	m := results.Manifest{
		Name: s.Name, Scenario: string(s.Text), Seed: s.Seed, Plans: map[string]string{}, Warnings: []string{},
		Fabric: results.Fabric{
			Kind: sim.FabricKind, RateBitPerSec: int64(s.Fabric.Rate), MTU: s.Fabric.MTU, Factor: scenario.Factor(s.Fabric.MTU),
		},
		Simulation: &results.Simulation{
			RoundSec: s.Sim.Round.Seconds(), OverheadSec: s.Sim.Overhead.Seconds(), JitterSec: s.Sim.Jitter.Seconds(), QuantumSec: quantum.Seconds(),
		},
	}
	for _, p := range planned {
		m.Plans[p.Name] = p.Prediction.PlanHash
		m.Predictions = append(m.Predictions, p.Prediction)
	}
	describeMachine(&m)
	return m
}

func virtual(cases []*sim.Case) (sum time.Duration) {
	for _, c := range cases {
		sum += c.Duration
	}
	return sum
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
		modelNames(sum.Cases), s.Fabric.RateText(), s.Sim.Round, s.Sim.Overhead, s.Sim.Jitter, dir)
	return err
}

// modelNames lists the models of cases, behind a word that may be singular.
func modelNames(cases []results.Case) string {
	used := map[string]bool{}
	for _, c := range cases {
		used[c.Simulated] = true
	}
	if used[sim.PhaseModel] && used[sim.FluidModel] {
		return "s phase and fluid"
	}
	return " " + cases[0].Simulated
}

// simProgress shows where a simulation stands.
type simProgress struct{ p *progress }

func (s simProgress) step(x sim.Step) {
	head := fmt.Sprintf("[%d/%d] %s: ", x.Index+1, x.Count, x.Case.Name)
	switch {
	case x.Result != nil:
		s.p.line(fmt.Sprintf("%s%s: %.2f events/s per server over %s, efficiency %.3f, predicted %.3f", head, x.Case.Model,
			x.Result.EventsPerSec.Mean, seconds(time.Duration(x.Result.MeasuredSec*float64(time.Second))), x.Result.MeasuredEfficiency, x.Result.PredictedEfficiency))
	case s.p.live:
		s.p.rewrite(fmt.Sprintf("%s%s of %s", head, seconds(x.Done), seconds(x.Of)))
	}
}
