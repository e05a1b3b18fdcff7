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
	Answered bool     `json:"answered"`
	Reasons  []string `json:"reasons"` // why it is not answered
	Answer   string   `json:"answer,omitempty"`
	Cases    []Case   `json:"cases"`
}

// A Case is what one case of a run came to. The control is among them for its slices.
type Case struct {
	Name      string   `json:"name"`
	Mode      string   `json:"mode"`
	Control   bool     `json:"control,omitempty"`
	Compared  bool     `json:"compared"`
	Predicted float64  `json:"predicted_ratio"` // 0: nothing is predicted
	Ratio     float64  `json:"ratio_to_control"`
	Lo        *float64 `json:"lo"` // of the interval of the ratio; nil, and Hi, where there is none
	Hi        *float64 `json:"hi"`
	Verdict   string   `json:"verdict"`
	Rounds    int      `json:"rounds"`   // slices that count
	Rejected  int      `json:"rejected"` // slices that do not
}

// NewRun judges a run. sum is what it has written, nil where it wrote nothing.
func NewRun(o Outcome, sum *results.Summary) Run {
	r := Run{Outcome: o, Reasons: []string{}, Cases: []Case{}}
	if sum == nil {
		r.Reasons = append(r.Reasons, fmt.Sprintf("no results, exit code %d: %s", o.ExitCode, o.Said))
		return r
	}
	if o.ExitCode != 0 {
		r.Reasons = append(r.Reasons, fmt.Sprintf("exit code %d: %s", o.ExitCode, because(o, *sum)))
	}
	var compared []string
	if sum.Answer != nil {
		r.Answer, compared = sum.Answer.Text, sum.Answer.Cases
	}
	for _, c := range sum.Cases {
		r.Cases = append(r.Cases, newCase(c, compared))
	}
	if why := disorder(r.Cases, compared); why != "" {
		r.Reasons = append(r.Reasons, why)
	}
	r.Answered = len(r.Reasons) == 0
	return r
}

func newCase(c results.Case, compared []string) Case {
	out := Case{
		Name: c.Name, Mode: c.ShortMode(), Control: c.Control, Compared: slices.Contains(compared, c.Name),
		Predicted: c.PredictedRatio, Ratio: c.RatioToControl, Verdict: c.Verdict, Rounds: c.Rounds, Rejected: c.Rejected,
	}
	if e := c.Estimate; e != nil && e.Of == results.OfRatio {
		out.Lo, out.Hi = e.Lo, e.Hi
	}
	return out
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
func disorder(cases []Case, compared []string) string {
	var all []Case
	for _, name := range compared {
		i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
		if i < 0 || cases[i].Ratio == 0 {
			return name + " was not measured"
		}
		if cases[i].Predicted == 0 {
			return "nothing is predicted for " + name
		}
		all = append(all, cases[i])
	}
	if len(all) == 0 {
		return "nothing is compared"
	}
	for _, a := range all {
		for _, b := range all {
			if a.Predicted+same < b.Predicted && a.Ratio >= b.Ratio {
				return fmt.Sprintf("wrong order: %s %.3f, %s %.3f; predicted %.3f, %.3f", a.Name, a.Ratio, b.Name, b.Ratio, a.Predicted, b.Predicted)
			}
		}
	}
	return ""
}

// judged reports whether the ratio can be held against its prediction. Of cases without
// phases the prediction is only an upper bound.
func (c Case) judged() bool {
	return c.Mode == "sync" && !c.Control && c.Predicted > 0 && c.Ratio > 0
}

func (c Case) points() float64 { return 100 * math.Abs(c.Ratio-c.Predicted) }

// String is the line that tells of the run when it has ended.
func (r Run) String() string {
	text := fmt.Sprintf("%s: answered in %.0f s", r.Condition, r.Seconds)
	if !r.Answered {
		text = fmt.Sprintf("%s: not answered in %.0f s: %s", r.Condition, r.Seconds, brief(strings.Join(r.Reasons, "; ")))
	}
	sep := "; "
	for _, c := range r.Cases {
		if c.judged() {
			text += fmt.Sprintf("%s%s %.3f (predicted %.3f)", sep, c.Name, c.Ratio, c.Predicted)
			sep = ", "
		}
	}
	return text
}
