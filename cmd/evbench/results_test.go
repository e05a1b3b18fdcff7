package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evbench/results"
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

// A file that a killed run has left is shown as far as it goes, and marked.
func TestKilledH5IsReported(t *testing.T) {
	if !hdf5.Built {
		t.Skip("HDF5 is not built in")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	w, err := hdf5.Create("left.h5")
	if err != nil {
		t.Fatal(err)
	}
	m := results.Manifest{Name: "killed", Predictions: []results.Prediction{{Case: "one", Schedule: "fors"}}}
	s := results.Sample{Case: "one", TSec: 1, IntervalSec: 1, Events: 7, EventBytes: 100, PayloadBytes: 700}
	if err := errors.Join(w.Manifest(m), w.Sample(s), w.Close()); err != nil { // a kill leaves the same: no summary
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"evbench", "report", "left.h5"}, &out, &said)
	page, err := os.ReadFile("report.html")
	if code != exitDone || err != nil || !strings.Contains(said.String(), "left.h5 holds no summary: the run was killed") ||
		!bytes.Contains(page, []byte("the run was killed before it could judge its cases")) {
		t.Errorf("exit %d, %v, said %q", code, err, said.String())
	}
	said.Reset()
	if code := run(t.Context(), []string{"evbench", "compare", "left.h5", "left.h5"}, &out, &said); code != exitUsage {
		t.Errorf("compare: exit %d, said %q", code, said.String())
	}
}
