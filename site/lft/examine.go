package lft

import (
	"fmt"
	"io"

	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/site/network"
)

// An Examination is the full result for tables.
type Examination struct {
	Schema string `json:"schema"`
	Valid  bool   `json:"valid"`
	*Report
	Deadlocks    *Deadlocks    `json:"deadlocks"`
	Loads        *Loads        `json:"loads,omitempty"`
	Weighted     *WeightedLoad `json:"weighted,omitempty"`
	Alternatives *Alternatives `json:"alternatives,omitempty"`
	Shift        *Congestion   `json:"shift,omitempty"`
	Permutations *Congestion   `json:"permutations,omitempty"`
	Bisections   *Congestion   `json:"bisections,omitempty"`
	Notes        []string      `json:"notes,omitempty"`

	noLanes bool
	lost    bool // the form of the tables has no lanes
	levels  *levels
	lacking []answer.Doubt // what the tables lack, where a pair has no route for that reason
}

// allShifts is the number of hosts up to which all phases of the shift are
// followed: some seconds.
const (
	allShifts  = 4096
	someShifts = 512
)

// An Extent limits the examination of tables.
type Extent struct {
	Roots        []network.Node // nil: they are found
	First        int            // offences that are named
	Permutations int
	Bisections   int
	ReachOnly    bool // only whether routes arrive, and deadlocks
	LanesLost    bool // the form in which the tables are written has no lanes
	Seed         uint64
	Weights      *Weights                     // nil: none are given
	Disconnected func(a, b network.Node) bool // as of Options
}

// Examine examines tables: reach, loops, deadlocks, loads and congestion.
func Examine(t *Tables, x Extent) *Examination {
	r := &Examination{Schema: "evbench/routes-check/1"}
	ranks, err := network.Ranks(t.Net, x.Roots)
	if err != nil {
		ranks = nil
		r.Notes = append(r.Notes, "up and down are not known: "+err.Error())
	}
	if t.Net.Adaptive {
		r.Notes = append(r.Notes, "switches route adaptively: messages take other ways than those of the tables, too")
	}
	r.Report = Check(t, Options{Ranks: ranks, First: x.First, Disconnected: x.Disconnected})
	r.Valid = r.OK() && r.NoLID == 0
	r.Deadlocks = Deadlock(t)
	r.noLanes, r.lost, r.levels = t.NoLanes, x.LanesLost && t.Lanes() > 1, t.sl
	if r.Unreachable == r.NoEntry && r.NoLID == 0 {
		r.lacking = lacks(t)
	}
	if x.ReachOnly || r.Disconnected > 0 {
		return r // no exchange goes over networks that nothing joins
	}
	hosts, seed := t.Net.Hosts(), x.Seed
	r.Loads = Load(t)
	if x.Weights != nil {
		r.Weighted = LoadWeighted(t, x.Weights)
	}
	r.Alternatives = Minimal(t.Net)
	shifts := hosts
	if hosts > allShifts {
		shifts = someShifts
	}
	r.Shift = Congest(t, SomeShifts(hosts, shifts, seed))
	if n := x.Permutations; n > 0 {
		r.Permutations = Congest(t, Permutations(n, seed))
	}
	if n := x.Bisections; n > 0 {
		r.Bisections = Congest(t, Bisections(n, seed))
	}
	return r
}

func (r *Examination) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %d hosts, %d switches, engine %s\n", r.Network, r.Hosts, r.Switches, r.Engine)
	r.writeReach(w)
	r.writeDeadlocks(w)
	if l := r.Loads; l != nil {
		fmt.Fprintf(w, "all-to-all: %d routes on %s, mean %.4g on each of %d cables and directions, %d unused\n", l.Max, l.Port, l.Mean, l.Cables, l.Unused)
	}
	if l := r.Weighted; l != nil {
		fmt.Fprintf(w, "weighted all-to-all: %.6g on %s, mean %.4g\n", l.Max, l.Port, l.Mean)
	}
	if a := r.Alternatives; a != nil && a.Pairs > 0 {
		fmt.Fprintf(w, "shortest ways between leaves begin at %.4g ports, at least %d\n", a.Mean, a.Least)
	}
	if s := r.Shift; s != nil {
		fmt.Fprintf(w, "%s: slowdown %.3f, up to %d routes on a cable, %d of %d phases share one\n", s.Pattern, s.Slowdown, s.Worst, s.Conflicts, s.Phases)
	}
	if p := r.Permutations; p != nil {
		fmt.Fprintf(w, "%d %s: slowdown %.3f, up to %d routes on a cable, mean %.3f\n", p.Phases, p.Pattern, p.Slowdown, p.Worst, p.Mean)
	}
	if b := r.Bisections; b != nil {
		fmt.Fprintf(w, "%d %s: effective bandwidth %.3f, least share of a message %.3f\n", b.Phases, b.Pattern, b.Throughput, b.Least)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, o := range r.Offences {
		fmt.Fprintln(w, "route", o.Text)
	}
	if more := r.Unreachable + r.OtherUnreachable + r.UpAfterDown - int64(len(r.Offences)); more > 0 && len(r.Offences) > 0 {
		fmt.Fprintf(w, "… %d pairs in all\n", r.Unreachable+r.OtherUnreachable+r.UpAfterDown)
	}
	return err
}

func (r *Examination) writeReach(w io.Writer) {
	if r.OK() && r.NoLID > 0 {
		fmt.Fprintf(w, "reach: %d of %d pairs; %d to hosts without a LID\n", r.Pairs, r.Pairs+r.NoLID, r.NoLID)
	} else if r.OK() {
		fmt.Fprintf(w, "reach: all %d pairs\n", r.Pairs)
	} else {
		fmt.Fprintf(w, "reach: %d of %d pairs NOT: no entry %d, dead port %d, loop %d, wrong host %d, no cable %d\n",
			r.Unreachable, r.Pairs, r.NoEntry, r.DeadPorts, r.Loops, r.WrongHost, r.NoCable)
	}
	if r.Disconnected > 0 {
		fmt.Fprintf(w, "in different networks, without a way by design: %d pairs\n", r.Disconnected)
	}
	switch {
	case r.OtherUnreachable > 0:
		fmt.Fprintf(w, "no hosts, but with LIDs: %s\n", r.othersMissed())
	case r.Others > 0:
		fmt.Fprintf(w, "no hosts, but with LIDs: %s, which all leaves reach\n", show.Plural(r.Others, "node", "nodes"))
	}
	fmt.Fprint(w, "switches on a route:")
	for hops, pairs := range r.Hops {
		if pairs > 0 {
			fmt.Fprintf(w, " %d×%d", hops, pairs)
		}
	}
	fmt.Fprintln(w)
	if r.DeadEntries > 0 {
		fmt.Fprintf(w, "entries to dead ports: %d, used or not\n", r.DeadEntries)
	}
	if r.Ranked {
		fmt.Fprintf(w, "up after down: %d pairs\n", r.UpAfterDown)
	}
}

func (r *Examination) othersMissed() string {
	return fmt.Sprintf("%d of %d routes from a leaf to an aggregation node, a router or the like do not arrive", r.OtherUnreachable, r.OtherPairs)
}

func (r *Examination) writeDeadlocks(w io.Writer) {
	d := r.Deadlocks
	if d.Free() {
		fmt.Fprintf(w, "deadlock: none, %d dependencies, lanes %d\n", d.Dependencies, d.Lanes)
		return
	}
	if r.noLanes {
		fmt.Fprint(w, "deadlock: possible on one lane; which lanes routes take is not known:")
	} else {
		fmt.Fprintf(w, "deadlock: possible on lanes %v of %d:", d.Cyclic, d.Lanes)
	}
	for _, n := range d.Names {
		fmt.Fprintf(w, " %s", n)
	}
	fmt.Fprintln(w)
}

// Answer says whether all hosts reach each other over the tables without a deadlock, and how long
// the linear shift takes over them. A table that is not there, and lanes that nothing says, are no evidence of a fault.
func (r *Examination) Answer() answer.Answer {
	var e answer.Evidence
	pairs, reach, not := "pairs of hosts", "reach each other", "do not reach each other"
	if r.LIDs > r.Hosts {
		pairs, reach, not = "pairs of a host and a LID of another", "have a route", "have none"
	}
	reached := answer.Finding{Text: fmt.Sprintf("all %d %s %s", r.Pairs, pairs, reach), Place: answer.At}
	switch {
	case r.Unreachable > 0:
		reached.Text = fmt.Sprintf("%d of %d %s %s", r.Unreachable+r.NoLID, r.Pairs+r.NoLID, pairs, not)
	case r.NoLID > 0:
		reached.Text = fmt.Sprintf("%d of %d %s %s, and %d have no route: %s has no LID", r.Pairs, r.Pairs+r.NoLID, pairs, reach, r.NoLID, r.Unnamed)
	case r.OtherUnreachable > 0:
		reached.Text = fmt.Sprintf("all %d %s %s, but %s", r.Pairs, pairs, reach, r.othersMissed())
	case !r.Valid:
		reached.Text = fmt.Sprintf("%s an entry that is wrong", show.Plural(len(r.Offences), "route has", "routes have"))
	}
	if !r.Valid {
		reached.Place = answer.Below
		e.Doubts = r.lacking
	} else if lock := r.blocks(); lock != nil {
		e.Doubts = append(e.Doubts, *lock)
	} else if !r.Deadlocks.Free() {
		reached.Text, reached.Place = reached.Text+", but packets can block each other in a cycle", answer.Below
		e.Why = []string{"a lossless network with these tables can deadlock"}
	} else {
		reached.Text += ", without a deadlock" + r.shifts()
	}
	if r.Disconnected > 0 {
		e.Why = append(e.Why, fmt.Sprintf("%d pairs are in different networks and have no way by design: give each network alone for its congestion", r.Disconnected))
	}
	if r.NoLID > int64(r.Hosts-1) {
		e.Why = []string{fmt.Sprintf("%d hosts have no LID", r.NoLID/int64(r.Hosts-1))}
	}
	if !r.Valid && len(r.Offences) > 0 {
		e.Why = []string{"route " + r.Offences[0].Text}
	}
	e.Findings = []answer.Finding{reached}
	return answer.Decide(answer.Connect, e)
}

func (r *Examination) shifts() string {
	switch {
	case r.Shift == nil:
		return ""
	case r.Shift.Conflicts == 0:
		return "; an all-to-all by shifts (rank r to r+p in step p) shares no cable"
	}
	return fmt.Sprintf("; an all-to-all by shifts (rank r to r+p in step p) takes %.3f times as long as without shared cables", r.Shift.exchange(r.Hosts))
}

// blocks says why it is not known whether packets can block each other; nil: it is known.
func (r *Examination) blocks() *answer.Doubt {
	switch {
	case r.lost:
		return &answer.Doubt{Text: fmt.Sprintf("these tables use %d virtual lanes, which this form cannot say", r.Deadlocks.Lanes), Remedy: "use --format json"}
	case !r.Deadlocks.Free() && r.noLanes:
		return &answer.Doubt{Text: "on one lane packets can block each other in a cycle, and a dump has no lanes", Remedy: "give the service levels (--sl)"}
	case r.Deadlocks.Free() && r.levels != nil && r.levels.Missing > 0:
		return &answer.Doubt{Text: fmt.Sprintf("%d pairs have no service level, the first %s", r.levels.Missing, r.levels.first), Remedy: "give all of them"}
	}
	return nil
}

// lacks says which tables a dump does not have, and what its tool said.
func lacks(t *Tables) (all []answer.Doubt) {
	if n := len(t.Missing); n == 1 {
		all = append(all, answer.Doubt{Text: "the dump has no table of " + t.Net.Name(t.Missing[0]), Remedy: "dump it again"})
	} else if n > 1 {
		all = append(all, answer.Doubt{Text: fmt.Sprintf("the dump has no table of %d switches, the first %s", n, t.Net.Name(t.Missing[0])), Remedy: "dump it again"})
	}
	if t.Said != "" {
		all = append(all, answer.Doubt{Text: "an error of the tool is in the dump", Remedy: show.Brief(t.Said)})
	}
	return all
}
