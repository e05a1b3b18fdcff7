// Package plans answers: what does a plan promise, in words and as JSON, and what did a judge find in one?
package plans

import (
	"fmt"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/scheduler/schedules"
)

// Takes says how long a plan takes.
func Takes(p *plan.Plan, cost plan.Cost) string {
	if p.Routing == plan.NoRouting {
		return show.Plural(p.Phases(), "phase", "phases")
	}
	what := "messages"
	if cost.Duration == 1 {
		what = "message"
	}
	return fmt.Sprintf("The exchange by %s takes as long as %.6g %s in a row, %s of the link rate", named(p), cost.Duration, what, show.Percent(cost.Synchronised()))
}

// Answer says what a plan promises: how long it takes, and how far that is from the least, where all
// links have one rate.
func Answer(p *plan.Plan, cost plan.Cost) answer.Answer {
	a := plan.Question(p.Tree)
	a.Sentence = Takes(p, cost)
	if p.Routing == plan.NoRouting {
		a.Verdict = answer.Unknown
		a.Sentence += "; without routes nothing is known of links that messages share."
		a.Next = []string{command(p, "--schedule", p.ScheduleName())}
		return a
	}
	least := float64(p.Bound.Phases)
	switch over := cost.Duration - least; {
	case least == 0:
		a.Verdict = answer.Unknown
		a.Sentence += "; the least is not known."
	case over <= 0:
		a.Verdict = answer.Good
		a.Sentence += ": no plan is shorter."
		a.Why = []string{"bound proven by " + p.Proof()}
	case p.Pinned():
		a.Verdict = answer.Unknown
		a.Sentence += fmt.Sprintf(": no plan needs less than %d, and whether one of less than %.6g exists is not known.", p.Bound.Phases, cost.Duration)
		a.Why = []string{"bound proven by " + p.Proof()}
	default:
		a.Verdict = answer.Bad
		a.Sentence += fmt.Sprintf(": messages share links, and %d is the least.", p.Bound.Phases)
		a.Next = []string{command(p, "--schedule", schedules.FORS)}
	}
	if n := p.Tree.Names(); n != nil && n.Guess != "" {
		a.Verdict, a.Sentence = answer.Unknown, a.Sentence+" The share is a guess: "+n.Guess+"."
	}
	return a
}

func named(p *plan.Plan) string {
	if p.Pinned() {
		return p.ScheduleName()
	}
	return p.ScheduleName() + " over " + p.Routing
}

// command is the command that plans for the same tree in another way.
func command(p *plan.Plan, more ...string) string {
	return answer.Typed(append(append([]string{"evbench", "plan"}, plan.TreeFlags(p.Tree)...), more...)...)
}

// Verified says what a judge found in a plan for equal fragments in the file of that name.
func Verified(name string, r *verify.Report) answer.Answer {
	a := verified(name, &r.Findings)
	switch {
	case !r.Valid:
	case r.Optimal():
		a.Sentence += fmt.Sprintf(", and no plan needs fewer than its %s.", show.Plural(r.Phases, "phase", "phases"))
		a.Why = []string{"bound proven by " + r.Bound.Kind}
	case r.Bound != nil && r.Bound.Proven && r.Bound.Gap > 0:
		a.Sentence += fmt.Sprintf("; it has %s more than the bound of %d.", show.Plural(r.Bound.Gap, "phase", "phases"), r.Bound.Phases)
		a.Why = []string{"bound proven by " + r.Bound.Kind}
	case r.Bound != nil && !r.Bound.Proven:
		a.Sentence += "; its bound was not checked."
		a.Next = []string{answer.Typed("evbench", "verify", "--bound", name)}
	default:
		a.Sentence += "."
	}
	return a
}

// VerifiedOrdered is Verified of an ordered plan.
func VerifiedOrdered(name string, r *verify.OrderedReport) answer.Answer {
	a := verified(name, &r.Findings)
	switch {
	case !r.Valid:
	case r.Bound != nil && r.Bound.Proven:
		a.Sentence += fmt.Sprintf(", and takes %s longer than the bound.", show.Percent(1/r.Bound.Ratio-1))
	default:
		a.Sentence += "."
	}
	return a
}

func verified(name string, f *verify.Findings) answer.Answer {
	if name == "-" {
		name = "The plan"
	}
	a := answer.Answer{Question: "Is this plan what it claims to be?", Verdict: answer.Of(f.Valid), Sentence: name + " is valid"}
	if !f.Valid {
		a.Sentence = fmt.Sprintf("%s is not valid: %s.", name, show.Plural(f.Total, "offence", "offences"))
		a.Why = []string{f.Offences[0].Text}
	}
	return a
}
