package plans

import (
	"fmt"
	"io"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/plan/promise"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Describe prints what a plan promises.
func Describe(w io.Writer, p *plan.Plan, cost plan.Cost, m promise.Promise) {
	fmt.Fprintf(w, "%s, %s, %s dead, schedule %s, routing %s%s\n",
		p.Tree.Notation(), p.Tree.ServersText(), p.Tree.DeadText(), p.ScheduleName(), p.Routing, aim(p))
	if p.Schedule.Moved > 0 {
		fmt.Fprintf(w, "moved %s of %s messages to other phases\n", show.Commas(p.Schedule.Moved), show.Commas(p.Messages()))
	}
	if len(p.Unreachable) > 0 {
		pairs := lists.Map(p.Unreachable, func(c [2]int) string { return fmt.Sprintf("leaf%d and leaf%d", c[0], c[1]) })
		fmt.Fprintf(w, "left out: the messages between %s, which share no live path\n", strings.Join(pairs, ", "))
	}
	if p.Routing == plan.NoRouting {
		fmt.Fprintf(w, "phases %d, bound %s; without routes contention is not checked\n", p.Phases(), m.Bound())
		return
	}
	fmt.Fprintf(w, "phases %d, duration %.6g message times, bound %s\n", p.Phases(), cost.Duration, m.Bound()+onePath(p, m))
	if p.Paths != (topology.Paths{}) {
		fmt.Fprintf(w, "paths at most %d %s from a leaf to a server: LMC %d, %s LIDs, %s LFT entries per switch\n",
			p.Paths.Most, pathNoun(p), p.Paths.LMC, show.Commas(p.Paths.LIDs), show.Commas(p.Paths.Entries))
	}
	fmt.Fprintf(w, "predicted efficiency synchronised %.3f, unsynchronised ", cost.Synchronised())
	if p.Routing == routing.ECMP {
		fmt.Fprintf(w, "%.3f, mean of %d draws of paths (%.3f to %.3f)\n", cost.Unsynchronised(), plan.ECMPDraws, cost.Drawn[0], cost.Drawn[1])
	} else {
		fmt.Fprintf(w, "at most %.3f\n", cost.Unsynchronised())
	}
	m.Describe(w)
}

// onePath says how far a plan with one path from each leaf to each server, which takes more than the bound, is from the fewest
// phases of such plans.
func onePath(p *plan.Plan, m promise.Promise) string {
	if m.Slow.Any() || !p.Pinned() || m.Least == 0 || m.Attained() {
		return ""
	}
	least, leaf := scheduler.OnePathBound(p.Tree, p.Bound)
	if p.Paths.Most != 1 || leaf == scheduler.None {
		return ""
	}
	return fmt.Sprintf(", %d above that of one path from a leaf to a server (%d, leaf%d)", p.Phases()-least, least, leaf)
}

func aim(p *plan.Plan) string {
	if p.Objective == "" || p.Objective == schedules.FewestPhases {
		return ""
	}
	return ", objective " + string(p.Objective)
}

func pathNoun(p *plan.Plan) string {
	noun := "spine"
	if p.Tree.Paths() > p.Tree.Spines() {
		noun = "path"
	}
	if p.Paths.Most != 1 {
		noun += "s"
	}
	return noun
}
