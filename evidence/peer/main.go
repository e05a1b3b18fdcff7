// Peer measures evbench and C programs over MPI, in turn, and prints the comparison. make
// bench-peers runs it; docs/evidence/results.md explains it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"evbench/evidence/tool"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/programs"
	"evbench/site/host"
	"evbench/site/mpi"
)

func main() {
	mpi.Exit(programs.Run(func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		return run(ctx, args, os.Stdin, stdout, stderr)
	}))
}

// run is the program. As "peer rank ORDER" it is one rank of our side, and as "peer on LIST PROGRAM …"
// it keeps a rank of either side on its processor; the program itself starts both.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 2 && args[0] == onCommand {
		fmt.Fprintln(stderr, "peer on:", become(args[1], args[2:]))
		return programs.ExitFailed
	}
	if len(args) == 2 && args[0] == rankCommand {
		if err := beRank(ctx, args[1], stdin, stdout); err != nil {
			fmt.Fprintln(stderr, "peer rank:", err)
			return programs.ExitFailed
		}
		return programs.ExitDone
	}
	o, err := parse(args, stderr)
	if err == nil {
		err = compare(ctx, o, stdout, stderr)
	}
	return programs.Code(ctx, "peer", true, err, stderr)
}

type options struct {
	rows    *regexp.Regexp
	slots   int
	seconds float64
	json    bool
	list    bool
	evbench string
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("peer", flag.ContinueOnError)
	f.SetOutput(stderr)
	rows := f.String("rows", "", "measure only rows whose line in --list matches `REGEX`")
	f.IntVar(&o.slots, "slots", 11, "measure each side `N` times")
	f.Float64Var(&o.seconds, "seconds", 1, "how long one slot of one side takes, about `S`")
	f.BoolVar(&o.json, "json", false, "print one JSON document with every slot")
	f.BoolVar(&o.list, "list", false, "list the rows and measure nothing")
	f.StringVar(&o.evbench, "evbench", "bin/evbench", "the evbench binary for whole event building, `FILE`")
	if err := tool.Parse(f, args); err != nil {
		return nil, err
	}
	var err error
	if o.rows, err = regexp.Compile(*rows); err != nil {
		return nil, proc.Usagef("--rows: %w", err)
	}
	switch {
	case f.NArg() > 0:
		return nil, proc.Usagef("unexpected argument %q", f.Arg(0))
	case o.slots < 1 || o.slots > 1000:
		return nil, proc.Usagef("--slots %d: must be 1 to 1000", o.slots)
	case !(o.seconds >= 0.1 && o.seconds <= 60):
		return nil, proc.Usagef("--seconds %v: must be 0.1 to 60", o.seconds)
	}
	return o, nil
}

// compare measures the requested rows. It also prints the results before an error or a signal.
func compare(ctx context.Context, o *options, stdout, stderr io.Writer) (err error) {
	chosen := lists.Filter(rows(host.Processors()), func(r row) bool { return o.rows.MatchString(r.String()) })
	if len(chosen) == 0 {
		return proc.Usagef("--rows: no row matches; --list shows them")
	}
	if o.list {
		for _, r := range chosen {
			fmt.Fprintln(stdout, r)
		}
		return nil
	}
	t, err := prepare(ctx, o, chosen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	var out []outcome
	began := time.Now()
	for i, r := range chosen {
		fmt.Fprintf(stderr, "%s  row %d of %d: %s\n", time.Since(began).Round(time.Second), i+1, len(chosen), r)
		out = append(out, measure(ctx, t, r, o, stderr))
		if ctx.Err() != nil {
			out = out[:len(out)-1] // some slots are missing
			break
		}
	}
	switch {
	case len(out) == 0: // interrupted in the first row
	case o.json:
		err = json.NewEncoder(stdout).Encode(document{Schema: schema, Machine: t.machine, Rows: out})
	default:
		err = printTable(stdout, out)
		if b := t.machine.Busy; b > idleEnough {
			fmt.Fprintf(stdout, "\nNot to be trusted: others used %.0f %% of the processors before the first slot.\n", 100*b)
		}
	}
	return errors.Join(err, failures(out))
}

// failures names the rows that failed although their tools exist.
func failures(out []outcome) error {
	var errs []error
	for _, o := range out {
		if o.Failed != "" {
			errs = append(errs, fmt.Errorf("%s: %s", o.row, o.Failed))
		}
	}
	return errors.Join(errs...)
}
