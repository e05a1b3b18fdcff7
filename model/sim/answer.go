package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/results"
)

// mostSchedules is the number of schedules that the answer to a simulation compares.
const mostSchedules = 3

// simulated is the answer of a simulation. It compares the schedules by the shares of the link rate
// that they keep. If there is one, or many, or a case has none, it names the best and the worst case.
func simulated(cases []results.Case) *results.Answer {
	a := &results.Answer{Cases: []string{}}
	by := func(x, y results.Case) int { return cmp.Compare(x.MeasuredEfficiency, y.MeasuredEfficiency) }
	most, least := slices.MaxFunc(cases, by), slices.MinFunc(cases, by)
	a.Question, a.Verdict = "What would these plans reach?", answer.Good
	var schedules []string
	of := map[string][]results.Case{}
	for _, c := range cases {
		if of[c.Schedule] == nil {
			schedules = append(schedules, c.Schedule)
		}
		of[c.Schedule] = append(of[c.Schedule], c)
	}
	var parts []string
	if len(schedules) < 2 || len(schedules) > mostSchedules || len(schedules) == len(cases) || of[""] != nil {
		parts = []string{fmt.Sprintf("%s would reach %.1f %% of the link rate", most.Name, 100*most.MeasuredEfficiency)}
		if len(cases) > 1 {
			parts = append(parts, fmt.Sprintf("the most of %d cases; %s %.1f %%, the least", len(cases), least.Name, 100*least.MeasuredEfficiency))
		}
		schedules = nil
	}
	for i, name := range schedules {
		low, high := slices.MinFunc(of[name], by).MeasuredEfficiency, slices.MaxFunc(of[name], by).MeasuredEfficiency
		share := fmt.Sprintf("%.1f to %.1f %%", 100*low, 100*high)
		if len(of[name]) == 1 {
			share = fmt.Sprintf("%.1f %%", 100*low)
		}
		if i == 0 {
			share = "keeps " + share + " of the link rate"
		}
		parts = append(parts, fmt.Sprintf("%s %s", names.Replace(name), share))
	}
	if a.Sentence = strings.Join(parts, ", ") + "."; len(schedules) > 0 {
		a.Sentence = withDead(cases) + a.Sentence
	}
	models := map[string]bool{}
	for _, c := range cases {
		models[c.Simulated] = true
	}
	what := "model "
	if len(models) > 1 {
		what = "models "
	}
	a.Why = []string{"simulated, not measured: " + what + strings.Join(slices.Sorted(maps.Keys(models)), " and ")}
	if p := most.PredictedEfficiency; p > 0 && most.MeasuredEfficiency < results.GoodFrom*p {
		a.Why = append(a.Why, fmt.Sprintf("%s: predicted %.3f is what the loads of links allow; the simulation adds to each phase sim.overhead, jitter and the barrier, and gets %.3f",
			most.Name, p, most.MeasuredEfficiency))
	}
	if most.MeasuredEfficiency == 0 {
		a.Verdict, a.Sentence = answer.Unknown, "The rate of the links is not known, so the throughput of these plans is not known."
	}
	a.Best(cases)
	a.Doubt(cases, nil)
	return a
}

// names puts names of schedules into words.
var names = strings.NewReplacer("linear-shift-ports", "linear shift by port", "linear-shift", "linear shift", "fors", "FORS")

// withDead says how many links are dead at most, "" where none is.
func withDead(cases []results.Case) string {
	most := 0
	for _, c := range cases {
		most = max(most, len(c.Failures))
	}
	if most == 0 {
		return ""
	}
	return "With up to " + show.Plural(most, "dead link", "dead links") + " "
}

// answerOf is the answer of a simulation, nil without cases.
func answerOf(cases []results.Case) *results.Answer {
	if len(cases) == 0 || slices.ContainsFunc(cases, func(c results.Case) bool { return len(c.Failovers) > 0 }) {
		return results.NewAnswer(cases, nil, 0)
	}
	return simulated(cases)
}
