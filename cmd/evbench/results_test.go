package main

import (
	"fmt"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evbench/results/hdf5"
)

// TestResults runs the scripts about files of results. What a binary can do
// depends on what is built in.
func TestResults(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/results", UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"measure": measureCmd, "code": codeCmd},
		Condition: func(name string) (bool, error) {
			if name == "hdf5" {
				return hdf5.Built, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
	})
}
