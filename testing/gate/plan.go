package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"evbench/internal/lists"
)

// The parts that may be left out (EVBENCH_WITHOUT) and are build tags, and the command: its tests are the longest.
var tags = []string{"mpi", "hdf5", "rdma"}

// pureNet keeps C out of net and os/user, as in what is packaged: else all that links them is compiled anew for each MPI, each compiler and
// each checkout. With the race detector, there is one of each.
const pureNet = "netgo,osusergo"

const command = "evbench/cmd/evbench"

// A step is one command of the gate. Steps of a row go one behind the other, rows side by side.
type step struct {
	row, name string
	args      []string
	counts    bool   // much is computed in small heaps, and a fourth of the time is the collection of garbage
	after     string // a step, of another row, that it waits for; "": none
}

// The rows: what computes, what waits for the goroutines and processes of tests, what runs over MPI, and Debian 13.
const (
	rowCode   = "code and counts"
	rowMeets  = "goroutines and the command"
	rowMPI    = "with libraries"
	rowDebian = "Debian 13"
)

// Vet has Go compile everything but tests. What takes the same packages, with or without the libraries, waits for it: two programs that
// begin at once compile each of them twice.
const (
	vetStep      = "vet"
	debian13Step = "Debian 13"
)

// An order is what decides the steps beside the packages.
type order struct {
	goTool, staticcheck string
	without             []string // parts that are left out
	procs               int
	cgoFlags            string // what vet has for C, which makes it different for each checkout
	all                 bool   // tests take all of their samples (EVBENCH_ALL), but not with the race detector
}

// plan decides which tests run, in which step, with or without the race detector. Each test of each package runs once at least, except those
// that are there only with libraries that are left out; TestPlan holds that.
func plan(all []pkg, o order) (steps []step) {
	of := sorted(all)
	built := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return slices.Contains(o.without, tag) })
	with := strings.Join(built, ",")
	goes := func(row, name string, args ...string) {
		s := step{row: row, name: name, args: args, counts: row == rowCode}
		if row == rowMPI || name == debian13Step {
			s.after = vetStep
		}
		steps = append(steps, s)
	}
	// Vet looks at everything: tests need not again. Some only wait, and leave a processor to one package more. None takes long
	// but on a busy machine.
	tests := func(row, name string, args ...string) {
		goes(row, name, slices.Concat([]string{o.goTool, "test", "-json", "-vet=off", "-shuffle=on", "-timeout", "40m", "-p", fmt.Sprint(o.procs + 1)}, args)...)
	}
	tests(rowMeets, "tests in which goroutines meet, with the race detector", slices.Concat([]string{"-race", "-short", "-parallel", "4"}, of.meeting)...) // many only wait
	if races := of.command.names(race, marked(race)); races != "" {
		tests(rowMeets, "tests of the command, with the race detector", "-race", "-short", "-parallel", "4", "-run", races, command)
		tests(rowMeets, "all others of the command", "-parallel", "4", "-tags", pureNet, "-skip", races, command)
	}
	goes(rowCode, vetStep, o.goTool, "vet", "-tags", pureNet, "./...")
	goes(rowCode, "staticcheck", o.goTool, "run", o.staticcheck, "-tags", pureNet, "./...")
	goes(rowCode, "modules", o.goTool, "mod", "tidy", "-diff")
	goes(rowCode, "sums of modules", o.goTool, "mod", "verify")
	goes(rowCode, "packages", "scripts/test-dist")
	if with != "" {
		looked := slices.Concat([]string{"-tags", with + "," + pureNet}, of.others, []string{command})
		// What cgo writes has the path of its checkout in it, and with -trimpath Go takes it from its cache for all: vet would open the
		// files of another checkout, or of one that is gone. With a flag of its own none is taken.
		goes(rowCode, "vet with "+with, slices.Concat([]string{"env", "CGO_CFLAGS=" + o.cgoFlags, o.goTool, "vet"}, looked)...)
		goes(rowCode, "staticcheck with "+with, slices.Concat([]string{o.goTool, "run", o.staticcheck}, looked)...)
	}
	if of.counting != nil {
		tests(rowCode, "tests of shared work, with the race detector", slices.Concat([]string{"-p", fmt.Sprint(o.procs), "-race", "-short", "-run", of.races}, of.counting)...)
	}
	others := []string{"-p", fmt.Sprint(o.procs), "-tags", pureNet}
	if !o.all && of.raced != nil { // with the race detector they take no less, but where all samples are taken
		others = append(others, "-skip", alone(of.raced))
	}
	tests(rowCode, "all others", slices.Concat(others, of.single)...)
	if with != "" {
		withLibraries(of, with, tests)
	}
	if slices.Contains(built, "mpi") {
		// It is C, in processes.
		tests(rowMPI, "tests of libevbench, and over MPI", "-p", "1", "-tags", with+","+pureNet, "evbench/site/wrapped", "evbench/site/mpi")
		goes(rowMPI, "tests with MPICH", "scripts/test-mpich", "scripts/with-mpi", o.goTool, "test", "-vet=off", "-timeout", "40m", "-tags", "mpi,"+pureNet)
	}
	if !slices.Contains(o.without, "debian13") {
		goes(rowDebian, "root of Debian 13", "scripts/debian13", "true") // the first time it takes minutes
		goes(rowDebian, debian13Step, "scripts/test-debian13")
	}
	return steps
}

// withLibraries has the tests that are there only with the libraries, or do something else with them.
func withLibraries(of sets, with string, tests func(row, name string, args ...string)) {
	if names := of.command.names(libraries, func(t test) bool { return t.tagged || marked(libraries)(t) }); names != "" {
		tests(rowMPI, "tests with "+with, "-parallel", "4", "-tags", with+","+pureNet, "-run", names, command)
	}
	others := slices.DeleteFunc(slices.Clone(of.others), func(path string) bool { return path == "evbench/site/wrapped" })
	if len(others) > 0 {
		tests(rowMPI, "race tests with "+with, slices.Concat([]string{"-race", "-short", "-tags", with}, others)...)
	}
}

// The sets of packages that run in one step.
type sets struct {
	command  pkg
	meeting  []string // all of their tests meet the race detector
	counting []string // those that are marked do, and the rest follows without it
	single   []string // without it: those of counting, and those in which no goroutines meet
	others   []string // have other files with the libraries
	races    string   // the marked tests of counting
	raced    []string // of their names those that no test of single without the mark has
}

// alone is a pattern of whole names.
func alone(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

func sorted(all []pkg) (of sets) {
	var races []string
	for _, p := range all {
		if p.path == command {
			of.command = p
			continue
		}
		if p.others {
			of.others = append(of.others, p.path)
		}
		switch {
		case p.has(race):
			of.counting = append(of.counting, p.path)
			of.single = append(of.single, p.path)
			races = append(races, strings.Split(strings.Trim(p.names(race, marked(race)), "^()$"), "|")...)
		case p.meets:
			of.meeting = append(of.meeting, p.path)
		default:
			of.single = append(of.single, p.path)
		}
	}
	slices.Sort(races)
	races = slices.Compact(races)
	of.races = alone(races)
	of.raced = slices.DeleteFunc(races, func(name string) bool {
		return slices.ContainsFunc(all, func(p pkg) bool {
			return slices.Contains(of.single, p.path) && slices.ContainsFunc(p.tests, func(t test) bool { return t.name == name && !marked(race)(t) })
		})
	})
	return of
}

// A selection is what a step with go test runs.
type selection struct {
	run, skip, tags string
	race            bool
	packages        []string
}

// selects reads the arguments of a step; ok is false if it is none of go test.
func (s step) selects() (x selection, ok bool) {
	if len(s.args) < 2 || s.args[1] != "test" {
		return x, false
	}
	for i := 2; i < len(s.args); i++ {
		switch arg := s.args[i]; arg {
		case "-run", "-skip", "-tags":
			i++
			*map[string]*string{"-run": &x.run, "-skip": &x.skip, "-tags": &x.tags}[arg] = s.args[i]
			x.tags = strings.Trim(strings.TrimSuffix(x.tags, pureNet), ",")
		case "-race":
			x.race = true
		case "-p", "-parallel", "-timeout":
			i++
		default:
			if !strings.HasPrefix(arg, "-") {
				x.packages = append(x.packages, arg)
			}
		}
	}
	return x, true
}

// has reports whether a test of a package is among them.
func (x selection) has(p pkg, t test) bool {
	return slices.Contains(x.packages, p.path) && (!t.tagged || x.tags != "") && (x.run == "" || matches(x.run, t.name)) && (x.skip == "" || !matches(x.skip, t.name))
}

// matches reports whether a pattern of go test matches a test or, as a whole, a subtest.
func matches(pattern, name string) bool {
	parts := strings.Split(name, "/")
	return slices.ContainsFunc(alternatives(pattern), func(levels []*regexp.Regexp) bool {
		for i, level := range levels[:min(len(levels), len(parts))] {
			if !level.MatchString(parts[i]) {
				return false
			}
		}
		return true
	})
}

// alternatives are those of a pattern, level by level. Each is asked about some thousand tests: reading it anew took a minute.
var alternatives = func() func(string) [][]*regexp.Regexp {
	read := map[string][][]*regexp.Regexp{}
	return func(pattern string) [][]*regexp.Regexp {
		if read[pattern] == nil {
			read[pattern] = lists.Map(split(pattern, '|'), func(one string) []*regexp.Regexp { return lists.Map(split(one, '/'), regexp.MustCompile) })
		}
		return read[pattern]
	}
}()

// split splits a pattern at a sign that stands outside of parentheses.
func split(pattern string, at byte) (parts []string) {
	depth, from := 0, 0
	for i := range len(pattern) {
		switch c := pattern[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == at && depth == 0:
			parts = append(parts, pattern[from:i])
			from = i + 1
		}
	}
	return append(parts, pattern[from:])
}

// running returns a line for each test in each step that runs it, "evbench/plan TestA: all others, with the race detector".
func running(all []pkg, steps []step) (lines []string) {
	for _, p := range all {
		for _, t := range p.tests {
			for _, s := range steps {
				x, is := s.selects()
				if !is || !x.has(p, t) {
					continue
				}
				how := ""
				if x.race {
					how = ", race"
				}
				if x.tags != "" {
					how += ", " + x.tags
				}
				lines = append(lines, fmt.Sprintf("%s %s: %s%s", p.path, t.name, s.name, how))
			}
		}
	}
	return lines
}
