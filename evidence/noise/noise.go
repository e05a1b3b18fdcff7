// Noise runs a scenario again and again while the machine is disturbed: by busy loops, by stops of
// the program at random, and by both. It reports how often the run was answered, how long that
// took, and the errors of the figures against their predictions. make -C evidence noise runs it;
// docs/evidence/results.md has its results. Errors are in points: a hundredth of the control's
// rate. With --pairs it reports how often evbench compare is right about pairs of runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"evbench/evidence/tool"
	"evbench/internal/answer"
	"evbench/internal/proc"
	"evbench/internal/programs"
)

const schema = "evbench/noise/1"

type document struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	CPUs     int    `json:"cpus"`
	Loops    int    `json:"loops"`
	Tally
}

// measure runs the scenario under each condition in turn, so that other disturbances of the machine
// affect all conditions, or pairs, and reports whether all is well. It also prints the results before
// an error or a signal.
func measure(ctx context.Context, o *options, stdout, stderr io.Writer) (passed bool, err error) {
	dir, err := os.MkdirTemp("", "noise-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m := &runner{options: o, dir: dir, rng: rand.New(rand.NewPCG(1, 0))}
	if o.pairs > 0 {
		return m.comparePairs(ctx, stdout, stderr)
	}
	runs := []Run{}
	began := time.Now()
	for len(runs) < o.runs*len(o.conditions) {
		c := o.conditions[len(runs)%len(o.conditions)]
		r, failed := m.play(ctx, c, 1+len(runs)/len(o.conditions))
		if err = failed; err != nil || ctx.Err() != nil {
			break // the interruption caused the result
		}
		runs = append(runs, r)
		fmt.Fprintf(stderr, "%s  run %d of %d, %s\n", time.Since(began).Round(time.Second), len(runs), o.runs*len(o.conditions), r)
	}
	if len(runs) == 0 {
		return false, err
	}
	t := New(runs)
	if !o.json {
		return t.Passed, errors.Join(err, t.Print(stdout, o.verbose))
	}
	return t.Passed, errors.Join(err, json.NewEncoder(stdout).Encode(document{schema, o.scenario, runtime.NumCPU(), loops, t}))
}

func main() { programs.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	var passed bool
	if err == nil {
		passed, err = measure(ctx, o, stdout, stderr)
	}
	return programs.Code(ctx, "noise", passed, err, stderr)
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
	if err := tool.Parse(f, args); err != nil {
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
	o.evbench, err = tool.Evbench(o.evbench)
	return err
}

// conditions reads a list of conditions, without repetition, in the order of Conditions; "": all.
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

// A pair runs this twice. With a dead link the schedule needs 17 phases instead of 16: a loss of
// 5.9 %.
const (
	exchange = `topology: FT(2;4,4)
fabric: {kind: lab, rate: 100Mbit/s}
event: {phase: 20ms}
duration: 450ms
timeout: 30s
cases:
  - {name: healthy, schedule: linear-shift}
  - {name: exchange, schedule: fors%s}
`
	deadLink = ", failures: [leaf0-spine0]"
	repeats  = "6"
)

// A Pair is evbench compare's verdict on two runs. In a lossy pair the second run has a dead link.
type Pair struct {
	Condition Condition `json:"condition"`
	Lossy     bool      `json:"lossy"`
	answer.Answer
}

// right reports whether the second run is called worse if and only if the pair is lossy.
func (p Pair) right() bool { return (p.Verdict == answer.Bad) == p.Lossy }

// comparePairs measures equal pairs beside busy loops and lossy pairs on the idle machine in turn.
// It passes if at most one of 20 equal pairs is called worse, and at least 18 of 20 lossy ones are.
func (m *runner) comparePairs(ctx context.Context, stdout, stderr io.Writer) (passed bool, err error) {
	var pairs []Pair
	began := time.Now()
	for n := range 2 * m.pairs {
		p := Pair{Condition: Loops}
		if n%2 == 1 {
			p = Pair{Condition: Idle, Lossy: true}
		}
		if err := m.pair(ctx, &p); err != nil || ctx.Err() != nil {
			return false, err
		}
		pairs = append(pairs, p)
		fmt.Fprintf(stderr, "%s  pair %d of %d, %s: %s\n", time.Since(began).Round(time.Second), n+1, 2*m.pairs, p.Condition, p)
	}
	equal, lossy := 0, 0
	for _, p := range pairs {
		switch {
		case p.Lossy && p.right():
			lossy++
		case !p.Lossy && !p.right():
			equal++
		}
	}
	passed = 20*equal <= m.pairs && 20*lossy >= 18*m.pairs
	if m.json {
		return passed, json.NewEncoder(stdout).Encode(map[string]any{"schema": "evbench/pairs/1", "passed": passed, "pairs": pairs})
	}
	_, err = fmt.Fprintf(stdout, "equal runs beside %d busy loops: %d of %d pairs called worse, allowed is 1 of 20\n"+
		"a loss of 6 %% on the idle machine: found in %d of %d pairs, at least 18 of 20 are wanted\n", loops, equal, m.pairs, lossy, m.pairs)
	return passed, err
}

// pair runs both and compares them.
func (m *runner) pair(ctx context.Context, p *Pair) (err error) {
	dir, err := os.MkdirTemp(m.dir, "pair-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var out []string
	for i, failures := range []string{"", deadLink} {
		if !p.Lossy {
			failures = ""
		}
		scenario := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(scenario, fmt.Appendf(nil, exchange, failures), 0o644); err != nil {
			return err
		}
		out = append(out, strings.TrimSuffix(scenario, ".yaml"))
		o := Outcome{Condition: p.Condition}
		args := append(append([]string{"-o", out[i], "--rounds", repeats}, m.further...), scenario)
		if err := m.perform(ctx, &o, dir, args); err != nil || ctx.Err() != nil {
			return err
		}
		if o.ExitCode != programs.ExitDone && o.ExitCode != exitNoAnswer {
			return fmt.Errorf("evbench run ended with %d: %s", o.ExitCode, o.Said)
		}
	}
	text, err := proc.Output(programs.Command(ctx, dir, m.evbench, append([]string{"compare", "--force", "--json"}, out...)...), 1<<20)
	if err != nil {
		return err
	}
	var said struct{ Answer *answer.Answer }
	said.Answer = &p.Answer
	return json.Unmarshal([]byte(text), &said)
}
