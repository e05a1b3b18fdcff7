package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"evbench/results"
)

// scenarioText is whole event building: n servers, each a process of this
// machine, over loopback.
func scenarioText(r row, s side, milliseconds int) string {
	mode := map[string]string{Unsync: "unsynchronised", Phases: "synchronised"}[s.mode]
	check := map[bool]string{false: "header", true: "payload"}[s.payload]
	return fmt.Sprintf(`topology: FT(2;1,%[1]d)
fabric: {kind: hosts, workers: processes}
event: {fragment: %[2]dB}
duration: %[3]dms
interval: %[3]dms
warmup: %[4]d
control: off
deliver: buffer
check: %[5]s
cases:
  - {name: whole, mode: %[6]s}
`, r.n, r.size, milliseconds, warmup, check, mode)
}

// runWhole runs evbench and takes the figures from its summary.
func (t *tools) runWhole(ctx context.Context, r row, s side, milliseconds int) (out reading, err error) {
	dir, err := os.MkdirTemp(t.dir, "whole-")
	if err != nil {
		return reading{}, err
	}
	file := filepath.Join(dir, "whole.yaml")
	if err := os.WriteFile(file, []byte(scenarioText(r, s, milliseconds)), 0o600); err != nil {
		return reading{}, err
	}
	said, err := t.output(t.command(ctx, t.evbench, "run", "--quiet", "--json", "-o", filepath.Join(dir, "out"), file))
	if err != nil {
		return reading{}, fmt.Errorf("%w: %s", err, said) // an invalid case: its summary has the reasons
	}
	if err := os.RemoveAll(dir); err != nil {
		return reading{}, err
	}
	return readSummary(said, r)
}

func readSummary(said string, r row) (reading, error) {
	var sum results.Summary
	if err := json.Unmarshal([]byte(said), &sum); err != nil {
		return reading{}, fmt.Errorf("evbench printed %q: %w", said, err)
	}
	if len(sum.Cases) != 1 || !sum.Complete {
		return reading{}, fmt.Errorf("evbench measured %d cases, want one whole one", len(sum.Cases))
	}
	c := sum.Cases[0]
	if !c.Valid || c.EventsLost > 0 || c.MeasuredSec <= 0 {
		return reading{}, fmt.Errorf("evbench's case is not valid: %s", strings.Join(c.Reasons, "; "))
	}
	return reading{c.MeasuredSec, rate(r, int(c.Exchanges), c.MeasuredSec)}, nil
}
