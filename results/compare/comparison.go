package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"evbench/results"
)

// A Side is one of the two runs that are compared.
type Side struct {
	Path    string    `json:"path"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Fabric  string    `json:"fabric"`
	run     *results.Run
}

// NewSide takes a run that was read from path, and sees that it is whole.
func NewSide(path string, run *results.Run) (Side, error) {
	if err := Check(run); err != nil {
		return Side{}, fmt.Errorf("%s: %w", path, err)
	}
	return Side{path, run.Manifest.Name, run.Manifest.Started, run.Manifest.Fabric.Kind, run}, nil
}

// A Comparison is all that is said of two runs.
type Comparison struct {
	Schema      string       `json:"schema"`
	Base        Side         `json:"base"`
	New         Side         `json:"new"`
	Differences []Difference `json:"differences"`
	Report
	Conditions  []Condition  `json:"fail_if"`
	Regressions []Regression `json:"regressions"`
	Undecided   []Undecided  `json:"undecided"`

	shown []string // figures; none: see Only
}

// Between compares two runs, and judges the change by the conditions. Runs that were not
// measured alike, or have no case in common, are refused; force takes the former all the
// same, and invalid repeats too.
func Between(base, next Side, conditions []Condition, force bool) (*Comparison, error) {
	differences := Differences(base.run, next.run)
	if !force {
		if err := refuse(base, next, differences); err != nil {
			return nil, err
		}
	}
	r := Runs(base.run, next.run, Options{Invalid: force})
	if len(r.Cases) == 0 {
		return nil, fmt.Errorf("%s and %s have no case in common: %s; %s", base.Path, next.Path, quoted(r.Missing), quoted(r.Added))
	}
	c := &Comparison{Schema: "evbench/compare/1", Base: base, New: next, Differences: differences, Report: r, Conditions: conditions}
	c.Regressions, c.Undecided = r.Judge(conditions)
	return c, nil
}

// WriteJSON writes one document, schema evbench/compare/1.
func (c *Comparison) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(c) }

// WriteFindings names what the conditions found.
func (c *Comparison) WriteFindings(w io.Writer) {
	for _, r := range c.Regressions {
		fmt.Fprintf(w, "regression: case %q: %s %s, beyond %s\n", r.Case, r.Figure, percentText(r.Change), r.Condition)
	}
	for _, u := range c.Undecided {
		fmt.Fprintf(w, "cannot say: %s\n", u)
	}
}

// String names what cannot be said, and why.
func (u Undecided) String() string {
	var parts []string
	if u.Case != "" {
		parts = append(parts, fmt.Sprintf("case %q", u.Case))
	}
	if u.Figure != "" {
		parts = append(parts, u.Figure)
	}
	return strings.Join(append(parts, u.Reason), ": ")
}

func refuse(base, next Side, differences []Difference) error {
	var lines []string
	if isSimulated(base.run) != isSimulated(next.run) {
		simulated, measured := base, next
		if isSimulated(next.run) {
			simulated, measured = next, base
		}
		lines = append(lines, fmt.Sprintf("%s was simulated, %s was measured: a prediction is not a base to regress from", simulated.Path, measured.Path))
	}
	for _, d := range differences {
		if !d.Noted {
			lines = append(lines, d.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s and %s were not measured alike; --force compares them all the same:\n  %s",
		base.Path, next.Path, strings.Join(lines, "\n  "))
}

func quoted(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return strings.Join(out, ", ")
}
