// Soak runs evbench for minutes while it takes links down, kills and stops processes, keeps
// processors busy and delays or cuts control messages, and reports irregularities that these
// failures do not explain. A seed draws the rounds, and each can be repeated alone. make soak runs
// it; docs/evidence/results.md explains its output.
package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"evbench/evidence/tool"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/programs"
)

// An outcome is the result of one round.
type outcome struct {
	Round      int       `json:"round"`
	Kind       Kind      `json:"kind"`
	Policy     string    `json:"policy,omitempty"`
	Ordered    bool      `json:"ordered,omitempty"`
	Seed       uint64    `json:"seed"`
	Seconds    float64   `json:"seconds"`
	LinkEvents int       `json:"link_events"` // as they happened
	Built      uint64    `json:"events_built"`
	Lost       uint64    `json:"events_lost"`
	Duplicate  uint64    `json:"events_duplicate"`
	ExitCode   int       `json:"exit_code"`
	Accused    *int      `json:"accused,omitempty"` // the server that the error puts first
	Falsely    bool      `json:"falsely,omitempty"`
	Second     *Usage    `json:"second_quarter,omitempty"` // of the process, medians
	Last       *Usage    `json:"last_quarter,omitempty"`
	Findings   []Finding `json:"findings"`
	Repeat     string    `json:"repeat,omitempty"` // command, if there are anomalies
}

func (o outcome) anomalies() (n int) {
	return lists.CountIf(o.Findings, func(f Finding) bool { return f.Anomaly() })
}

// playAll runs rounds until the time is over, and reports whether there are anomalies.
func playAll(ctx context.Context, o *options, stdout, stderr io.Writer) (unexplained bool, err error) {
	plan := Plan{Seed: o.seed, Length: o.length()}
	if o.show {
		_, err := io.WriteString(stdout, plan.Round(o.round).YAML())
		return false, err
	}
	if err := runnable(ctx, o); err != nil {
		return false, err
	}
	log, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return false, proc.Usagef("--log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	fmt.Fprintf(stderr, "soak: seed %d, %g minutes, log in %s\n", o.seed, o.minutes, o.log)

	var done []outcome
	began := time.Now()
	for n := max(1, o.round); ctx.Err() == nil; n++ {
		if o.round == 0 {
			n = plan.Next(n, func(k Kind) bool { return o.only.MatchString(string(k)) })
		}
		if n == 0 {
			break
		}
		s := plan.Round(n)
		if len(done) > 0 && time.Since(began)+s.Kind.rule().takes(s) > o.length() {
			break
		}
		fmt.Fprintf(stderr, "%s  round %d: %s\n", time.Since(began).Round(time.Second), n, describe(s))
		out, seen, err := play(ctx, o, s)
		if ctx.Err() != nil {
			break // the interruption caused the irregularities
		}
		if err != nil {
			return false, errors.Join(fmt.Errorf("round %d: %w; %s repeats it", n, err, o.repeat(n)), show(stdout, o, done))
		}
		done = append(done, out)
		if err := note(log, stderr, s, out, seen); err != nil {
			return false, err
		}
		unexplained = unexplained || out.anomalies() > 0
		if o.round > 0 {
			break
		}
	}
	return unexplained, show(stdout, o, done)
}

// runnable reports why the lab cannot be built here, or which tool is missing.
func runnable(ctx context.Context, o *options) error {
	if o.only.MatchString(string(Outside)) || o.only.MatchString(string(Severed)) {
		for _, name := range []string{"ip", "nsenter"} {
			if _, err := exec.LookPath(name); err != nil {
				return proc.Usagef("links are taken down from outside with ip and nsenter (packages iproute2, util-linux; --only leaves them out): %w", err)
			}
		}
	}
	said, err := proc.Call{Limit: programs.Patience, Most: maxLinks}.Answer(ctx, o.evbench, "lab", "doctor")
	if err != nil && ctx.Err() == nil {
		return proc.Usagef("lab doctor of %w\n%s", err, said)
	}
	return nil
}

func describe(s *Script) string {
	text := fmt.Sprintf("%s, %s", s.Kind, s.Notation)
	for _, x := range []struct {
		is   bool
		what string
		of   []any
	}{
		{s.Fill != nil, "filled %v", []any{s.Fill}},
		{s.Ordered, "ordered", nil},
		{s.Policy != "", "%s", []any{s.Policy}},
		{s.Hold > 0, "hold %s", []any{s.Hold}},
		{s.Kind.OnLinks(), "%d link events in %s", []any{s.Changes(), s.Duration}},
		{s.Kind.byOthers(), "%d link events by others", []any{s.Changes()}},
		{s.Apart && s.Kind == Pause, "workers apart", nil},
		{len(s.Waves) > 0, "%d waves", []any{len(s.Waves)}},
		{s.Payload, "check payload", nil},
		{s.Hogs > 0, "%d busy loops", []any{s.Hogs}},
		{len(s.Stops) > 0, "stopped %d times, %s", []any{len(s.Stops), s.Stopped()}},
		{s.Kind == KillWorker || s.Kind == Cut || s.Kind == Stall, "server %d", []any{s.Victim}},
		{s.Kind == Stall, "silent %s", []any{s.Silent}},
		{s.Kind == Delay, "late by %v", []any{s.Delays}},
		{s.Loss > 0, "%.0f %% sent again", []any{100 * s.Loss}},
		{s.Hosts, "on loopback", nil},
	} {
		if x.is {
			text += ", " + fmt.Sprintf(x.what, x.of...)
		}
	}
	return text
}

// note logs the irregularities of a round, and all of its output if any is unexplained.
func note(log, stderr io.Writer, s *Script, out outcome, seen Seen) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "%s round %d seed %d: %s\n", time.Now().UTC().Format(time.RFC3339), s.Round, s.Seed, fmt.Sprintf(format, args...))
	}
	line("%s: exit code %d after %.1f s", describe(s), out.ExitCode, out.Seconds)
	for _, f := range out.Findings {
		line("%s", f)
		if f.Anomaly() {
			fmt.Fprintf(stderr, "  %s\n", f)
		}
	}
	for _, h := range seen.Halts {
		line("at %.3f s the machine itself was slow for %s", h.At.Seconds(), h.For.Round(time.Millisecond))
	}
	if out.Repeat != "" {
		fmt.Fprintf(stderr, "  %s repeats it\n", out.Repeat)
		line("%s repeats it; its scenario and what was said:\n%s\n%s", out.Repeat, s.YAML(), seen.Said)
		if seen.Run != nil {
			if err := json.NewEncoder(&b).Encode(seen.Run.Summary); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(log, b.String())
	return err
}

type document struct {
	Schema     string    `json:"schema"`
	Seed       uint64    `json:"seed"`
	Minutes    float64   `json:"minutes"`
	CPUs       int       `json:"cpus"`
	LinkEvents int       `json:"link_events"`
	Anomalies  int       `json:"anomalies"`
	Accused    int       `json:"accused"` // rounds whose error names a server
	Falsely    int       `json:"falsely"` // another one than that to which something was done
	Rounds     []outcome `json:"rounds"`
}

const schema = "evbench/soak/1"

func show(w io.Writer, o *options, done []outcome) error {
	d := document{Schema: schema, Seed: o.seed, Minutes: o.minutes, CPUs: runtime.NumCPU(), Rounds: []outcome{}}
	for _, x := range done {
		if x.Findings == nil {
			x.Findings = []Finding{}
		}
		d.Rounds = append(d.Rounds, x)
		d.LinkEvents += x.LinkEvents
		d.Anomalies += x.anomalies()
		if x.Accused != nil {
			d.Accused++
		}
		if x.Falsely {
			d.Falsely++
		}
	}
	if o.json {
		return json.NewEncoder(w).Encode(d)
	}
	return d.print(w)
}

func (d document) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "round\tkind\tpolicy\tseed\ts\tlink events\tbuilt\tlost\tdoubled\tMiB\tfds\tthreads\tverdict\t")
	built, lost, doubled := uint64(0), uint64(0), uint64(0)
	for _, x := range d.Rounds {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%.0f\t%d\t%d\t%d\t%d\t%s\t%s\n", x.Round, x.Kind, cmp.Or(x.Policy, "–"), x.Seed, x.Seconds,
			x.LinkEvents, x.Built, x.Lost, x.Duplicate, x.held(), x.verdict())
		built, lost, doubled = built+x.Built, lost+x.Lost, doubled+x.Duplicate
	}
	fmt.Fprintf(t, "all\t\t\t\t\t%d\t%d\t%d\t%d\t\t\t\t\t\n", d.LinkEvents, built, lost, doubled)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nMiB, fds, threads: of the process, medians of the second and of the last quarter of the round.\n")
	for _, x := range d.Rounds {
		for _, f := range x.Findings {
			if f.Anomaly() {
				fmt.Fprintf(w, "round %d: %s\n", x.Round, f)
			}
		}
		if x.Repeat != "" {
			fmt.Fprintf(w, "  again: %s\n", x.Repeat)
		}
	}
	_, err := fmt.Fprintf(w, "seed %d: %d rounds, %d link events, %d anomalies; %d servers accused, %d of them falsely\n", d.Seed, len(d.Rounds), d.LinkEvents, d.Anomalies, d.Accused, d.Falsely)
	return err
}

// held is the resources of the process in the second and in the last quarter.
func (o outcome) held() string {
	if o.Second == nil {
		return "–\t–\t–"
	}
	a, b := o.Second, o.Last
	return fmt.Sprintf("%.0f→%.0f\t%d→%d\t%d→%d", float64(a.ResidentBytes)/(1<<20), float64(b.ResidentBytes)/(1<<20),
		a.Descriptors, b.Descriptors, a.Threads, b.Threads)
}

func (o outcome) verdict() string {
	switch n := o.anomalies(); {
	case n > 0:
		return fmt.Sprintf("%d ANOMALIES\t", n)
	case len(o.Findings) > 0:
		return "explained\t"
	}
	return "clean\t"
}

func main() { programs.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	var unexplained bool
	if err == nil {
		unexplained, err = playAll(ctx, o, stdout, stderr)
	}
	return programs.Code(ctx, "soak", !unexplained, err, stderr)
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
	race    bool // evbench was built with the race detector
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
	if err := tool.Parse(f, args); err != nil {
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
	if o.evbench, err = tool.Evbench(o.evbench); err != nil {
		return nil, err
	}
	if built, err := buildinfo.ReadFile(o.evbench); err == nil { // a script in its place has no build information
		o.race = slices.Contains(built.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	}
	return o, nil
}
