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
	"evbench/cmd/open"
	"evbench/internal/answer"
	"evbench/model/sim"
	"evbench/results"
	"evbench/scenario"
	"evbench/site/hdf5"
	"evbench/view/compare"
)

// predictionLimit bounds the simulation of the expected results of a run, if it is requested.
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
	if err := printed(c, answer.Document{Answer: table.Answer(), Text: table.WriteText, Fields: table}); failed == nil {
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

// A toCompare is one argument: existing results, or a scenario to measure.
type toCompare struct {
	name, dir string // dir: where its results are, or will be
	run       *results.Run
	scenario  *scenario.Scenario
	planned   []bench.Planned
	open      open.Opener
}

// accuracyOf reads all arguments before any measurement.
func accuracyOf(c *cli.Context) ([]toCompare, error) {
	var todo []toCompare
	for _, name := range c.Args().Slice() {
		t, err := readToCompare(c, name)
		if err != nil {
			return nil, err
		}
		if t.dir != "" && slices.ContainsFunc(todo, func(x toCompare) bool { return x.dir == t.dir }) {
			return nil, usagef("%s: its results would go to %s, as those of another scenario; rename one of the scenarios", name, t.dir)
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
		if t.planned, err = planCases(c, t.name, t.scenario, err); err == nil {
			err = agree(c, t.scenario)
		}
		if err != nil {
			return nil, err
		}
	}
	return todo, nil
}

func readToCompare(c *cli.Context, name string) (toCompare, error) {
	if info, err := os.Stat(name); err == nil && (info.IsDir() || strings.HasSuffix(name, filepath.Ext(hdf5.File))) {
		run, err := stored.ReadRun(name)
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

// accuracyDir is the directory for the results of a scenario: one of its own if there are several.
func accuracyDir(c *cli.Context, s *scenario.Scenario) (string, error) {
	dir, err := outDir(c, s.Name)
	if err != nil || c.String("out") == "" || c.NArg() == 1 {
		return dir, err
	}
	return filepath.Join(dir, s.Name), nil
}

// onlyResults refuses flags about measuring if nothing is measured.
func onlyResults(c *cli.Context, todo []toCompare) error {
	if slices.ContainsFunc(todo, func(t toCompare) bool { return t.scenario != nil }) {
		return nil
	}
	for _, name := range c.LocalFlagNames() {
		if !slices.Contains([]string{"json", "quiet", "verbose", "v"}, name) {
			return usagef("--%s: is for scenarios, but only results are given", name)
		}
	}
	return nil
}
