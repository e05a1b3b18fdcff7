package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/bench"
	"evbench/internal/unit"
	"evbench/report"
	"evbench/results"
	"evbench/results/csv"
	"evbench/scenario"
)

// overrideFlags change a scenario from the command line.
func overrideFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "case", Usage: "measure only the case of this `NAME`"},
		&cli.IntFlag{Name: "repeat", Usage: "run the list of cases `N` times"},
		&cli.DurationFlag{Name: "duration", Usage: "measure each case for `D`"},
		&cli.DurationFlag{Name: "interval", Usage: "sample every `D`"},
		&cli.StringFlag{Name: "rate", Usage: "link `RATE`, such as 100Mbit/s"},
		&cli.StringFlag{Name: "deliver", Usage: "`HOW` fragments are received: buffer, discard"},
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write results to `DIR` (default: results/<name>-<UTC>)"},
		&cli.BoolFlag{Name: "json", Usage: "print the summary as one JSON document"},
		&cli.BoolFlag{Name: "quiet", Usage: "no progress"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "log what is odd but harmless, too"},
	}
}

func runCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "run",
		Usage:     "measure every case of a scenario",
		ArgsUsage: "SCENARIO",
		Flags: append(overrideFlags(),
			&cli.StringFlag{Name: "fabric", Usage: "build events on `KIND`: lab, emulate, hosts (processes on this machine)"},
			&cli.StringFlag{Name: "transport", Value: "tcp", Usage: "`KIND` of data connections: tcp"},
			&cli.BoolFlag{Name: "dry-run", Usage: "plan every case, print what is expected, run nothing"},
		),
		Action: runAction,
	}, "  evbench run scenarios/quickstart.yaml\n  evbench run --fabric emulate --case FORS --duration 5s scenarios/quickstart.yaml")
}

func runAction(c *cli.Context) error {
	if err := needArgs(c, 1, 1, "SCENARIO"); err != nil {
		return err
	}
	if t := c.String("transport"); t != "tcp" {
		return usagef("--transport %q: this binary has tcp only", t)
	}
	s, planned, err := loadOverridden(c, c.String("fabric"))
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return describeCases(c.App.Writer, c.Args().First(), s, planned)
	}
	open, err := fabricFor(s)
	if err != nil {
		return err
	}
	return measure(c, s, planned, open, localControl)
}

// loadOverridden loads the scenario that a command names, with its flags.
func loadOverridden(c *cli.Context, fabric string) (*scenario.Scenario, []bench.Planned, error) {
	o := scenario.Overrides{
		Fabric: fabric, Case: c.String("case"), Repeat: c.Int("repeat"),
		Duration: c.Duration("duration"), Interval: c.Duration("interval"), Deliver: c.String("deliver"),
	}
	if r := c.String("rate"); r != "" {
		var err error
		if o.Rate, err = unit.ParseRate(r); err != nil {
			return nil, nil, usagef("--rate: %w", err)
		}
		if o.Rate == 0 {
			return nil, nil, usagef("--rate %s: must be above 0", r)
		}
	}
	return load(c.Args().First(), o)
}

// A control says where the controller of a run listens, and with which token;
// done cleans up behind it.
type control func(c *cli.Context) (listen, token string, done func() error, err error)

// localControl is a Unix socket in a directory of its own, with a token drawn
// for this run. The path crosses network namespaces.
func localControl(*cli.Context) (listen, token string, done func() error, err error) {
	dir, err := os.MkdirTemp("", "evbench-")
	if err != nil {
		return "", "", nil, err
	}
	return "unix:" + filepath.Join(dir, "control"), rand.Text(), func() error { return os.RemoveAll(dir) }, nil
}

// measure runs the planned cases and prints what came out.
func measure(c *cli.Context, s *scenario.Scenario, planned []bench.Planned, open opener, where control) (err error) {
	listen, token, done, err := where(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()

	fabric, err := open(c.Context, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fabric.Close()) }()

	dir := c.String("out")
	if dir == "" {
		dir = filepath.Join("results", s.Name+"-"+time.Now().UTC().Format("20060102T150405Z"))
	}
	if _, err := os.Lstat(dir); err == nil {
		return usagef("--out %s: exists already; results are never overwritten", dir)
	}
	var files *csv.Writer
	show := newProgress(c.App.ErrWriter, c.Bool("quiet"), c.Bool("verbose"))
	sum, err := bench.Run(c.Context, s, planned, fabric, func() (sink bench.Sink, err error) {
		files, err = csv.Create(dir)
		return files, err
	}, bench.Options{
		Listen: listen, Token: token, JoinTimeout: c.Duration("join-timeout"),
		Progress: show.update, Log: logger(c), Describe: describeMachine,
	})
	show.end()
	if files == nil {
		return err
	}
	err = errors.Join(err, files.Close())
	if printErr := printSummary(c, sum, dir); err == nil {
		err = printErr
	}
	return verdictOf(sum, err)
}

func logger(c *cli.Context) *slog.Logger {
	level := slog.LevelWarn
	if c.Bool("verbose") {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: level}))
}

func printSummary(c *cli.Context, sum results.Summary, dir string) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(sum)
	}
	if len(sum.Cases) == 0 {
		return nil
	}
	if err := report.Table(c.App.Writer, sum, terminalWidth(c.App.Writer)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "\nresults in %s\n", dir)
	return err
}

// verdictOf turns the outcome of a run into an exit code.
func verdictOf(sum results.Summary, err error) error {
	if err != nil {
		return err
	}
	for _, c := range sum.Cases {
		if !c.Valid {
			return &exitError{code: exitInvalid}
		}
	}
	return nil
}
