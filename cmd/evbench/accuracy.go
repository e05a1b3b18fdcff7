package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/fabric/open"
	"evbench/results"
	"evbench/results/compare"
	"evbench/results/hdf5"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/sim"
)

// predictionLimit is how long it may take to work out what to expect of a run, where that
// is what was asked for.
const predictionLimit = time.Minute

func accuracyAction(c *cli.Context) error {
	todo, err := accuracyOf(c)
	if err != nil {
		return err
	}
	table := compare.NewAccuracy()
	var failed error
	for _, t := range todo {
		run, err := t.get(c)
		table.Add(t.dir, run)
		if err != nil {
			failed = fmt.Errorf("%s: %w", t.name, err)
			break
		}
	}
	if err := printed(c, table.WriteText, table.WriteJSON); failed == nil {
		failed = err
	}
	if failed != nil {
		return failed
	}
	if !table.Valid() {
		return &exitError{code: exitInvalid}
	}
	return nil
}

// A toCompare is one argument: results that are there, or a scenario to measure.
type toCompare struct {
	name, dir string // dir: where its results are, or go
	run       *results.Run
	scenario  *scenario.Scenario
	planned   []bench.Planned
	open      open.Opener
}

// accuracyOf reads all arguments before anything is measured.
func accuracyOf(c *cli.Context) ([]toCompare, error) {
	var todo []toCompare
	for _, name := range c.Args().Slice() {
		t, err := readToCompare(c, name)
		if err != nil {
			return nil, err
		}
		if t.dir != "" && slices.ContainsFunc(todo, func(x toCompare) bool { return x.dir == t.dir }) {
			return nil, usagef("%s: its results would go where others go, to %s; give one of the scenarios another name", name, t.dir)
		}
		todo = append(todo, t)
	}
	if err := onlyResults(c, todo); err != nil {
		return nil, err
	}
	for i := range todo {
		t := &todo[i]
		if t.scenario == nil {
			continue
		}
		var err error
		t.open, err = fabricFor(t.scenario, nil)
		if t.planned, err = plans(c, t.name, t.scenario, err); err != nil {
			return nil, err
		}
	}
	return todo, nil
}

func readToCompare(c *cli.Context, name string) (toCompare, error) {
	if info, err := os.Stat(name); err == nil && (info.IsDir() || strings.HasSuffix(name, filepath.Ext(hdf5.File))) {
		run, err := store.Read(name)
		if err == nil {
			_, err = compare.NewSide(name, run)
		}
		switch {
		case err != nil:
			return toCompare{}, usage(err)
		case run.Manifest.Fabric.Kind == sim.FabricKind:
			return toCompare{}, usagef("%s: simulated: nothing in it was measured", name)
		case run.Manifest.Fabric.RateBitPerSec == 0:
			return toCompare{}, usagef("%s: measured without a link rate: nothing could be predicted", name)
		}
		return toCompare{name: name, dir: name, run: run}, nil
	}
	s, err := readNamed(c, name, c.String("fabric"))
	if err != nil {
		return toCompare{}, err
	}
	switch {
	case s.Fabric.Rate == 0:
		return toCompare{}, usagef("%s: fabric.rate: without the rate of the links nothing can be predicted: write it, or give --rate", name)
	case s.Fabric.Kind == scenario.Hosts && s.Launch.Kind != scenario.LaunchLocal:
		return toCompare{}, usagef("%s: launch.kind %s: measure it with evbench run, then give its results to evbench accuracy", name, s.Launch.Kind)
	}
	dir, err := accuracyDir(c, s)
	return toCompare{name: name, dir: dir, scenario: s}, err
}

// accuracyDir is where the results of a scenario go: into a directory of its own where
// there are several.
func accuracyDir(c *cli.Context, s *scenario.Scenario) (string, error) {
	dir, err := outDir(c, s.Name)
	if err != nil || c.String("out") == "" || c.NArg() == 1 {
		return dir, err
	}
	return filepath.Join(dir, s.Name), nil
}

// onlyResults refuses flags that say how to measure where nothing is measured.
func onlyResults(c *cli.Context, todo []toCompare) error {
	if slices.ContainsFunc(todo, func(t toCompare) bool { return t.scenario != nil }) {
		return nil
	}
	for _, name := range c.LocalFlagNames() {
		if !slices.Contains([]string{"json", "quiet", "verbose", "v"}, name) {
			return usagef("--%s: is for scenarios, and all that is given are results", name)
		}
	}
	return nil
}

// get returns results, having measured a scenario. A run that has failed returns what it
// measured.
func (t *toCompare) get(c *cli.Context) (*results.Run, error) {
	if t.scenario == nil {
		return t.run, nil
	}
	bench.Simulate(c.Context, t.scenario, t.planned, predictionLimit)
	m := measurement{scenario: t.scenario, planned: t.planned, open: t.open, control: open.LocalControl, bar: newShow(c)}
	run, err := measureInto(c, m, t.dir, func(results.Run) error { return nil })
	return &run, err
}
