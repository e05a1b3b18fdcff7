// Package plans answers: what does a plan promise, in words and as JSON, and what did a judge find in one?
package plans

import (
	"fmt"
	"slices"

	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/promise"
	"evbench/scheduler/judge"
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

// Answer says how long an exchange takes on a plan, and whether a shorter plan exists.
func Answer(p *plan.Plan, cost plan.Cost, m promise.Promise) answer.Answer {
	takes := answer.Finding{Text: Takes(p, cost), Place: answer.At}
	doubt := func(text string) { takes.Doubts = []answer.Doubt{{Text: text}} }
	e := answer.Evidence{Why: m.Why}
	slow := m.Slow.Any()
	switch {
	case p.Routing == plan.NoRouting && slow:
		takes.Text += fmt.Sprintf(" if %s were not slower", show.Few(lists.Map(slices.Concat(m.Slow.Hosts, m.Slow.Uses), func(x promise.Cable) string { return x.Name })))
		doubt("how long it takes with slower links is not known")
		e.Why, e.Next = nil, []string{command(p, "--schedule", schedules.FORS)}
	case p.Routing == plan.NoRouting:
		doubt("without routes nothing is known of links that messages share")
		e.Why, e.Next = nil, []string{command(p, "--schedule", p.ScheduleName())}
	case m.Least > 0 && !m.Attained() && m.Takes > m.Least && !p.Pinned() && !slow:
		takes.Place, takes.Cause = answer.Below, fmt.Sprintf("messages share links, and %d is the least", p.Bound.Phases)
		e.Why, e.Next = nil, []string{command(p, "--schedule", schedules.FORS)}
	default:
		takes = m.Finding(takes.Text, "")
	}
	if n := p.Tree.Names(); n != nil && n.Guess != "" {
		e.Doubts = []answer.Doubt{{Text: "the share is a guess: " + n.Guess}}
	}
	e.Findings = []answer.Finding{takes}
	return answer.Decide(plan.Asks(&p.Tree.Live), e)
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

// Verified says what a judge found in the plan of the file of that name.
func Verified(name string, r *judge.Report) answer.Answer {
	if name == "-" {
		name = "the plan"
	}
	f, e := answer.Finding{Text: name + " is valid", Place: answer.At}, answer.Evidence{}
	b, takes := r.Bound, show.Plural(r.Phases, "phase", "phases")
	if r.File.Sized() {
		takes = r.Amount(r.Duration)
	}
	if r.Valid && b != nil && b.Proven && !r.File.Sized() || r.File.Over != nil {
		e.Why = proof(r)
	}
	switch {
	case !r.Valid:
		f = answer.Finding{Text: name + " is not valid", Place: answer.Below, Cause: show.Plural(r.Total, "offence", "offences")}
		e.Why = []string{r.Offences[0].Text}
	case r.File.Over != nil:
		f = verifiedOver(name, r)
	case b == nil:
	case b.Proven && b.Value > 0 && (r.File.Sized() || r.Optimal() || b.Gap > 0):
		f.Text += promised(r).Claim(takes)
	case !b.Proven && !r.File.Sized():
		f.Text += "; its bound was not checked"
		if name != "the plan" { // which was read from standard input
			e.Next = []string{answer.Typed("evbench", "verify", "--bound", name)}
		}
	}
	e.Findings = []answer.Finding{f}
	return answer.Decide(answer.Claims, e)
}

// proof says what proves the bound of a report.
func proof(r *judge.Report) []string {
	switch b := r.Bound; {
	case b == nil:
		return nil
	case r.File.Over == nil:
		return []string{"bound proven by " + b.Kind}
	default:
		return []string{b.Kind + " needs " + r.Amount(b.Value)}
	}
}

// verifiedOver is what is found of a valid plan over tables.
func verifiedOver(name string, r *judge.Report) answer.Finding {
	f := answer.Finding{Text: name + " is valid", Place: answer.At}
	switch b := r.Bound; {
	case b == nil && r.File.Sized():
		what, remedy := "tables", "-t NETWORK --tables FILE"
		if r.File.ByPorts() {
			what, remedy = "paths", "--paths FILE"
		}
		f.Text = fmt.Sprintf("in %s each fragment is sent once", name)
		f.Doubts = []answer.Doubt{{Text: "whether messages share links is not known without the " + what, Remedy: "give them (" + remedy + ")"}}
	case b == nil && r.ContentionChecked:
		f.Text = fmt.Sprintf("%s is a plan without contention over these paths, in %s", name, show.Plural(r.Phases, "phase", "phases"))
	case b == nil && r.File.ByPorts():
		f.Text = fmt.Sprintf("in %s each message has one phase, and a host sends and receives one message at a time", name)
		f.Doubts = []answer.Doubt{{Text: "whether messages share links is not known without the paths", Remedy: "give them (--paths FILE)"}}
	case b == nil:
		f.Text = fmt.Sprintf("in %s each message has one phase, and a host sends and receives one message at a time", name)
		f.Doubts = []answer.Doubt{{Text: "whether messages share links is not known without the tables", Remedy: "give them (-t NETWORK --tables FILE)"}}
	default:
		f.Text += promised(r).Claim(r.Amount(r.Duration))
	}
	return f
}

// promised is what the plan of a report takes, beside a bound that the judge has proven.
func promised(r *judge.Report) promise.Promise {
	p := promise.Promise{Kind: promise.Any, Takes: r.Bound.Value + r.Bound.Gap, Least: r.Bound.Value}
	switch {
	case r.File.Over == nil:
	case r.File.ByPorts():
		p.Kind = promise.Ports
	default:
		p.Kind = promise.Tables
	}
	return p
}

// Ring says what the judge found in a host file.
func Ring(name string, r *judge.RingReport) answer.Answer {
	f := answer.Finding{Text: fmt.Sprintf("%s is a ring of %d hosts: %d steps, and no two of its messages share a link", name, r.Hosts, r.Steps), Place: answer.At}
	var why []string
	switch {
	case !r.Valid:
		f = answer.Finding{Text: fmt.Sprintf("%s is not valid: %s", name, r.Offences[0].Text), Place: answer.Below}
		why = lists.Map(r.Offences[1:], func(o judge.Offence) string { return o.Text })
	case !r.Free():
		f = answer.Finding{Text: fmt.Sprintf("%s is a ring of %d hosts that takes as long as %.6g messages in a row, as it states: %s carries %d at once", name, r.Hosts, r.Time, r.Fullest, r.Messages), Place: answer.At}
	}
	if r.Absent > 0 {
		why = append(why, fmt.Sprintf("%s of the network %s no part", show.Plural(r.Absent, "adapter", "adapters"), map[bool]string{true: "takes", false: "take"}[r.Absent == 1]))
	}
	return answer.Decide(answer.Claims, answer.Evidence{Findings: []answer.Finding{f}, Why: why})
}
