package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/bench/live"
	"evbench/companion/linux"
	"evbench/fabric/open"
	"evbench/internal/answer"
	"evbench/plan"
	"evbench/report"
	"evbench/results"
	"evbench/results/store"
	"evbench/scenario"
)

func overrides(c *cli.Context) scenario.Overrides {
	o := scenario.Overrides{"case": c.String("case"), "transport": c.String("transport")}
	if c.Bool("trace") {
		o["trace"] = "on"
	}
	for _, f := range scenario.Flags() {
		if !f.Lasts {
			o[f.Name] = c.String(f.Name)
		} else if d := c.Duration(f.Name); d != 0 {
			o[f.Name] = d.String()
		}
	}
	return o
}

func runAction(c *cli.Context) error {
	name, err := chosen(c)
	if err != nil {
		return err
	}
	at, err := open.ReadPlace(os.Getenv)
	if err != nil {
		return usage(err)
	}
	s, err := readNamed(c, name, c.String("fabric"))
	if err == nil && s.Launch.Kind == scenario.LaunchLocal && !c.Bool("dry-run") {
		return quietly(at, runHere(c, name, s, at), 0)
	}
	planned, err := plans(c, name, s, err)
	switch {
	case err != nil:
		return quietly(at, err, c.Int("controller-rank"))
	case c.Bool("dry-run") && at.Rank != 0:
		return nil // that of rank 0 is enough
	case c.Bool("dry-run") && c.Bool("json"):
		return writeValidated(c.App.Writer, validatedAs(name, s, planned))
	case c.Bool("dry-run"):
		return describeCases(c.App.Writer, name, s, planned)
	case s.Launch.Kind == scenario.LaunchStarted:
		return runStarted(c, name, s, planned, at)
	}
	if err := alone(at, s); err != nil {
		return quietly(at, err, 0)
	}
	return runSSH(c, s, planned)
}

// runHere measures on this machine. A lab is entered before plans are made: the process that
// enters it starts anew.
func runHere(c *cli.Context, name string, s *scenario.Scenario, at open.Place) error {
	if err := alone(at, s); err != nil {
		return err
	}
	if c.Bool("tls") {
		return usagef("--tls: the control connection of this run is a Unix socket, which does not leave this machine")
	}
	page, err := listenPage(c)
	if err != nil {
		return err
	}
	opener, err := fabricFor(s, page)
	planned, err := plans(c, name, s, err)
	if err != nil {
		return err
	}
	return measure(c, measurement{scenario: s, planned: planned, open: opener, control: open.LocalControl, page: page})
}

func readNamed(c *cli.Context, name, fabric string) (*scenario.Scenario, error) {
	o := overrides(c)
	o["fabric"] = fabric
	s, err := readChosen(c, name)
	if err != nil {
		return nil, err
	}
	if err = s.Override(o); err == nil {
		err = s.Measurable()
	}
	return s, wrongIn(name, err)
}

// A measurement is what to measure, and on what.
type measurement struct {
	scenario *scenario.Scenario
	planned  []bench.Planned
	open     open.Opener
	// control opens the control connection of a run, or of a try of a link rate.
	control func() (open.Control, error)
	// page is where the run is shown while it goes on; nil: at none that has been opened.
	page net.Listener
	// bar shows who sits at the terminal what goes on.
	bar *live.Show
	// tell is told what goes on, too; nil: nobody.
	tell func(bench.Progress)
	// describe has more to say in the manifest; nil: nothing.
	describe func(*results.Manifest)
}

// predictionTime is how long it may take to work out what to expect of a run, which is not
// to wait for it.
const predictionTime = 5 * time.Second

func measure(c *cli.Context, m measurement) (err error) {
	dir, err := outDir(c, m.scenario.Name)
	if err != nil {
		return err
	}
	if m.page == nil {
		if m.page, err = listenPage(c); err != nil {
			return err
		}
	}
	m.bar = newShow(c)
	page := serve(c, m.page, m.bar.Terminal)
	defer func() { err = errors.Join(err, page.end(dir, err)) }()
	if m.scenario.Fabric.AutoRate {
		if m, err = findRate(c, m); err != nil {
			return err
		}
	}
	bench.Simulate(c.Context, m.scenario, m.planned, predictionTime)
	m.tell = page.take
	run, err := measureInto(c, m, dir, func(run results.Run) error {
		return printSummary(c, run.Summary, &run.Manifest, dir)
	})
	return verdictOf(run.Summary, c.IsSet("require"), err)
}

// measureInto runs the planned cases and writes results to dir. It returns manifest and
// summary; show has them before the fabric is closed, since what it prints to may be gone,
// and links must come up all the same.
func measureInto(c *cli.Context, m measurement, dir string, show func(results.Run) error) (run results.Run, err error) {
	where, err := m.control()
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()

	under, err := open.Routed(open.Injecting(m.open), func(yield func(string, *plan.Plan) bool) {
		for _, p := range m.planned {
			if !yield(p.Name, p.Plan) {
				return
			}
		}
	})(c.Context, m.scenario)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, under.Close()) }()

	var files *store.Files
	manifest := &results.Manifest{} // that of the run, which fills it
	bar := m.bar
	o := bench.Options{
		Listen: where.Address, Listener: where.Listener, Token: where.Token, JoinTimeout: c.Duration("join-timeout"),
		Log: logger(c, bar.Terminal), Switches: linux.Switches(m.scenario.Tree),
	}
	o.Progress = func(e bench.Progress) {
		bar.Update(e)
		if m.tell != nil {
			m.tell(e)
		}
	}
	o.Describe = func(to *results.Manifest) {
		manifest = to
		describeMachine(to)
		if m.describe != nil {
			m.describe(to)
		}
	}
	sum, err := bench.Run(c.Context, bench.Work{Scenario: m.scenario, Cases: m.planned, Fabric: under, Open: func() (results.Sink, error) {
		var err error
		files, err = createResults(dir, c.App.ErrWriter)
		return files, err
	}}, o)
	bar.Terminal.End()
	if files == nil {
		return run, err
	}
	err = errors.Join(err, files.Close())
	run = results.Run{Manifest: *manifest, Summary: sum}
	if showErr := show(run); err == nil {
		err = showErr
	}
	return run, err
}

// logger writes what is odd to w, beside what goes on.
func logger(c *cli.Context, w io.Writer) *slog.Logger {
	level := slog.LevelWarn
	if c.Bool("verbose") {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

func printSummary(c *cli.Context, sum results.Summary, manifest *results.Manifest, dir string) error {
	next := []string{os.Args[0], "report", dir, "-o", "report.html"}
	if len(sum.Failovers()) > 0 {
		next = []string{os.Args[0], "plot", "failover", dir, "-o", "failover.svg"}
	}
	if c.Bool("json") {
		if sum.Answer != nil { // the live page has the same, and goes on
			a := *sum.Answer
			a.Next, sum.Answer = []string{answer.Typed(next...)}, &a
		}
		return json.NewEncoder(c.App.Writer).Encode(sum)
	}
	if len(sum.Cases) == 0 {
		return nil
	}
	o := textOptions(c.App.Writer)
	if err := report.Table(c.App.Writer, sum, o); err != nil {
		return err
	}
	if err := report.Warnings(c.App.Writer, manifest.Warnings, o); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "\nresults in %s; next: %s\n", dir, answer.Typed(next...))
	return err
}

// verdictOf turns the outcome of a run into an exit code. What is not resolved is not wrong: it
// has a code of its own only where it is required.
func verdictOf(sum results.Summary, required bool, err error) error {
	if err != nil {
		return err
	}
	wrong := slices.ContainsFunc(sum.Cases, func(c results.Case) bool { return !c.Valid })
	if wrong || required && len(results.Open(sum.Cases)) > 0 {
		return &exitError{code: exitInvalid}
	}
	return nil
}
