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
	"evbench/bench/live"
	"evbench/fabric/host"
	"evbench/internal/cmdline"
	"evbench/internal/proc"
	"evbench/internal/unit"
	"evbench/report"
	"evbench/results"
	"evbench/scenario"
	"evbench/sim"
)

func simAction(c *cli.Context) error {
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
	cases, err := bench.SimCases(s, planned, c.String("model"), c.Duration("quantum"))
	if err != nil {
		return usagef("%s: %w", c.Args().First(), err)
	}
	if err := host.Fits("what comes of the cases takes up to", float64(sim.Memory(cases)), "take a shorter duration, a longer interval or fewer cases"); err != nil {
		return err
	}
	dir, err := outDir(c, s.Name+"-sim")
	if err != nil {
		return err
	}
	return simulateCases(c, said, s, planned, cases, dir)
}

// loadSim loads the scenario with its flags, and plans it. Nothing is measured, so
// nothing is controlled.
func loadSim(c *cli.Context) (*scenario.Scenario, []bench.Planned, error) {
	name := c.Args().First()
	s, err := scenario.ReadFile(name)
	if err != nil {
		return nil, nil, usage(err)
	}
	s.Control = false
	if err := s.Override(overrides(c)); err != nil {
		return nil, nil, usagef("%s: %w", name, err)
	}
	planned, err := proc.Made(c.Context, func() ([]bench.Planned, error) { return bench.Prepare(s) })
	if err != nil {
		return nil, nil, usagef("%s: %w", name, err)
	}
	return s, planned, nil
}

// coarser sets the packet of the model credit.
func coarser(c *cli.Context, s *scenario.Scenario) error {
	text := c.String("packet")
	if text == "" {
		return nil
	}
	size, err := unit.ParseBytes(text)
	if err == nil {
		err = s.Fabric.Lossless.Scale(size)
	}
	if err != nil {
		return usagef("--packet: %w", err)
	}
	return nil
}

// modelled leaves out the cases that the model asked for cannot work out.
func modelled(c *cli.Context, said io.Writer, s *scenario.Scenario, planned []bench.Planned) ([]bench.Planned, error) {
	out, skipped := bench.Simulable(s, c.String("model"), planned)
	for _, text := range skipped {
		if len(out) == 0 {
			return nil, usagef("no case can be simulated: %s", text)
		}
		fmt.Fprintln(said, "skipped, since", text)
	}
	return out, nil
}

// simulateCases works the cases out and prints what came of it.
func simulateCases(c *cli.Context, said io.Writer, s *scenario.Scenario, planned []bench.Planned, cases []*sim.Case, dir string) error {
	fmt.Fprintf(said, "cases: %d, %s of virtual time, at most about %s of memory\n", len(cases), virtual(cases),
		unit.Bytes(max(sim.Memory(cases)>>20, 1)<<20))
	sayExact(said, cases)
	files, err := createResults(dir, c.App.ErrWriter)
	if err != nil {
		return err
	}
	manifest := bench.SimManifest(s, planned, c.Duration("quantum"))
	describeMachine(&manifest)
	show := simProgress{newTerminal(said, c.Bool("quiet"))}
	sum, err := sim.Run(c.Context, cases, files, sim.Options{
		Manifest: manifest, Now: time.Now, Progress: show.step,
	})
	show.End()
	err = errors.Join(err, files.Close())
	if printErr := printSimulated(c, sum, s, dir); err == nil {
		err = printErr
	}
	return verdictOf(sum, false, err)
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
	names := slices.Sorted(maps.Keys(used))
	if len(names) > 1 {
		return "s " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return " " + names[0]
}

// simProgress shows where a simulation stands.
type simProgress struct{ *live.Terminal }

func (s simProgress) step(x sim.Step) {
	head := fmt.Sprintf("[%d/%d] %s: ", x.Index+1, x.Count, x.Case.Name)
	switch {
	case x.Result != nil:
		s.Line(fmt.Sprintf("%s%s: %.2f events/s per server over %s, efficiency %.3f, predicted %.3f", head, x.Case.Model,
			x.Result.EventsPerSec.Mean, live.Seconds(time.Duration(x.Result.MeasuredSec*float64(time.Second))), x.Result.MeasuredEfficiency, x.Result.PredictedEfficiency))
	default:
		s.Passing("%s%s of %s", head, live.Seconds(x.Done), live.Seconds(x.Of))
	}
}
