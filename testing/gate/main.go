// Program gate runs what make test and CI run: formatting, vet, staticcheck, tidy modules, packages, and the tests, with the
// race detector where goroutines meet; they build labs and run scenarios end to end. Tests of what runs often only wait: what reads
// the code, and tests of what counts, go on beside them, as do those over MPI and on Debian 13. What fails does not keep the rest from
// running. At its end the gate names the slowest tests, what was skipped and why, what was left behind, and, if it failed, steps
// and tests, with the directory of the log of each step.
//
//	gate            runs all
//	gate only STEP…   runs these steps, or rows, and looks what they leave
//	gate check      is the inner loop: what differs from main, and all that imports it
//	gate plan       prints the steps
//	gate tests      prints for each test the steps that run it, and whether with the race detector
//	gate names MARK PACKAGE   prints a pattern for go test -run of the tests of a package that have a mark
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"evbench/internal/proc"
	"evbench/internal/programs"
	"evbench/testing/need"
)

func main() { programs.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	passed, err := do(ctx, args, stdout, stderr)
	return programs.Code(ctx, "gate", passed, err, stderr)
}

func do(ctx context.Context, args []string, stdout, stderr io.Writer) (passed bool, err error) {
	o := order{
		goTool: or(os.Getenv("GO"), "go"), staticcheck: os.Getenv("STATICCHECK"), procs: runtime.NumCPU(), all: os.Getenv("EVBENCH_ALL") != "",
		without: strings.FieldsFunc(os.Getenv("EVBENCH_WITHOUT"), func(r rune) bool { return r == ',' || r == ' ' }),
	}
	switch {
	case len(args) == 0:
	case len(args) > 1 && args[0] == "only":
	case len(args) == 1 && args[0] == "check":
		return check(ctx, o.goTool, stdout, stderr)
	case len(args) == 3 && args[0] == "names" && slices.Contains(marks, args[1]), len(args) == 1 && (args[0] == "plan" || args[0] == "tests"):
	default:
		return false, proc.Usagef("usage: gate [check | plan | tests | only STEP… | names %s PACKAGE]", strings.Join(marks, "|"))
	}
	runs := len(args) == 0 || args[0] == "only"
	if runs {
		if _, err := (proc.Call{Limit: time.Hour, Most: 16 << 20}).Answer(ctx, "scripts/setup"); err != nil {
			return false, err
		}
	}
	all, err := look(ctx, o)
	if err != nil {
		return false, err
	}
	flags, err := proc.Call{Limit: time.Minute, Most: 1 << 16}.Answer(ctx, o.goTool, "env", "GOFLAGS", "CGO_CFLAGS")
	if err != nil {
		return false, err
	}
	goflags, cgoflags, _ := strings.Cut(string(flags), "\n")
	here, err := os.Getwd()
	if err != nil {
		return false, err
	}
	o.cgoFlags = strings.TrimSpace(cgoflags) + fmt.Sprintf(" -DEVBENCH_CHECKOUT=%x", sum(here))
	if !runs {
		return true, show(stdout, args, all, o)
	}
	steps := plan(all, o)
	if len(args) > 0 {
		for _, name := range args[1:] {
			if !slices.ContainsFunc(steps, func(s step) bool { return s.name == name || s.row == name }) {
				return false, proc.Usagef("no step is called %s: gate plan prints them", name)
			}
		}
		steps = slices.DeleteFunc(steps, func(s step) bool { return !slices.Contains(args, s.name) && !slices.Contains(args, s.row) })
	}
	return whole(ctx, stdout, stderr, steps, goflags, patterns(all))
}

// sum tells checkouts apart.
func sum(path string) (h uint32) {
	for _, c := range []byte(path) {
		h = h*31 + uint32(c)
	}
	return h
}

// look reads the packages and their marks.
func look(ctx context.Context, o order) ([]pkg, error) {
	plain, err := list(ctx, o.goTool, "")
	if err != nil {
		return nil, err
	}
	with := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return slices.Contains(o.without, tag) })
	tagged, err := list(ctx, o.goTool, strings.Join(with, ","))
	if err != nil {
		return nil, err
	}
	return packages(plain, tagged)
}

// show prints what is decided, and runs nothing.
func show(w io.Writer, args []string, all []pkg, o order) error {
	switch args[0] {
	case "plan":
		for _, s := range plan(all, o) {
			fmt.Fprintf(w, "%s: %s\n\t%s\n", s.row, s.name, strings.Join(s.args, " "))
		}
	case "tests":
		for _, line := range running(all, plan(all, o)) {
			fmt.Fprintln(w, line)
		}
	case "names":
		i := slices.IndexFunc(all, func(p pkg) bool { return p.path == "evbench/"+strings.TrimPrefix(args[2], "./") })
		if i < 0 || !all[i].has(args[1]) {
			return proc.Usagef("no test of %s has the mark %s", args[2], args[1])
		}
		fmt.Fprintln(w, all[i].names(args[1], marked(args[1])))
	}
	return nil
}

// patterns has a line for each mark of a package, as scripts/gate names takes it: a script of a step need not read all packages again.
func patterns(all []pkg) string {
	var lines strings.Builder
	for _, p := range all {
		for _, mark := range marks {
			if p.has(mark) {
				fmt.Fprintf(&lines, "%s %s\t%s\n", mark, strings.TrimPrefix(p.path, "evbench/"), p.names(mark, marked(mark)))
			}
		}
	}
	return lines.String()
}

// whole runs all steps, and says at the end what came out.
func whole(ctx context.Context, stdout, stderr io.Writer, steps []step, goflags, names string) (passed bool, err error) {
	logs, err := os.MkdirTemp("", "evbench-gate.")
	if err != nil {
		return false, err
	}
	g := &gate{logs: logs, out: stdout, began: time.Now(), skips: map[string][]string{}}
	mark := fmt.Sprintf("EVBENCH_GATE=%d.%d", os.Getpid(), g.began.UnixNano())
	// With the same paths in them, packages are compiled once for the tests and for what is packed. The race detector would keep
	// each of some hundred processes for a second at its end. What scripts/setup installs is there: a test that misses some of it fails.
	g.env = []string{"PATH=" + usersPath(os.Getenv("PATH")), "GOFLAGS=" + strings.TrimSpace(goflags+" -trimpath"), "GORACE=" + strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"),
		"EVBENCH_REQUIRED=1", "EVBENCH_GATE_NAMES=" + names, mark}
	before, err := leftovers()
	if err != nil {
		return false, err
	}
	files, err := state(ctx)
	if err != nil {
		return false, err
	}
	g.step(ctx, step{name: "format", args: []string{"scripts/format"}})
	g.rows(ctx, steps)
	g.check("clean tree", unchanged(ctx, files))
	g.check("what is left", g.left(before, mark))
	g.check("heavy tests", g.heavy())
	return g.end(stdout, stderr), context.Cause(ctx)
}

// heavy names heavy tests that were skipped: nothing but the gate runs them.
func (g *gate) heavy() (skipped []string) {
	for reason, tests := range g.skips {
		if strings.HasPrefix(reason, need.HeavySaid) {
			skipped = append(skipped, tests...)
		}
	}
	slices.Sort(skipped)
	return skipped
}

// end prints what was slow, what was skipped and what failed, and removes the logs of a gate that passed.
func (g *gate) end(stdout, stderr io.Writer) (passed bool) {
	slices.SortFunc(g.slow, func(a, b slowTest) int { return -int(1e3*a.sec) + int(1e3*b.sec) })
	fmt.Fprintln(stdout, "\n== the slowest tests")
	for _, t := range g.slow[:min(10, len(g.slow))] {
		fmt.Fprintf(stdout, "%7.1f s  %s (%s)\n", t.sec, t.name, t.step)
	}
	reasons := make([]string, 0, len(g.skips))
	for reason, tests := range g.skips {
		slices.Sort(tests)
		tests = slices.Compact(tests)
		more := ""
		if len(tests) > 3 {
			tests, more = tests[:3], fmt.Sprintf(" and %d more", len(tests)-3)
		}
		reasons = append(reasons, fmt.Sprintf("%s: %s%s", reason, strings.Join(tests, ", "), more))
	}
	slices.Sort(reasons)
	fmt.Fprintf(stdout, "\n== skipped, for %d reasons\n", len(reasons))
	for _, line := range reasons {
		fmt.Fprintln(stdout, line)
	}
	took := time.Since(g.began).Seconds()
	if len(g.failed) == 0 {
		left := ""
		if without := os.Getenv("EVBENCH_WITHOUT"); without != "" {
			left = " except what EVBENCH_WITHOUT left out: " + without
		}
		fmt.Fprintf(stdout, "\n== all parts passed%s (%.0f s)\n", left, took)
		_ = os.RemoveAll(g.logs)
		return true
	}
	fmt.Fprintf(stderr, "\n== FAILED (%.0f s)\n", took)
	for _, f := range g.failed {
		fmt.Fprintf(stderr, "%s: %s\n", f.step, f.log)
	}
	for _, f := range g.failed {
		for _, line := range f.tests {
			fmt.Fprintf(stderr, "  %s\n", line)
		}
		for line := range strings.Lines(f.tail) { // who reads only the end of a log, sees why
			fmt.Fprintf(stderr, "  %s: %s\n", filepath.Base(f.log), strings.TrimSuffix(line, "\n"))
		}
	}
	fmt.Fprintf(stderr, "logs of all steps: %s\n", g.logs)
	return false
}

// usersPath is a search path as a normal user of Debian has it: what is in an sbin, such as tc, has to be found without it.
func usersPath(path string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return filepath.Base(dir) == "sbin" }), string(filepath.ListSeparator))
}
