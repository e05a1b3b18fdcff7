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
	takes := answer.Finding{Text: Takes(p, cost), Place: answer.At}
	doubt := func(format string, args ...any) { takes.Doubts = []answer.Doubt{{Text: fmt.Sprintf(format, args...)}} }
	var e answer.Evidence
	least := float64(p.Bound.Phases)
	switch over := cost.Duration - least; {
	case p.Routing == plan.NoRouting:
		doubt("without routes nothing is known of links that messages share")
		e.Next = []string{command(p, "--schedule", p.ScheduleName())}
	case least == 0:
		doubt("the least is not known")
	case over > 0 && !p.Pinned():
		takes.Place, takes.Cause = answer.Below, fmt.Sprintf("messages share links, and %d is the least", p.Bound.Phases)
		e.Next = []string{command(p, "--schedule", schedules.FORS)}
	case over > 0:
		doubt("no plan needs less than %d, and whether one of less than %.6g exists is not known", p.Bound.Phases, cost.Duration)
		e.Why = []string{"bound proven by " + p.Proof()}
	default:
		takes.Cause = "no plan is shorter"
		e.Why = []string{"bound proven by " + p.Proof()}
	}
	if n := p.Tree.Names(); n != nil && n.Guess != "" {
		e.Doubts = []answer.Doubt{{Text: "the share is a guess: " + n.Guess}}
	}
	e.Findings = []answer.Finding{takes}
	return answer.Decide(plan.Asks(p.Tree), e)
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
	switch b := r.Bound; {
	case !r.Valid:
	case r.Optimal():
		return verified(name, &r.Findings, fmt.Sprintf(", and no plan needs fewer than its %s", show.Plural(r.Phases, "phase", "phases")), answer.Evidence{Why: []string{"bound proven by " + b.Kind}})
	case b != nil && b.Proven && b.Gap > 0:
		return verified(name, &r.Findings, fmt.Sprintf("; it has %s more than the bound of %d", show.Plural(b.Gap, "phase", "phases"), b.Phases), answer.Evidence{Why: []string{"bound proven by " + b.Kind}})
	case b != nil && !b.Proven:
		e := answer.Evidence{Next: []string{answer.Typed("evbench", "verify", "--bound", name)}}
		if name == "-" {
			e.Next = nil // standard input is read
		}
		return verified(name, &r.Findings, "; its bound was not checked", e)
	}
	return verified(name, &r.Findings, "", answer.Evidence{})
}

// VerifiedOrdered is Verified of an ordered plan.
func VerifiedOrdered(name string, r *verify.OrderedReport) answer.Answer {
	more := ""
	if b := r.Bound; b != nil && b.Proven {
		switch over := 1/b.Ratio - 1; {
		case over < 1e-9:
			more = ", and no plan takes less time"
		case over < 5e-4:
			more = ", and takes less than 0.1 % longer than the bound"
		default:
			more = fmt.Sprintf(", and takes %s longer than the bound", show.Percent(over))
		}
	}
	return verified(name, &r.Findings, more, answer.Evidence{})
}

func verified(name string, f *verify.Findings, more string, e answer.Evidence) answer.Answer {
	if name == "-" {
		name = "the plan"
	}
	found := answer.Finding{Text: name + " is valid" + more, Place: answer.At}
	if !f.Valid {
		found = answer.Finding{Text: name + " is not valid", Place: answer.Below, Cause: show.Plural(f.Total, "offence", "offences")}
		e.Why = []string{f.Offences[0].Text}
	}
	e.Findings = []answer.Finding{found}
	return answer.Decide(answer.Claims, e)
}
