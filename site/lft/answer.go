package lft

import (
	"fmt"

	"evbench/internal/answer"
	"evbench/internal/show"
)

// Answer says whether all hosts reach each other over the tables without a deadlock, and how long
// the linear shift takes over them.
func (r *Examination) Answer() answer.Answer {
	a := answer.Answer{Question: "Do these tables connect all hosts?", Verdict: answer.Of(r.Valid && r.Deadlocks.Free())}
	pairs, reach, not := "pairs of hosts", "reach each other", "do not reach each other"
	if r.LIDs > r.Hosts {
		pairs, reach, not = "pairs of a host and a LID of another", "have a route", "have none"
	}
	switch {
	case r.Unreachable > 0:
		a.Sentence = fmt.Sprintf("%d of %d %s %s.", r.Unreachable, r.Pairs, pairs, not)
	case r.NoLID > 0:
		a.Sentence = fmt.Sprintf("%d of %d %s %s, and %d have no route: %s has no LID.",
			r.Pairs, r.Pairs+r.NoLID, pairs, reach, r.NoLID, r.Unnamed)
	case r.OtherUnreachable > 0:
		a.Sentence = fmt.Sprintf("All %d %s %s, but %s.", r.Pairs, pairs, reach, r.othersMissed())
	case !r.Valid:
		a.Sentence = fmt.Sprintf("%s an entry that is wrong.", show.Plural(len(r.Offences), "route has", "routes have"))
	case !r.Deadlocks.Free():
		a.Sentence = fmt.Sprintf("All %d %s %s, but packets can block each other in a cycle.", r.Pairs, pairs, reach)
		a.Why = []string{"a lossless network with these tables can deadlock"}
	case r.Shift == nil:
		a.Sentence = fmt.Sprintf("All %d %s %s, without a deadlock.", r.Pairs, pairs, reach)
	case r.Shift.Conflicts == 0:
		a.Sentence = fmt.Sprintf("All %d %s %s, without a deadlock; an all-to-all by shifts (rank r to r+p in step p) shares no cable.", r.Pairs, pairs, reach)
	default:
		a.Sentence = fmt.Sprintf("All %d %s %s, without a deadlock; an all-to-all by shifts (rank r to r+p in step p) takes %.3f times as long as without shared cables.", r.Pairs, pairs, reach, r.Shift.exchange(r.Hosts))
	}
	if r.NoLID > int64(r.Hosts-1) {
		a.Why = []string{fmt.Sprintf("%d hosts have no LID", r.NoLID/int64(r.Hosts-1))}
	}
	if !r.Valid && len(r.Offences) > 0 {
		a.Why = []string{"route " + r.Offences[0].Text}
	}
	return a
}
