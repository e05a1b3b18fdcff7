package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"evbench/plan"
	"evbench/routing/twolevel"
	"evbench/scheduler"
)

// describePlan prints what a plan promises.
func describePlan(w io.Writer, p *plan.Plan, cost plan.Cost) {
	fmt.Fprintf(w, "%s, %d servers, %s dead, schedule %s, routing %s%s\n",
		p.Notation(), p.Tree.Servers(), deadLinks(p), p.ScheduleName(), p.Routing, aim(p))
	if p.Schedule.Moved > 0 {
		fmt.Fprintf(w, "moved %s of %s messages to other phases\n", commas(p.Schedule.Moved), commas(p.Messages()))
	}
	if len(p.Unreachable) > 0 {
		fmt.Fprintf(w, "left out: the messages between %s, which share no live path\n", leafPairs(p.Unreachable))
	}
	if p.Routing == plan.NoRouting {
		fmt.Fprintf(w, "phases %d, bound %s; without routes nothing is said about contention\n", p.Phases(), bound(p))
		return
	}
	fmt.Fprintf(w, "phases %d, duration %.6g message times, bound %s\n", p.Phases(), cost.Duration, verdict(p, cost))
	if p.Paths != (twolevel.Paths{}) {
		fmt.Fprintf(w, "paths at most %d %s from a leaf to a server: LMC %d, %s LIDs, %s LFT entries per switch\n",
			p.Paths.Most, pathNoun(p), p.Paths.LMC, commas(p.Paths.LIDs), commas(p.Paths.Entries))
	}
	fmt.Fprintf(w, "predicted efficiency synchronised %.3f, unsynchronised at most %.3f\n", cost.Synchronised(), cost.Unsynchronised())
}

// verdict says how far a plan is from the fewest message times. Where messages
// meet on links, it is their duration that the bound also holds for.
func verdict(p *plan.Plan, cost plan.Cost) string {
	over := cost.Duration - float64(p.Bound.Phases)
	switch {
	case p.Bound.Phases == 0:
		return bound(p)
	case over <= 0:
		return fmt.Sprintf("%d: optimal (proven by %s)", p.Bound.Phases, p.Proof())
	case p.Pinned():
		return fmt.Sprintf("%d: gap %.6g above the bound (%s)", p.Bound.Phases, over, p.Proof())
	}
	return fmt.Sprintf("%d: %.6g message times above the bound (%s)", p.Bound.Phases, over, p.Proof())
}

// bound names the lower bound and what proves it.
func bound(p *plan.Plan) string {
	if p.Bound.Phases == 0 {
		return "not known"
	}
	return fmt.Sprintf("%d (%s)", p.Bound.Phases, p.Proof())
}

// aim names an objective other than the usual one.
func aim(p *plan.Plan) string {
	if p.Objective == "" || p.Objective == scheduler.FewestPhases {
		return ""
	}
	return ", objective " + string(p.Objective)
}

func deadLinks(p *plan.Plan) string {
	t := p.Tree
	lower := fmt.Sprintf("%d of %d links", len(t.Dead()), t.Leaves()*t.Spines())
	if p.Pods == nil {
		return lower
	}
	return fmt.Sprintf("%s and %d of %d top links", lower, len(p.Pods.DeadTops()), p.Pods.Pods()*t.Spines()*p.Pods.Tops())
}

func pathNoun(p *plan.Plan) string {
	noun := "spine"
	if p.Pods != nil {
		noun = "path"
	}
	if p.Paths.Most != 1 {
		noun += "s"
	}
	return noun
}

func leafPairs(pairs [][2]int) string {
	out := make([]string, len(pairs))
	for i, c := range pairs {
		out[i] = fmt.Sprintf("leaf%d and leaf%d", c[0], c[1])
	}
	return strings.Join(out, ", ")
}

// commas writes a number in groups of three digits.
func commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
