// Noise runs a scenario again and again while the machine is disturbed: beside busy loops,
// while the program is stopped at random, and beside both. It says how often the run was
// answered, how long that took, and how far the figures were from their predictions. make
// noise runs it; docs/evidence/noise.md says what came out. Errors are in
// points: a hundredth of the control's rate. With --pairs it says how often evbench compare is
// right about pairs of runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"evbench/internal/proc"
)

const schema = "evbench/noise/1"

type document struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	CPUs     int    `json:"cpus"`
	Loops    int    `json:"loops"`
	Tally
}

// measure runs the scenario under each condition in turn, so that what else happens on the
// machine hits all of them, and reports whether all is as it should be. What was measured
// before an error or a signal is printed, too.
func measure(ctx context.Context, o *options, stdout, stderr io.Writer) (passed bool, err error) {
	m, err := newMachine(o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(m.dir)) }()
	runs := []Run{}
	began := time.Now()
	for len(runs) < o.runs*len(o.conditions) {
		c := o.conditions[len(runs)%len(o.conditions)]
		r, failed := m.play(ctx, c, 1+len(runs)/len(o.conditions))
		if err = failed; err != nil || ctx.Err() != nil {
			break // how the run went is our own doing
		}
		runs = append(runs, r)
		fmt.Fprintf(stderr, "%s  run %d of %d, %s\n", time.Since(began).Round(time.Second), len(runs), o.runs*len(o.conditions), r)
	}
	if len(runs) == 0 {
		return false, err
	}
	t := New(runs)
	return t.Passed, errors.Join(err, show(stdout, o, t))
}

func show(w io.Writer, o *options, t Tally) error {
	if !o.json {
		return t.Print(w, o.verbose)
	}
	return json.NewEncoder(w).Encode(document{
		Schema: schema, Scenario: o.scenario, CPUs: runtime.NumCPU(), Loops: loops, Tally: t,
	})
}

func main() { proc.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	var passed bool
	switch {
	case err != nil:
	case o.pairs > 0:
		passed, err = comparePairs(ctx, o, stdout, stderr)
	default:
		passed, err = measure(ctx, o, stdout, stderr)
	}
	return proc.Code(ctx, "noise", passed, err, stderr)
}

type options struct {
	runs       int
	pairs      int
	conditions []Condition
	scenario   string
	verbose    bool
	json       bool
	evbench    string
	further    []string // options of evbench run
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("noise", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, "Usage: noise [OPTIONS] [-- OPTIONS OF evbench run]\n")
		f.PrintDefaults()
	}
	f.IntVar(&o.runs, "runs", 5, "run the scenario `N` times under each condition")
	f.IntVar(&o.pairs, "pairs", 0, "in place of that compare `N` pairs of equal runs beside busy loops, and N in which the second loses 6 %")
	only := f.String("conditions", "", "only these conditions, a `LIST` of idle,loops,freeze,both")
	f.StringVar(&o.scenario, "scenario", "scenarios/quickstart.yaml", "the scenario, `FILE`")
	f.BoolVar(&o.verbose, "verbose", false, "a row for each case, too")
	f.BoolVar(&o.json, "json", false, "print one JSON document with every run")
	f.StringVar(&o.evbench, "evbench", "bin/evbench", "the evbench binary, `FILE`")
	if err := proc.Parse(f, args); err != nil {
		return nil, err
	}
	o.further = f.Args()
	return o, o.check(*only)
}

func (o *options) check(only string) (err error) {
	if o.conditions, err = conditions(only); err != nil {
		return err
	}
	switch {
	case len(o.further) > 0 && !strings.HasPrefix(o.further[0], "-"):
		return proc.Usagef("unexpected argument %q", o.further[0])
	case o.runs < 1 || o.runs > 1000:
		return proc.Usagef("--runs %d: must be 1 to 1000", o.runs)
	case o.pairs < 0 || o.pairs > 1000:
		return proc.Usagef("--pairs %d: must be 0 to 1000", o.pairs)
	}
	if _, err := os.Stat(o.scenario); err != nil {
		return proc.Usagef("--scenario: %w", err)
	}
	o.evbench, err = proc.Evbench(o.evbench)
	return err
}

// conditions reads a list of them, without repetition in the order in which they are taken;
// "": all.
func conditions(list string) ([]Condition, error) {
	all := Conditions()
	if list == "" {
		return all, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(all, Condition(name)) {
			return nil, proc.Usagef("--conditions: no condition %q; there are %q", name, all)
		}
	}
	return slices.DeleteFunc(all, func(c Condition) bool { return !slices.Contains(names, string(c)) }), nil
}
