// Soak runs evbench for minutes while it takes links down, by the scenario and from outside,
// kills and stops processes, keeps processors busy, delays or cuts control messages and
// knocks at the control port, and says what the chaos does not explain. Rounds are drawn by a seed, and each can be repeated alone. make soak runs it;
// docs/soak.md says how to read it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"evbench/bench/soak/chaos"
)

// The exit codes, as evbench has them.
const (
	exitDone        = 0
	exitFailed      = 1 // something is unexplained
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone
	}
	var unexplained bool
	if err == nil {
		unexplained, err = soak(ctx, o, stdout, stderr)
	}
	switch {
	case err == nil && ctx.Err() != nil:
		fmt.Fprintln(stderr, "soak: interrupted")
		return exitInterrupted
	case err == nil && unexplained:
		return exitFailed
	case err == nil:
		return exitDone
	}
	fmt.Fprintln(stderr, "soak:", err)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// A usageError is wrong use, or something that is missing: nothing was run.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

type options struct {
	minutes float64
	seed    uint64
	round   int // 0: all that fit
	only    *regexp.Regexp
	show    bool
	json    bool
	log     string
	evbench string
}

// length is how long the whole soak may take.
func (o *options) length() time.Duration { return time.Duration(o.minutes * float64(time.Minute)) }

// repeat is the command that repeats one round.
func (o *options) repeat(round int) string {
	return fmt.Sprintf("bin/soak --minutes %g --seed %d --round %d", o.minutes, o.seed, round)
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Float64Var(&o.minutes, "minutes", 10, "begin rounds for `M` minutes; two fifths of that are the long round, which comes first")
	f.Uint64Var(&o.seed, "seed", 0, "draw the rounds by seed `N` (default: from the clock)")
	f.IntVar(&o.round, "round", 0, "run only round `N` (default: all that fit)")
	only := f.String("only", "", "run only rounds whose kind matches `REGEX`, such as 'kill|cut'")
	f.BoolVar(&o.show, "show", false, "print the scenario of --round, and run nothing")
	f.BoolVar(&o.json, "json", false, "print one JSON document")
	f.StringVar(&o.log, "log", "", "append to `FILE` what was odd, and all of rounds with anomalies (default: soak-<seed>.log among temporary files)")
	f.StringVar(&o.evbench, "evbench", "bin/evbench", "the evbench binary, `FILE`")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, usageError{err}
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, usagef("--only: %w", err)
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1e9
	}
	if o.log == "" {
		o.log = filepath.Join(os.TempDir(), fmt.Sprintf("soak-%d.log", o.seed))
	}
	switch {
	case f.NArg() > 0:
		return nil, usagef("unexpected argument %q", f.Arg(0))
	case !(o.minutes >= 0.1 && o.minutes <= 7*24*60):
		return nil, usagef("--minutes %v: must be 0.1 to 10080", o.minutes)
	case o.round < 0:
		return nil, usagef("--round %d: rounds count from 1", o.round)
	case o.show && o.round == 0:
		return nil, usagef("--show: of which --round?")
	case !slices.ContainsFunc(chaos.Kinds(), func(k chaos.Kind) bool { return o.only.MatchString(string(k)) }):
		return nil, usagef("--only %s: matches none of %q", o.only, chaos.Kinds())
	}
	if o.evbench, err = filepath.Abs(o.evbench); err == nil {
		_, err = os.Stat(o.evbench)
	}
	if err != nil {
		return nil, usagef("--evbench: %w; make build makes it", err)
	}
	return o, nil
}
