package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"evbench/cmd/open"
	"evbench/cmd/open/held"
	"evbench/cmd/open/tables"
	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/internal/answer"
	"evbench/internal/cmdline"
	"evbench/model/capacity"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/site/host"
	"evbench/site/lft"
	"evbench/view/live"
)

func doctorAction(c *cli.Context) error {
	if r := lab.Doctor(); c.NArg() == 0 || !r.Possible() {
		return judged(c, r.Possible(), answer.Document{Answer: r.Answer(), Text: text(r), Schema: "evbench/lab-doctor/1", Fields: r})
	}
	f, err := forecast(c, c.Args().First())
	if err != nil {
		return err
	}
	return judged(c, f.Fits(), answer.Document{Answer: f.Answer(c.Args().First()), Text: text(f), Schema: "evbench/lab-forecast/1", Fields: struct {
		Fits bool `json:"fits"`
		capacity.Forecast
	}{f.Fits(), f}})
}

// forecast measures a small lab to forecast the one of a scenario.
func forecast(c *cli.Context, name string) (f capacity.Forecast, err error) {
	s, err := readScenario(name)
	if err != nil {
		return f, err
	}
	if s.Fabric.Kind != scenario.Lab {
		return f, usagef("%s: fabric %s; the forecast is for the lab", name, s.Fabric.Kind)
	}
	if err := enterLab(nil); err != nil {
		return f, err
	}
	bar := newTerminal(c.App.ErrWriter, c.Bool("quiet"))
	defer bar.End()
	if f, err = forecastOf(c, bar, s); err != nil {
		return f, err
	}
	planned, err := parts.Prepare(s)
	if err == nil {
		f.Rounds(s, planned)
	}
	return f, err
}

// forecastOf measures a small fabric, and that of a large tree where it fits and links carry its rate, and settles
// what the scenario leaves to the machine.
func forecastOf(c *cli.Context, bar *live.Terminal, s *scenario.Scenario) (f capacity.Forecast, err error) {
	try := func(s *scenario.Scenario) (results.TriedRate, error) {
		bar.Passing("measuring a lab of %d servers", s.Tree.Servers())
		return tryRate(c.Context, c, measurement{scenario: s, open: fabrics.Of(s).Open, control: open.LocalControl}, s.Fabric.Rate)
	}
	machine, err := capacity.MeasureMachine(s.Fabric.Kind, try)
	if err != nil {
		return f, err
	}
	fit, usable := open.Fit(s.Tree.Servers()), host.Usable()
	now := func() capacity.Forecast { return capacity.NewForecast(s, machine, fit, usable) }
	if err := now().SettleRate(s); err != nil {
		return f, err
	}
	if f := now(); capacity.Untried(s) && f.Fits() && f.Carried() {
		if err := machine.MeasureTree(s, try); err != nil {
			return f, err
		}
	}
	err = now().SettlePhase(s)
	return now(), err
}

// enterLab makes sure that this process may build labs; see lab.Enter. A process that only waited
// for another one, which had its listener, ends with the exit code of that one.
func enterLab(page net.Listener) error {
	var files []*os.File
	if t, ok := page.(*net.TCPListener); ok {
		f, err := t.File()
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	code, done, err := lab.Enter(files...)
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return usage(fmt.Errorf("%w; without namespaces: --fabric emulate", err))
	}
	if done {
		return &exitError{code: code}
	}
	return nil
}

// fabricFor returns the opener of a scenario's fabric. For the lab it makes sure that this process
// may build one. For that another process may do all the work, with the listener: see enterLab.
func fabricFor(s *scenario.Scenario, page net.Listener) (open.Opener, error) {
	if err := checkMemory(s, s.Tree.Servers()); err != nil {
		return nil, err
	}
	if err := isDir(os.TempDir()); err != nil {
		return nil, usagef("TMPDIR: %w", err)
	}
	here := fabrics.Of(s)
	switch {
	case here.Namespaces:
		return here.Open, enterLab(page)
	case here.Check != nil:
		return here.Open, here.Check(s)
	}
	return here.Open, nil
}

func labUpAction(c *cli.Context) error {
	if err := isDir(os.TempDir()); err != nil {
		return usagef("TMPDIR: %w", err)
	}
	if err := held.MayBuild(); err != nil {
		return err
	}
	if c.IsSet("tables") || c.IsSet("engine") {
		return labOfNetwork(c)
	}
	t, err := anyTree(c)
	if err != nil {
		return ofAnyShape(c, err)
	}
	p, err := plan.Build(t, plan.Options{Routing: c.String("routing"), Engines: known.Engines})
	if err != nil {
		return usage(err)
	}
	if p.Routing == routing.Adaptive {
		return usagef("--routing: %w", companion.ErrAdaptive)
	}
	if !c.Bool("foreground") {
		return labUpInBackground(c)
	}
	if err := enterLab(nil); err != nil {
		return err
	}
	return held.KeepTree(c.Context, p, known.Engines, lab.Options{Tree: t, Rate: cmdline.Rate(c, "rate"), Packets: p.Routing == routing.Spray}, c.App.Writer)
}

// labOfNetwork builds the lab of a network of any shape, with the routes of its tables.
func labOfNetwork(c *cli.Context) error {
	_, t, job, err := networkAndTables(c)
	if err != nil {
		return err
	}
	if lost := lft.Check(t, lft.Options{First: 1}); lost.Unreachable > 0 {
		return usagef("%s: %d of %d pairs have no route: the first is %s", tablesName(c), lost.Unreachable, lost.Pairs, lost.Offences[0].Text)
	}
	if !c.Bool("foreground") {
		return labUpInBackground(c)
	}
	if err := enterLab(nil); err != nil {
		return err
	}
	text := fmt.Sprintf("%s, %d servers, tables of %s", c.String("topology"), len(job.Nodes), t.Engine)
	if down := cmdline.Names(c, "down"); len(down) > 0 {
		text += ", without " + strings.Join(down, ", ")
	}
	return tables.KeepNetwork(c.Context, t, job.Nodes, lab.Options{Rate: cmdline.Rate(c, "rate")}, text, c.App.Writer)
}

func labUpInBackground(c *cli.Context) error {
	err := held.Background(c.Context, c.App.Writer, append(os.Args[1:], "--foreground")...)
	if ended, ok := errors.AsType[*held.EndError](err); ok {
		return &exitError{ended.Code, err}
	}
	if err == nil {
		_, err = fmt.Fprintln(c.App.Writer, "look around:  evbench lab exec server0 bash\ntake it down: evbench lab down")
	}
	return err
}

func labExecAction(c *cli.Context) error {
	if a := c.Args().First(); a == "--help" || a == "-h" {
		return cli.ShowSubcommandHelp(c)
	}
	if c.NArg() < 2 {
		return usagef("exec: NODE and COMMAND are needed, for example: evbench lab exec leaf0 ip route")
	}
	h, p, err := held.Find()
	if err != nil {
		return usage(err)
	}
	defer func() { _ = p.Release() }()
	args, err := h.Enter(c.Args().First(), c.Args().Tail())
	if err != nil {
		return err
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return usagef("exec needs nsenter (package util-linux): %w", err)
	}
	if command := c.Args().Get(1); c.NArg() == 2 && strings.Contains(strings.TrimSpace(command), " ") {
		return usagef("exec: %.40q…: write each word of a command by itself, or sh -c '…'; "+
			"what mpirun gives to a remote shell goes through scripts/lab-mpirun", command)
	}
	return syscall.Exec(nsenter, args, os.Environ())
}

func labDownAction(c *cli.Context) error {
	h, err := held.Down(c.Context)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "down: %s\n", h.Text)
	return err
}
