package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evbench/results"
)

// A Condition is what happens beside a run.
type Condition string

// The conditions. A busy loop keeps a processor busy; a freezer stops the program at random.
const (
	Idle   Condition = "idle"
	Loops  Condition = "loops"
	Freeze Condition = "freeze"
	Both   Condition = "both"
)

func Conditions() []Condition { return []Condition{Idle, Loops, Freeze, Both} }

// Loops reports whether busy loops run.
func (c Condition) Loops() bool { return c == Loops || c == Both }

// Freezes reports whether the program is stopped.
func (c Condition) Freezes() bool { return c == Freeze || c == Both }

type Outcome struct {
	Condition  Condition `json:"condition"`
	Number     int       `json:"run"` // among those of its condition, from 1
	ExitCode   int       `json:"exit_code"`
	Seconds    float64   `json:"seconds"`
	Stops      int       `json:"stops"` // times that the freezer stopped it
	StoppedSec float64   `json:"stopped_s"`
	Said       string    `json:"-"` // its last words
}

// A Run is an outcome with what was measured.
type Run struct {
	Outcome
	Answered bool           `json:"answered"`
	Reasons  []string       `json:"reasons"` // why it is not answered
	Answer   string         `json:"answer,omitempty"`
	Cases    []results.Case `json:"cases"`
}

// NewRun judges a run. sum is what it has written, nil where it wrote nothing.
func NewRun(o Outcome, sum *results.Summary) Run {
	r := Run{Outcome: o, Reasons: []string{}, Cases: []results.Case{}}
	if sum == nil {
		r.Reasons = append(r.Reasons, fmt.Sprintf("no results, exit code %d: %s", o.ExitCode, o.Said))
		return r
	}
	if o.ExitCode != 0 {
		r.Reasons = append(r.Reasons, fmt.Sprintf("exit code %d: %s", o.ExitCode, because(o, *sum)))
	}
	var compared []string
	if sum.Answer != nil {
		r.Answer, compared = sum.Answer.Sentence, sum.Answer.Cases
	}
	r.Cases = append(r.Cases, sum.Cases...)
	if why := disorder(r.Cases, compared); why != "" {
		r.Reasons = append(r.Reasons, why)
	}
	r.Answered = len(r.Reasons) == 0
	return r
}

// exitNoAnswer is with what evbench ends that has measured, but not what was asked.
const exitNoAnswer = 4

// because says what is wrong with the cases of a run that has ended, and its last words
// where it has not come to its end.
func because(o Outcome, sum results.Summary) string {
	if o.ExitCode != exitNoAnswer {
		return o.Said
	}
	var out []string
	for _, c := range sum.Cases {
		if !c.Valid {
			out = append(out, c.Name+" is invalid ("+strings.Join(c.Reasons, "; ")+")")
		}
	}
	if open := results.Open(sum.Cases); len(open) > 0 {
		out = append(out, "unresolved: "+strings.Join(open, ", "))
	}
	if len(out) == 0 {
		return o.Said
	}
	return strings.Join(out, "; ")
}

const same = 1e-6

// disorder says what about the order of the compared cases is not as predicted; "": nothing.
func disorder(cases []results.Case, compared []string) string {
	var all []results.Case
	for _, name := range compared {
		i := slices.IndexFunc(cases, func(c results.Case) bool { return c.Name == name })
		if i < 0 || cases[i].RatioToControl == 0 {
			return name + " was not measured"
		}
		if cases[i].PredictedRatio == 0 {
			return "nothing is predicted for " + name
		}
		all = append(all, cases[i])
	}
	if len(all) == 0 {
		return "nothing is compared"
	}
	for _, a := range all {
		for _, b := range all {
			if a.PredictedRatio+same < b.PredictedRatio && a.RatioToControl >= b.RatioToControl {
				return fmt.Sprintf("wrong order: %s %.3f, %s %.3f; predicted %.3f, %.3f", a.Name, a.RatioToControl, b.Name, b.RatioToControl, a.PredictedRatio, b.PredictedRatio)
			}
		}
	}
	return ""
}

// judged reports whether the ratio can be held against its prediction. Of cases without
// phases the prediction is only an upper bound.
func judged(c results.Case) bool {
	return c.Mode == results.Sync && !c.Control && c.PredictedRatio > 0 && c.RatioToControl > 0
}

func off(c results.Case) float64 { return 100 * math.Abs(c.RatioToControl-c.PredictedRatio) }

// String is the line that tells of the run when it has ended.
func (r Run) String() string {
	text := fmt.Sprintf("%s: answered in %.0f s", r.Condition, r.Seconds)
	if !r.Answered {
		text = fmt.Sprintf("%s: not answered in %.0f s: %s", r.Condition, r.Seconds, brief(strings.Join(r.Reasons, "; ")))
	}
	sep := "; "
	for _, c := range r.Cases {
		if judged(c) {
			text += fmt.Sprintf("%s%s %.3f (predicted %.3f)", sep, c.Name, c.RatioToControl, c.PredictedRatio)
			sep = ", "
		}
	}
	return text
}
