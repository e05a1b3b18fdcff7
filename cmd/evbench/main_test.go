package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite golden text in scripts")

func TestMain(m *testing.M) {
	// As launchers call the binary that they have copied to a host.
	if strings.HasPrefix(filepath.Base(os.Args[0]), "evbench-") {
		os.Exit(Main())
	}
	if log := os.Getenv(documentedLog); log != "" {
		os.Exit(documented(os.Args, log))
	}
	testscript.Main(m, map[string]func(){"evbench": func() { os.Exit(Main()) }})
}

func TestScript(t *testing.T) {
	scenarios, err := filepath.Abs("../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SCENARIOS", scenarios)
			e.Setenv("LOGS", filepath.Join(filepath.Dir(scenarios), "testdata"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"measure": measureCmd, "accurate": accurateCmd, "code": codeCmd},
	})
}

// measureCmd is "exec evbench run …" that may end with valid results or with
// invalid ones: the machine that runs the tests may be too busy to measure.
func measureCmd(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("evbench", append([]string{"run"}, args...)...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if neg || err != nil && (!ok || exit.ExitCode() != exitInvalid) {
		ts.Fatalf("evbench run %v: %v", args, err)
	}
}
