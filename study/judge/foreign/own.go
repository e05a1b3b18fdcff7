package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"evbench/results"
)

const ownSchema = "evbench/summary/1"

func readOwn(data []byte, o Options) (*Result, error) {
	var s results.Summary
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("no summary.json: %w", err)
	}
	if s.Schema != ownSchema {
		return nil, fmt.Errorf("schema %q: a summary.json has %s", short(s.Schema), ownSchema)
	}
	c, err := ownCase(s.Cases, o.Case)
	if err != nil {
		return nil, err
	}
	switch {
	case !s.Complete || !c.Complete:
		return nil, fmt.Errorf("case %s: the run was interrupted", c.Name)
	case !c.Valid:
		return nil, fmt.Errorf("case %s is not valid: %s", c.Name, strings.Join(c.Reasons, "; "))
	case c.MeasuredEfficiency < 0 || c.GoodputBitPerSec.Mean < 0:
		return nil, fmt.Errorf("case %s: efficiency and goodput are at least 0", c.Name)
	}
	r := &Result{
		What:       fmt.Sprintf("case %s of %s, %s", c.Name, s.Name, c.Mode),
		Efficiency: c.MeasuredEfficiency, Down: c.Failures, DownKnown: len(c.LinkEvents) == 0,
	}
	if c.Simulated != "" {
		r.What += ", simulated"
	}
	if r.Efficiency == 0 {
		r.HostRate = c.GoodputBitPerSec.Mean
	}
	if r.Efficiency == 0 && r.HostRate == 0 {
		return nil, fmt.Errorf("case %s has neither an efficiency nor a goodput", c.Name)
	}
	return r, nil
}

// ownCase returns the case of a name, or the only one that is no control.
func ownCase(cases []results.Case, name string) (found results.Case, err error) {
	var names, open []string
	for _, c := range cases {
		names = append(names, c.Name)
		if name == "" && c.Control || name != "" && c.Name != name {
			continue
		}
		found = c
		open = append(open, c.Name)
	}
	switch {
	case len(open) == 1:
		return found, nil
	case len(open) == 0 && name != "":
		return found, fmt.Errorf("no case %q; there are %s", short(name), strings.Join(names, ", "))
	case len(names) == 0:
		return found, errors.New("it has no case")
	case len(open) == 0:
		return found, fmt.Errorf("no case but controls; say with --case which: %s", strings.Join(names, ", "))
	case name != "":
		return found, fmt.Errorf("case %s is there %d times", name, len(open))
	}
	return found, fmt.Errorf("several cases: say with --case which: %s", strings.Join(open, ", "))
}
