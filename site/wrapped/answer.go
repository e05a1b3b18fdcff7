package wrapped

import (
	"fmt"
	"math"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/results"
)

// goodOfBound is the share of what any schedule can reach from which on calls are good.
const goodOfBound = 0.95

// Answer says what calls of the program take, those that move the most, or how long the exchange takes on a plan that no
// program has followed yet.
func (r *Report) Answer() answer.Answer {
	var e answer.Evidence
	switch {
	case !r.ran && r.order.Verdict != "":
		return r.order
	case !r.ran:
		e.Findings = []answer.Finding{{Text: "the plan has " + show.Plural(r.Phases, "phase", "phases"), Place: answer.At}}
	case len(r.Calls) > 0:
		most := r.Calls[0]
		for _, c := range r.Calls[1:] {
			if c.Bytes*int64(c.Calls) > most.Bytes*int64(most.Calls) {
				most = c
			}
		}
		e.Findings = []answer.Finding{most.finding()}
	}
	return answer.Decide(answer.Wrapped, e)
}

// finding holds calls with the plan beside those without or, where there are none, beside the bound.
func (r Row) finding() (f answer.Finding) {
	call := fmt.Sprintf("MPI_A%s of %s bytes a rank", strings.TrimPrefix(r.Kind, "a"), show.Commas(int(r.Bytes)))
	switch {
	case !r.Plan:
		f.Text = fmt.Sprintf("%s takes %s", call, span(max(r.Before, r.After)))
		f.Doubts = []answer.Doubt{{Text: "it does not follow the plan (--min-size, or what rank 0 says)"}}
		return f
	case r.Before > 0:
		f.Text = fmt.Sprintf("%s takes %s with the plan, %s without", call, span(r.After), span(r.Before))
		f.Place = beside(r.with, r.without).Beside(answer.Limit{Value: 1, Tolerance: results.Tolerance, Upper: true})
		if f.Place == answer.Across {
			f.Doubts = []answer.Doubt{{Text: "too few calls to tell them apart", Remedy: "measure more (--rounds)"}}
		}
		return f
	}
	if f.Text = fmt.Sprintf("%s takes %s with the plan", call, span(r.After)); r.OfBound > 0 {
		f.Text += fmt.Sprintf(", %.0f %% of what is possible", 100*r.OfBound)
		f.Place = answer.Sure(r.OfBound).Beside(answer.Limit{Value: 1, Tolerance: 1 - goodOfBound})
	}
	return f
}

// beside is the ratio of two times with the interval that holds it, unknown where there are too few calls.
func beside(a, b results.Interval) answer.Figure {
	f := answer.Figure{Value: a.Median / b.Median, Lo: math.NaN(), Hi: math.NaN()}
	if a.Known() && b.Known() {
		f.Lo, f.Hi = *a.Lo / *b.Hi, *a.Hi / *b.Lo
	}
	return f
}
