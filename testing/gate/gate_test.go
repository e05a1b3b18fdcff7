package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/testing/expect"
)

// packagesOf are those of a text: a line is a package, "meets" or "others" if it is, and its tests with their marks, "TestA:race".
func packagesOf(text string) (all []pkg) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		p := pkg{path: "evbench/" + words[0]}
		for _, word := range words[1:] {
			name, rest, _ := strings.Cut(word, ":")
			switch name {
			case "meets":
				p.meets = true
			case "others":
				p.others = true
			default:
				t := test{name: name, marks: map[string]string{}}
				for mark := range strings.SplitSeq(rest, ",") {
					if mark == "tagged" {
						t.tagged = true
					} else if mark != "" {
						name, words, _ := strings.Cut(mark, "=")
						t.marks[name] = words
					}
				}
				p.tests = append(p.tests, t)
			}
		}
		all = append(all, p)
	}
	return all
}

const example = `
	plan           TestPlan
	worker   meets TestWorker
	balance  meets TestWorkers:race TestLong
	coloring       TestColorLarge:race TestColor
	site/hdf5     others TestDump:tagged TestPlain
	site/wrapped  meets others TestExchange:tagged,mpich=a_rank TestLegal:tagged,mpich
	site/mpi      meets others TestRanks:tagged
	cmd/evbench   meets TestServe:race TestResults:libraries,debian13 TestMPIRun:tagged,debian13 TestHelp TestScript/trace:race TestScript/mpi:libraries TestScript/new`

// TestPlan: which tests run in which step.
func TestPlan(t *testing.T) {
	all := packagesOf(example)
	o := order{goTool: "go", staticcheck: "sc", procs: 2}
	want := `plan TestPlan: all others
worker TestWorker: tests in which goroutines meet, with the race detector, race
balance TestWorkers: tests of shared work, with the race detector, race
balance TestLong: all others
coloring TestColorLarge: tests of shared work, with the race detector, race
coloring TestColor: all others
site/hdf5 TestDump: race tests with mpi,hdf5,rdma, race, mpi,hdf5,rdma
site/hdf5 TestPlain: all others
site/hdf5 TestPlain: race tests with mpi,hdf5,rdma, race, mpi,hdf5,rdma
site/wrapped TestExchange: tests of libevbench, and over MPI, mpi,hdf5,rdma
site/wrapped TestLegal: tests of libevbench, and over MPI, mpi,hdf5,rdma
site/mpi TestRanks: race tests with mpi,hdf5,rdma, race, mpi,hdf5,rdma
site/mpi TestRanks: tests of libevbench, and over MPI, mpi,hdf5,rdma
cmd/evbench TestServe: tests of the command, with the race detector, race
cmd/evbench TestResults: all others of the command
cmd/evbench TestResults: tests with mpi,hdf5,rdma, mpi,hdf5,rdma
cmd/evbench TestMPIRun: tests with mpi,hdf5,rdma, mpi,hdf5,rdma
cmd/evbench TestHelp: all others of the command
cmd/evbench TestScript/trace: tests of the command, with the race detector, race
cmd/evbench TestScript/mpi: all others of the command
cmd/evbench TestScript/mpi: tests with mpi,hdf5,rdma, mpi,hdf5,rdma
cmd/evbench TestScript/new: all others of the command`
	got := strings.ReplaceAll(strings.Join(running(all, plan(all, o)), "\n"), "evbench/", "")
	expect.Equal(t, got, want, "what runs where")
	o.all = true
	expect.Contains(t, strings.Join(running(all, plan(all, o)), "\n"), "coloring TestColorLarge: all others", "balance TestWorkers: all others")
	for without, gone := range map[string]string{"mpi": "MPI", "debian13": "Debian 13", "mpi hdf5 rdma": "with"} {
		o.without = strings.Fields(without)
		for _, s := range plan(all, o) {
			expect.False(t, strings.Contains(s.name, gone) && s.row != rowMeets && s.row != rowCode, "without %s there is %s", without, s.name)
		}
	}
}

func TestNames(t *testing.T) {
	all := packagesOf(example)
	wrapped, evbench := all[5], all[7]
	expect.Equal(t, wrapped.names(mpich, marked(mpich)), "^(TestLegal)$|^TestExchange$/^(a_rank)", "tests with MPICH")
	expect.Equal(t, evbench.names(race, marked(race)), "^(TestServe)$|^TestScript$/^(trace)$", "with the race detector")
	expect.Equal(t, evbench.names(mpich, marked(mpich)), "", "no tests")
	out := expect.Value((&exec.Cmd{Path: "../../scripts/gate", Args: []string{"gate", "names", "mpich", "./site/wrapped"}, Env: append(os.Environ(), "EVBENCH_GATE_NAMES="+patterns(all))}).Output())(t)
	expect.Equal(t, string(out), "^(TestLegal)$|^TestExchange$/^(a_rank)\n", "what a script of a step asks for")
}

// Every test of this checkout runs, once at least, in what the gate plans for it, and every mark is understood.
func TestEveryTestRuns(t *testing.T) {
	t.Chdir("../..")
	all := expect.Value(look(t.Context(), order{goTool: "go"}))(t)
	lines := running(all, plan(all, order{goTool: "go", procs: 2}))
	races := 0
	for _, line := range lines {
		if strings.Contains(line, ", race") {
			races++
		}
	}
	n := 0
	for _, p := range all {
		for _, x := range p.tests {
			n++
			at := p.path + " " + x.name + ": "
			expect.True(t, slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, at) }), "no step runs %s", at)
			shared := at + "tests of shared work, with the race detector, race"
			expect.False(t, !marked(race)(x) && slices.Contains(lines, shared), "%sgive it a name of its own: one that has it and is marked takes it to the race detector", at)
		}
	}
	expect.True(t, n > 1500 && races > 500, "%d tests, %d with the race detector", n, races)
}

// Marks are read from comments, and what they do not say is refused.
func TestMarksAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"// TestA says.\n//\n//gate:race\n//gate:mpich a b\nfunc TestA(t *testing.T) {}\nfunc TestMain() {}\nfunc Testimony() {}": "[{TestA false map[mpich:a b race:]}]",
		"func TestB() {} //gate:race":             "[{TestB false map[]}]",
		"//gate:rare\nfunc TestC() {}":            "x_test.go: TestC: no mark is called rare: there are race, libraries, mpich, debian13, weekly13",
		"//gate:race\nfunc (r reader) TestD() {}": "[]",
	} {
		p := pkg{}
		err := p.readTests("x_test.go", []byte("package p\n\n"+text+"\n"))
		got := fmt.Sprint(p.tests)
		if err != nil {
			got = err.Error()
		}
		expect.Equal(t, got, want, "%s", text)
	}
	p := pkg{}
	expect.Must(t, p.readTests("x_test.go", []byte("//go:build linux && mpi\n\npackage p\n\nfunc TestE() {}\n")))
	expect.True(t, len(p.tests) == 1 && p.tests[0].tagged, "%v", p.tests)
}

// stand makes a checkout with programs that stand in for go and the scripts.
func stand(t *testing.T, goTool string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	expect.Must(t, os.MkdirAll(filepath.Join(dir, "internal/layers"), 0o700))
	expect.Must(t, os.WriteFile(filepath.Join(dir, "internal/layers/rings.txt"), []byte("core=1 scripts=1 internal=2\n"), 0o600))
	expect.Must(t, os.MkdirAll(filepath.Join(dir, "scripts"), 0o700))
	for _, name := range []string{"setup", "format", "test-dist", "go"} {
		text := ""
		if name == "go" {
			text = goTool
		}
		expect.Must(t, os.WriteFile(filepath.Join(dir, "scripts", name), []byte("#!/bin/sh\n"+text), 0o700))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"}} {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		expect.MustTrue(t, err == nil, "%v: %s", err, out)
	}
	for name, text := range map[string]string{"meets/a.go": "package a\n\nvar lock sync.Mutex", "single/a_test.go": "package b\n\nfunc TestB() {}\n"} {
		file := filepath.Join(t.TempDir(), name)
		expect.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		expect.Must(t, os.WriteFile(file, []byte(text), 0o600))
		t.Setenv(strings.ToUpper(filepath.Dir(name)), filepath.Dir(file))
	}
	was := patience
	patience = 100 * time.Millisecond
	t.Cleanup(func() { patience = was })
	t.Chdir(dir)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GO", filepath.Join(dir, "scripts/go"))
	t.Setenv("EVBENCH_WITHOUT", "opensm,mpi,hdf5,rdma,ssh,frr,chromium,pandas,debian13")
	return dir
}

// A gate in which vet and a test fail, and something is left behind, does the rest too, names all that, and keeps its logs.
//
//gate:race
func TestGateNamesFailures(t *testing.T) {
	dir := stand(t, `
case "$1 $*" in
env*) printf '\n-O2\n' ;;
list*) for d in "$MEETS" "$SINGLE"; do printf '{"ImportPath": "evbench/%s", "Dir": "%s"}\n' "${d##*/}" "$d"; done ;;
vet*) echo 'a.go:1: vetted'; exit "${FAILS:-0}" ;;
test*-race*evbench/meets*)
	[ "$FAILS" ] || exit 0
	setsid sh -c 'echo left >left; exec sleep 600' >/dev/null 2>&1 &
	until [ -e left ]; do sleep 0.01; done
	event() { printf '{"Action":"%s","Package":"evbench/meets","Test":"%s","Output":"%s","Elapsed":0.1}\n' "$1" "$2" "$3"; }
	event output TestOne/sub '    a_test.go:1: wrong\n'; event output TestQuiet 'all is well\n'; event pass TestQuiet ''
	event fail TestOne/sub ''; event fail TestOne ''; event output TestHangs 'waits\n'
	event output TestLong '    a_test.go:8: need: heavy\n'; event output TestLong '    testscript.go:609: WORK=/tmp\n'; event skip TestLong ''
	event output TestSkipped '    a_test.go:7: need: optional, and not here: cases\n'; event skip TestSkipped ''
	printf '{"Action":"output","Package":"evbench/meets","Output":"FAIL\\tevbench/meets\\t0.1s\\n"}\n{"Action":"fail","Package":"evbench/meets","Elapsed":0.1}\n'
	exit 1 ;;
test*) printf '{"Action":"pass","Package":"evbench/single","Test":"TestB","Elapsed":0.2}\n{"Action":"output","Package":"evbench/single","Output":"ok  \\tevbench/single\\t0.1s\\n"}\n' ;;
esac
`)
	gate := func() (string, int) {
		var out strings.Builder
		code := run(context.Background(), nil, &out, &out)
		return out.String(), code
	}
	said, code := gate()
	expect.True(t, code == 0 && strings.Contains(said, "all parts passed except what EVBENCH_WITHOUT left out: opensm,"), "a gate without failures ended with %d:\n%s", code, said)
	logs := filepath.Join(os.Getenv("TMPDIR"), "evbench-gate.*")
	left, _ := filepath.Glob(logs)
	expect.True(t, left == nil, "a gate that passed left %v", left)
	t.Setenv("FAILS", "1")
	said, code = gate()
	_, end, _ := strings.Cut(said, "== FAILED")
	for _, want := range []string{`(?m)^vet: /.*/vet\.log$`, `(?m)^tests in which goroutines meet, .*\.log$`,
		`(?m)^ +evbench/meets 0\.1s: TestHangs \(did not end\) TestOne TestOne/sub$`, `(?m)^ +vet\.log: a\.go:1: vetted$`,
		`(?m)^ +clean-tree\.log: \?\? left$`, `(?m)^ +what-is-left\.log: process \d+ outlived the gate, and was killed: .*sleep 600$`, `(?m)^ +heavy-tests\.log: meets TestLong$`} {
		expect.True(t, regexp.MustCompile(want).MatchString(end), "the end does not match %s", want)
	}
	expect.Contains(t, said, "== skipped, for 2 reasons\nneed: heavy: meets TestLong\nneed: optional, and not here: cases: meets TestSkipped\n", "a_test.go:1: wrong", "waits\n", "0.2 s  single TestB (all others)")
	kept, _ := filepath.Glob(filepath.Join(logs, "*.log"))
	expect.True(t, code == 1 && !strings.Contains(said, "all is well") && len(kept) >= 8, "ended with %d, logs %v:\n%s", code, kept, said)
	expect.Must(t, os.Remove(filepath.Join(dir, "left")))
}

// What other programs print of Go's tests, and what names none.
func TestFailure(t *testing.T) {
	for text, want := range map[string]string{
		"--- FAIL: TestOne (0.01s)\n    --- FAIL: TestOne/sub (0.00s)\nFAIL\nFAIL\tevbench/a\t0.1s\nok  \tevbench/b\t1s\nFAIL\tevbench/c [build failed]\n": "[evbench/a 0.1s: TestOne TestOne/sub evbench/c [build failed]: no test is named, the log says why] ",
		"first\nmunged does not start\n": "[] first\nmunged does not start\nexit status 1",
	} {
		r := &reading{step: "other"}
		r.log.WriteString(text)
		f := r.failure(fmt.Errorf("exit status 1"), "log")
		expect.Equal(t, fmt.Sprint(f.tests, " ", f.tail), want, "%q", text)
	}
}
