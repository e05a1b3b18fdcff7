package results

import (
	"fmt"
	"math"
	"slices"

	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/internal/answer"
)

// A Found is the highest rate of events that a case takes without dead time, as a search over rates found it. Each of
// its measurements is a case of the summary, or a further slice of one.
type Found struct {
	Case          string     `json:"case"` // of the scenario
	Mode          modes.Mode `json:"mode"`
	Failures      []string   `json:"failures"`
	TakenPerSec   float64    `json:"taken_per_s"`               // the highest rate that was taken, events of all servers together; 0: none was
	RefusedPerSec float64    `json:"refused_per_s"`             // the lowest above it that was not; 0: all were taken
	Finest        float64    `json:"finest"`                    // share of the rate that a measurement shows
	FullPerSec    float64    `json:"full_per_s,omitempty"`      // what the healthy network carries at the link rate; 0: not known
	Predicted     float64    `json:"predicted_per_s,omitempty"` // what simulations of the same search take, else Bound
	Model         string     `json:"predicted_by,omitempty"`    // the model of the simulations; "": there are none
	Bound         float64    `json:"bound_per_s,omitempty"`     // what the plan of the case carries; 0: not known
	LatencySec    float64    `json:"latency_limit_s,omitempty"` // which p99.9 had to keep; 0: any
	Steps         int        `json:"steps"`                     // measurements
	Doubt         string     `json:"doubt,omitempty"`           // why the rate is not known
	At            string     `json:"at,omitempty"`              // the case of the summary that measured the rate taken
}

// place is where the rate lies beside its prediction.
func (f Found) place(tolerance float64) answer.Place {
	if f.Mode != modes.Sync {
		tolerance = ofBound // a bound that nothing without phases need reach
	}
	rate := answer.Figure{Value: f.TakenPerSec, Lo: f.TakenPerSec * (1 - f.Finest), Hi: f.RefusedPerSec}
	if f.Predicted > 0 && rate.Beside(answer.Limit{Value: f.Predicted, Tolerance: tolerance * f.Predicted}) == answer.Below {
		return answer.Below
	}
	return answer.At
}

// Said is what the search found, after the sentences about others.
func (f Found) said(first bool) string {
	text, name := "", Quoted(f.Case)
	rate := fmt.Sprintf("%s (±%.0f %%)", load.RateText(f.TakenPerSec), max(1, math.Ceil(100*f.Finest)))
	of := f.TakenPerSec / f.FullPerSec
	if f.TakenPerSec*(1-f.Finest) <= f.FullPerSec { // a measurement that is too short to show more shows no more
		of = min(of, 1)
	}
	switch {
	case f.FullPerSec == 0:
		return fmt.Sprintf("%s takes %s without dead time", name, rate)
	case first:
		text = fmt.Sprintf("%s takes %s without dead time, %.0f %% of what this network can do", name, rate, 100*of)
	default:
		text = fmt.Sprintf("%s takes %.0f %%", name, 100*of)
	}
	if n := len(f.Failures); n > 0 {
		text = "with " + number(n, "dead cable ", "dead cables ") + text
	}
	return text
}

// detail has the figures of a search.
func (f Found) detail(events uint64) string {
	text := fmt.Sprintf("%s: %s is taken, %s is not", Quoted(f.Case), load.RateText(f.TakenPerSec), load.RateText(f.RefusedPerSec))
	if f.LatencySec > 0 {
		text += fmt.Sprintf(" with p99.9 within %.3g ms", 1e3*f.LatencySec)
	}
	text += ", each twice"
	if f.Predicted > 0 {
		text += fmt.Sprintf("; measured over predicted: %.3f of %s", f.TakenPerSec/f.Predicted, load.RateText(f.Predicted))
	}
	if f.Model != "" && f.Bound > 0 {
		text += fmt.Sprintf(" (model %s), bound %s", f.Model, load.RateText(f.Bound))
	}
	if events > 0 {
		text += fmt.Sprintf("; none of %d events was refused: dead time below %.2g %%, with 95 %% confidence", events, 100*deadBelow/float64(events))
	}
	return text
}

// deadBelow over the events of which none was refused is a share that theirs is not above, with 95 % confidence, where
// events are refused independently (the rule of three).
const deadBelow = 3.0

// searched is evidence of a run that searched for rates: most of its cases were offered too much, and only those that
// were taken tell.
func (r *reading) searched() (q answer.Question, e answer.Evidence, subjects []int) {
	e.Findings, e.Why, subjects = r.searches()
	lost, wrong := r.wrong(subjects)
	e.Doubts, e.Findings = wrong, slices.Concat(lost, e.Findings)
	return answer.Knee, e, subjects
}

// searches states the highest rates that searches found.
func (r *reading) searches() (out []answer.Finding, why []string, subjects []int) {
	tolerance := ofLab
	if r.hosts() {
		tolerance = Tolerance
	}
	for _, f := range r.Found {
		at := slices.IndexFunc(r.cases, func(c Case) bool { return c.Name == f.At })
		if f.Doubt != "" {
			doubt := answer.Doubt{Text: f.Doubt, Remedy: "take a longer --duration"}
			if sign := r.machine().sign; sign != "" {
				doubt = answer.Doubt{Text: sign, Remedy: r.quieter()}
			}
			text := Quoted(f.Case)
			if f.TakenPerSec > 0 {
				text += " takes " + load.RateText(f.TakenPerSec) + ", perhaps more"
			}
			out = append(out, answer.Finding{Text: text, Place: answer.Across, Doubts: []answer.Doubt{doubt}})
			continue
		}
		finding := answer.Finding{Text: f.said(len(out) == 0), Place: f.place(tolerance)}
		if finding.Place == answer.Below {
			finding.Text += fmt.Sprintf(", %.0f %% predicted", 100*f.Predicted/f.FullPerSec)
			if r.doubts(1 - f.RefusedPerSec/f.Predicted) {
				finding.Doubts = []answer.Doubt{{Text: r.machine().sign, Remedy: r.quieter()}}
			}
		}
		events := uint64(0)
		if at >= 0 {
			subjects = append(subjects, at)
			if o := r.cases[at].Offered; o.Refused == 0 {
				events = o.Offered
			}
		}
		out, why = append(out, finding), append(why, f.detail(events))
	}
	return out, why, subjects
}
