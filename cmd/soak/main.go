// Soak runs evbench for minutes while it takes links down, kills and stops processes,
// keeps processors busy and delays or cuts control messages, and reports what these
// failures do not explain. Rounds are drawn by a seed, and each can be repeated alone.
// make soak runs it; docs/evidence/soak.md says how to read it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"evbench/internal/proc"
)

func main() { proc.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	var unexplained bool
	if err == nil {
		unexplained, err = playAll(ctx, o, stdout, stderr)
	}
	return proc.Code(ctx, "soak", !unexplained, err, stderr)
}

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

func (o *options) length() time.Duration { return time.Duration(o.minutes * float64(time.Minute)) }

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
	if err := proc.Parse(f, args); err != nil {
		return nil, err
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, proc.Usagef("--only: %w", err)
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1e9
	}
	if o.log == "" {
		o.log = filepath.Join(os.TempDir(), fmt.Sprintf("soak-%d.log", o.seed))
	}
	switch {
	case f.NArg() > 0:
		return nil, proc.Usagef("unexpected argument %q", f.Arg(0))
	case !(o.minutes >= 0.1 && o.minutes <= 7*24*60):
		return nil, proc.Usagef("--minutes %v: must be 0.1 to 10080", o.minutes)
	case o.round < 0:
		return nil, proc.Usagef("--round %d: rounds count from 1", o.round)
	case o.show && o.round == 0:
		return nil, proc.Usagef("--show: of which --round?")
	case !slices.ContainsFunc(Kinds(), func(k Kind) bool { return o.only.MatchString(string(k)) }):
		return nil, proc.Usagef("--only %s: matches none of %q", o.only, Kinds())
	}
	o.evbench, err = proc.Evbench(o.evbench)
	return o, err
}
