package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
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
	bench.WriteSimulated(said, cases)
	files, err := createResults(dir, c.App.ErrWriter)
	if err != nil {
		return err
	}
	manifest := bench.SimManifest(s, planned, c.Duration("quantum"))
	describeMachine(&manifest)
	show := newTerminal(said, c.Bool("quiet"))
	sum, err := sim.Run(c.Context, cases, files, sim.Options{Manifest: manifest, Now: time.Now, Progress: show.Simulated})
	show.End()
	err = errors.Join(err, files.Close())
	if printErr := printSimulated(c, sum, s, dir); err == nil {
		err = printErr
	}
	return verdictOf(sum, false, err)
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
		bench.ModelNames(sum.Cases), s.Fabric.RateText(), s.Sim.Round, s.Sim.Overhead, s.Sim.Jitter, dir)
	return err
}
