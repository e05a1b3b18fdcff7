package main

import (
	"errors"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// accurateCmd is "exec evbench accuracy …" of one round that may end with resolved results
// or with others: the machine that runs the tests may be busy.
func accurateCmd(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("evbench", append([]string{"accuracy"}, oneRound(args)...)...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if neg || err != nil && (!ok || exit.ExitCode() != exitInvalid) {
		ts.Fatalf("evbench accuracy %v: %v", args, err)
	}
}
