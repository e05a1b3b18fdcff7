package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

const schema = "evbench/noise/1"

type document struct {
	Schema   string `json:"schema"`
	Scenario string `json:"scenario"`
	CPUs     int    `json:"cpus"`
	Loops    int    `json:"loops"`
	Seed     uint64 `json:"seed"`
	Tally
}

// measure runs the scenario under each condition in turn, so that what else happens on the
// machine hits all of them, and reports whether all is as it should be. What was measured
// before an error or a signal is printed, too.
func measure(ctx context.Context, o *options, stdout, stderr io.Writer) (passed bool, err error) {
	m, err := newMachine(o)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(m.dir)) }()
	runs := []Run{}
	began := time.Now()
	for len(runs) < o.runs*len(o.conditions) {
		c := o.conditions[len(runs)%len(o.conditions)]
		r, failed := m.play(ctx, c, 1+len(runs)/len(o.conditions))
		if err = failed; err != nil || ctx.Err() != nil {
			break // how the run went is our own doing
		}
		runs = append(runs, r)
		fmt.Fprintf(stderr, "%s  run %d of %d, %s\n", time.Since(began).Round(time.Second), len(runs), o.runs*len(o.conditions), r)
	}
	if len(runs) == 0 {
		return false, err
	}
	t := New(runs)
	return t.Passed, errors.Join(err, show(stdout, o, t))
}

func show(w io.Writer, o *options, t Tally) error {
	if !o.json {
		return t.Print(w, o.verbose)
	}
	return json.NewEncoder(w).Encode(document{
		Schema: schema, Scenario: o.scenario, CPUs: runtime.NumCPU(), Loops: o.loops, Seed: o.seed, Tally: t,
	})
}
