package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"evbench/bench"
	"evbench/cmd/open"
	"evbench/cmd/open/injected"
	"evbench/cmd/open/tables"
	"evbench/fabric"
	"evbench/fabric/lab"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/internal/unit"
	"evbench/model/capacity"
	"evbench/model/simulate"
	"evbench/plan"
	"evbench/report"
	"evbench/results"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/view/live"
)

func overrides(c *cli.Context) scenario.Overrides {
	o := scenario.Overrides{"case": c.String("case"), "transport": c.String("transport")}
	if c.Bool("trace") {
		o["trace"] = "on"
	}
	for _, f := range scenario.Flags() {
		if !f.Lasts {
			o[f.Name] = c.String(f.Name)
		} else if c.IsSet(f.Name) {
			o[f.Name] = c.Duration(f.Name).String()
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
	if at.By != "" {
		defer obey(c)()
	}
	s, err := readNamed(c, name, c.String("fabric"))
	if err == nil && c.Bool("find-rate") {
		err = wrongIn(name, s.SearchRates())
	}
	if err == nil && s.Launch.Kind == scenario.LaunchLocal && !c.Bool("dry-run") {
		return quietly(at, runHere(c, name, s, at, measure), 0)
	}
	planned, err := planCases(c, name, s, err)
	var v validated
	if err == nil && c.Bool("dry-run") {
		v, err = validatedAs(name, s, planned)
	}
	switch {
	case err != nil:
		return quietly(at, err, c.Int("controller-rank"))
	case c.Bool("dry-run") && at.Rank != 0:
		return nil // rank 0 prints it
	case c.Bool("dry-run") && c.Bool("json"):
		return writeValidated(c.App.Writer, v)
	case c.Bool("dry-run"):
		return describeCases(c.App.Writer, v, s, planned)
	}
	return runThere(c, name, s, planned, at, measure)
}

// A use is what is done with the workers of a scenario: measure, or findPaths.
type use func(*cli.Context, measurement) error

// runThere uses workers of other processes or machines.
func runThere(c *cli.Context, name string, s *scenario.Scenario, planned []bench.Planned, at open.Place, do use) error {
	if s.Launch.Kind == scenario.LaunchStarted {
		return runStarted(c, name, s, planned, at, do)
	}
	if err := alone(at, s); err != nil {
		return quietly(at, err, 0)
	}
	return runSSH(c, s, planned, do)
}

// runHere measures on this machine. It enters a lab before it makes plans: the process that enters
// the lab starts anew.
func runHere(c *cli.Context, name string, s *scenario.Scenario, at open.Place, do use) error {
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
	planned, err := planCases(c, name, s, err)
	if err != nil {
		return err
	}
	return do(c, measurement{scenario: s, planned: planned, open: opener, control: open.LocalControl, page: page})
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

// A measurement is the work to measure, and its fabric.
type measurement struct {
	scenario *scenario.Scenario
	planned  []bench.Planned
	open     open.Opener
	// control opens the control connection of a run, or of a try of a link rate.
	control func() (open.Control, error)
	// page shows the run while it continues; nil: no page is open.
	page net.Listener
	// bar shows the progress to the user at the terminal.
	bar *live.Show
	// tell gets the progress, too; may be nil.
	tell func(bench.Progress)
	// describe adds to the manifest; may be nil.
	describe func(*results.Manifest)
}

// predictionTime bounds the prediction of a run, which must not delay the run.
const predictionTime = 5 * time.Second

// stepTime bounds that of one step of a search for rates.
const stepTime = time.Second

func measure(c *cli.Context, m measurement) (err error) {
	if err := agree(c, m.scenario); err != nil {
		return err
	}
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
	defer func() { err = errors.Join(err, endPage(page, dir, err)) }()
	if s := m.scenario; s.Fabric.AutoRate && !(s.Event.AutoPhase && capacity.Untried(s)) {
		if m, err = findRate(c, m); err != nil {
			return unmeasured(c, dir, err, "; --rate RATE skips the search")
		}
	}
	if m.scenario.Event.AutoPhase {
		if m, err = findPhase(c, m); err != nil {
			return unmeasured(c, dir, err, "")
		}
	}
	simulate.Predict(c.Context, m.scenario, m.planned, predictionTime)
	m.tell = page.Take
	run, err := measureInto(c, m, dir, func(run results.Run) error {
		return printSummary(c, run.Summary, &run.Manifest, dir)
	})
	return verdictOf(run.Summary, c.IsSet("require"), unmeasured(c, dir, err, ""))
}

// unmeasured adds to the error of an interrupted run without results that it has none, and a hint.
func unmeasured(c *cli.Context, dir string, err error, hint string) error {
	if _, none := os.Stat(dir); err == nil || c.Context.Err() == nil || !errors.Is(none, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: nothing was measured, and %s was not written%s", err, dir, hint)
}

// measureInto runs the planned cases and writes results to dir. It returns manifest and summary. It
// calls show with them before it closes the fabric: the reader of the output may have exited, and
// links must come up all the same.
func measureInto(c *cli.Context, m measurement, dir string, show func(results.Run) error) (run results.Run, err error) {
	where, err := m.control()
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()

	bar := m.bar
	log := logger(c, bar.Terminal)
	under, err := m.routed(c.Context, log)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, under.Close()) }()

	ways, err := waysOf(m.scenario, bar.Terminal)
	if err != nil {
		return run, err
	}
	var files *store.Files
	manifest := &results.Manifest{} // filled by the run
	o := bench.Options{
		Listen: where.Address, Listener: where.Listener, Token: where.Token, JoinTimeout: c.Duration("join-timeout"),
		Log: log,
	}
	if o.Ports, err = countersOf(m.scenario); err != nil {
		return run, err
	}
	others := &beside{started: m.scenario.Launch.Kind == scenario.LaunchStarted, full: queueFull}
	o.Progress = func(e bench.Progress) {
		others.update(e.Event, manifest)
		bar.Update(e)
		if m.tell != nil {
			m.tell(e)
		}
	}
	o.Describe = func(to *results.Manifest) {
		manifest = to
		ours.Build().Describe(to)
		if m.describe != nil {
			m.describe(to)
		}
	}
	_, err = bench.Run(c.Context, bench.Work{Scenario: m.scenario, Cases: m.planned, Search: searchOf(c, m.scenario), Fabric: under, Ways: ways, Open: func() (results.Sink, error) {
		var err error
		files, err = createResults(dir, c.App.ErrWriter)
		return files, err
	}, Ended: func(r results.Run) error {
		bar.Terminal.End()
		run = r
		err := files.Close()
		if showErr := show(run); err == nil && run.Summary.Complete {
			err = showErr
		}
		return err
	}}, o)
	bar.Terminal.End()
	return run, err
}

// searchOf is the search for rates that --find-rate asks for; nil without it.
func searchOf(c *cli.Context, s *scenario.Scenario) *bench.Search {
	if !c.Bool("find-rate") {
		return nil
	}
	return &bench.Search{Latency: c.Duration("latency"), Simulate: func(ctx context.Context, p *bench.Planned) *results.Offered {
		return simulate.Expect(ctx, s, p, stepTime)
	}}
}

// routed opens the fabric, whose links commands may take down and whose routes may be installed.
func (m measurement) routed(ctx context.Context, log *slog.Logger) (fabric.Fabric, error) {
	return tables.Routed(injected.Around(m.open), func(yield func(string, *plan.Plan) bool) {
		for _, p := range m.planned {
			if !yield(p.Name, p.Plan) {
				return
			}
		}
	}, func(what string) { log.Warn("routes", "switch", what) })(ctx, m.scenario)
}

// logger writes irregular events to w, beside the progress.
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
		if sum.Answer != nil { // the live page shows the same, and continues
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

// verdictOf turns the outcome of a run into an exit code. An unresolved result is not wrong: it has
// a code of its own only if resolution is required.
func verdictOf(sum results.Summary, required bool, err error) error {
	if err != nil {
		return err
	}
	if slices.ContainsFunc(sum.Cases, func(c results.Case) bool {
		return !c.Valid || required && c.Compared && c.Verdict != results.Resolved
	}) {
		return gate(answer.Across)
	}
	return nil
}

// findRate finds a link rate that this machine can carry, prints it, and sets it in the scenario.
// It returns the measurement with new plans of its cases and the search in the manifest.
func findRate(c *cli.Context, m measurement) (measurement, error) {
	bar := m.bar.Terminal
	defer bar.End()
	found, err := capacity.SearchRate(c.Context, m.scenario, func(ctx context.Context, rate unit.Rate) (results.TriedRate, error) {
		bar.Passing("link rate: trying %s", rate)
		return tryRate(ctx, c, m, rate)
	})
	if err != nil {
		return m, searchError(found, err)
	}
	bar.Line(found.String())
	if err := m.scenario.SettleRate(found.Rate); err != nil {
		return m, err
	}
	m.describe = func(to *results.Manifest) {
		to.RateSearch = found.Tried
		if found.Warning != "" {
			to.Warnings = append(to.Warnings, found.Warning)
		}
	}
	m.planned, err = proc.Made(c.Context, func() ([]bench.Planned, error) { return parts.Prepare(m.scenario) })
	return m, err
}

// findPhase measures what barriers take on this machine, and sets the phase, and a link rate that could not be
// tried, in the scenario. It returns the measurement with new plans, and says how long the run will take.
func findPhase(c *cli.Context, m measurement) (measurement, error) {
	bar := m.bar.Terminal
	defer bar.End()
	f, err := forecastOf(c, bar, m.scenario)
	if err != nil {
		return m, err
	}
	if m.planned, err = proc.Made(c.Context, func() ([]bench.Planned, error) { return parts.Prepare(m.scenario) }); err != nil {
		return m, err
	}
	f.Rounds(m.scenario, m.planned)
	bar.Line(fmt.Sprintf("phases of %s at %s; %s", m.scenario.Event.Phase, m.scenario.Fabric.Rate, f.Time()))
	return m, nil
}

// searchError says how far a search for the link rate came.
func searchError(found capacity.FoundRate, err error) error {
	if reached := found.Reached(); reached != "" {
		return fmt.Errorf("search for the link rate, which had reached %s: %w", reached, err)
	}
	return fmt.Errorf("search for the link rate, whose first try had not ended: %w", err)
}

// tryRate uses a control connection of its own: that of the run is opened later.
func tryRate(ctx context.Context, c *cli.Context, m measurement, rate unit.Rate) (tried results.TriedRate, err error) {
	where, err := m.control()
	if err != nil {
		return tried, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	return capacity.TryRate(ctx, m.scenario, rate, func(ctx context.Context, at *scenario.Scenario, planned []bench.Planned) (sum results.Summary, err error) {
		f, err := m.open(ctx, at)
		if err != nil {
			return sum, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		work := bench.Work{Scenario: at, Cases: planned, Fabric: f, Open: func() (results.Sink, error) { return results.Nowhere{}, nil }}
		return bench.Run(ctx, work, bench.Options{Listen: where.Address, Token: where.Token, Log: logger(c, c.App.ErrWriter)})
	})
}

// countersOf asks what ports of switches have counted as a scenario says; nil where it does not.
func countersOf(s *scenario.Scenario) (func(context.Context) ([]results.PortCount, error), error) {
	if s.Counters.Command == "" {
		return nil, nil
	}
	named, err := tables.PortNames(s)
	if err != nil {
		return nil, usagef("counters.network: %w", err)
	}
	return func(ctx context.Context) ([]results.PortCount, error) {
		text, err := proc.Call{Limit: s.Counters.Timeout, Most: atomicfile.MaxList}.Answer(ctx, "sh", "-c", s.Counters.Command)
		if err != nil {
			return nil, err
		}
		p, err := host.ReadPorts(text)
		return named(p), err
	}, nil
}

// listenPage listens as --serve says, or returns nil. A run in a namespace of its own gets the
// listener opened outside: one opened inside would be unreachable.
func listenPage(c *cli.Context) (net.Listener, error) {
	if !c.IsSet("serve") {
		return nil, nil
	}
	if files := lab.Handed(); len(files) == 1 {
		l, err := net.FileListener(files[0])
		return l, errors.Join(err, files[0].Close())
	}
	addr, err := live.Address(c.String("serve"))
	if err != nil {
		return nil, usagef("--serve: %w", err)
	}
	l, err := live.Listen(c.Context, addr)
	return l, wrongIn("--serve", err)
}

// serve shows the coming run to clients of l, which may be nil, and logs irregular events to w.
func serve(c *cli.Context, l net.Listener, w io.Writer) *live.Server {
	if l == nil {
		return nil
	}
	s := live.Serve(l, logger(c, w))
	open := ""
	if !s.Local() {
		open = "; whoever reaches this address can read it"
	}
	fmt.Fprintf(c.App.ErrWriter, "live page until the run ends: %s%s\n", s.URL(), open)
	return s
}

// endPage leaves a still picture in every browser, with the result of the run.
func endPage(p *live.Server, dir string, failed error) error {
	note := "Results: " + dir + "; evbench report " + dir + " makes the page of them."
	if exit, ok := errors.AsType[*exitError](failed); failed != nil && !(ok && exit.cause == nil) {
		note = "It failed: " + show.Line(failed.Error()) + "."
	}
	return p.End(note)
}

// newTerminal returns the place for progress: w and, if that is a terminal, its screen.
func newTerminal(w io.Writer, quiet bool) *live.Terminal {
	t := &live.Terminal{To: w, Quiet: quiet}
	if f, ok := terminal(w); ok {
		t.Screen, t.Size = f, func() (columns, rows int) {
			columns, rows, _ = term.GetSize(int(f.Fd())) // 0 if unknown
			return columns, rows
		}
	}
	return t
}

func newShow(c *cli.Context) *live.Show {
	t := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	return &live.Show{Terminal: t, Verbose: c.Bool("verbose"), Options: func() report.Options { return textOptions(c.App.ErrWriter) }}
}

// terminal returns the terminal behind w, if it is one. mpirun gives its ranks a terminal each, and
// passes on their output to any kind of reader.
func terminal(w io.Writer) (*os.File, bool) {
	if p, ok := w.(*show.Writer); ok {
		w = p.To
	}
	f, ok := w.(*os.File)
	at, err := open.ReadPlace(os.Getenv)
	return f, ok && err == nil && at.By == "" && term.IsTerminal(int(f.Fd()))
}

// textOptions are the columns and colours for the output: a terminal, or a file. NO_COLOR
// (no-color.org) turns colours off.
func textOptions(w io.Writer) report.Options {
	f, ok := terminal(w)
	if !ok {
		return report.Options{}
	}
	o := report.Options{Colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		o.Width = width
	}
	return o
}
