package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evbench/site/mpi"
	"evbench/testing/expect"
	"evbench/testing/need"
)

var update = flag.Bool("update", false, "rewrite golden text in scripts")

func TestMain(m *testing.M) {
	// As launchers call the binary that they have copied to a host.
	if strings.HasPrefix(filepath.Base(os.Args[0]), "evbench-") {
		mpi.Exit(runProgram())
	}
	if filepath.Base(os.Args[0]) == "opensm" {
		io.Copy(io.Discard, os.Stdin) // stands in for it until its input ends
		os.Exit(0)
	}
	if log := os.Getenv(documentedLog); log != "" {
		os.Exit(documented(os.Args, log))
	}
	testscript.Main(m, map[string]func(){
		"evbench": func() { mpi.Exit(runProgram()) },
		"crash":   func() { runProgram(); panic("a fault of its own") },
	})
}

func TestScript(t *testing.T) {
	scenarios := expect.Value(filepath.Abs("../../scenarios"))(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SCENARIOS", scenarios)
			// testscript removes their folder after the last of all scripts, also of those that -run leaves out: never.
			t.Cleanup(func() { _ = os.Remove(filepath.Dir(e.WorkDir)) })
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "lab": // where it is required, its commands say what is wrong
				return need.Lab(), nil
			case "heavy":
				return need.TakesHeavy(), nil
			}
			return false, fmt.Errorf("no condition is called %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"measure": measureCmd, "accurate": accurateCmd, "code": codeCmd},
	})
}

// oneRound adds --rounds 1 to arguments that name a scenario and do not say how many.
func oneRound(args []string) []string {
	scenario := slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, ".yaml") })
	if !scenario || slices.Contains(args, "--rounds") {
		return args
	}
	return append([]string{"--rounds", "1"}, args...)
}

// measureCmd is "exec evbench run …" of one round, unless args say how many, that may end
// with resolved results or with others: the machine that runs the tests may be busy.
func measureCmd(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("evbench", append([]string{"run"}, oneRound(args)...)...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if neg || err != nil && (!ok || exit.ExitCode() != exitInvalid) {
		ts.Fatalf("evbench run %v: %v", args, err)
	}
}

// accurateCmd is "exec evbench accuracy …" of one round that may end with resolved results
// or with others: the machine that runs the tests may be busy.
func accurateCmd(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("evbench", append([]string{"accuracy"}, oneRound(args)...)...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if neg || err != nil && (!ok || exit.ExitCode() != exitInvalid) {
		ts.Fatalf("evbench accuracy %v: %v", args, err)
	}
}

// codeCmd is "code N command …": exec that ends with exit code N.
func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("code %s: %v", args[0], err)
	}
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](ts.Exec(args[1], args[2:]...)); ok {
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
