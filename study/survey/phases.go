package survey

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// phaseSchedules are the columns of Phases: the first three stay the same and collide, the repairs
// move colliding messages, fors plans anew.
var phaseSchedules = []string{
	schedules.LinearShift, schedules.LinearShiftPorts, schedules.BandwidthOptimal,
	schedules.RepairPrefix + schedules.BandwidthOptimal, schedules.FORSClosed, schedules.FORS,
}

// A PhasesRow is the number of phases of each schedule at one reduction.
type PhasesRow struct {
	Reduction int
	All       bool // all leaves are reduced, not only leaf 0
	// Phases and Refused go by schedule: 0 phases where Refused says why the schedule does not
	// exist.
	Phases  []int
	Refused []string
	Bound   scheduler.Bound // of a schedule without contention
}

// Phases returns rows as Slowdown does, for the named schedules, with the links of a level
// reduced (ReducedAt).
func Phases(run Run, t *topology.Tree, level int, schedules []string, seed uint64) ([]PhasesRow, error) {
	if err := plannable(t); err != nil {
		return nil, err
	}
	if _, err := ReducedAt(t, level, 0, false); err != nil {
		return nil, err
	}
	return reductions(run, linksAt(t, level), func(f int, all bool) (PhasesRow, error) {
		r := PhasesRow{Reduction: f, All: all, Phases: make([]int, len(schedules)), Refused: make([]string, len(schedules))}
		reduced, err := ReducedAt(t, level, f, all)
		if err != nil {
			return r, err
		}
		for j, name := range schedules {
			s, _, err := scheduler.ByName(name, reduced, scheduler.Options{Seed: seed, Workers: 1})
			if err != nil {
				r.Refused[j] = err.Error()
			} else {
				r.Phases[j] = s.Phases
			}
		}
		r.Bound = scheduler.LowerBound(reduced, scheduler.Options{})
		return r, nil
	})
}

// PhasesTable is Phases for printing. The closed form is for two levels.
func PhasesTable(run Run, t *topology.Tree, level int, seed uint64) (*Table, error) {
	names := slices.DeleteFunc(slices.Clone(phaseSchedules), func(name string) bool { return name == schedules.FORSClosed && t.Levels() == 3 })
	rows, err := Phases(run, t, level, names, seed)
	if err != nil {
		return nil, err
	}
	where, reduced := Column{"leaves", "leaves_reduced", 0}, "leaves one: leaf0 has lost its highest spines; all: every leaf has"
	if level == 2 {
		where, reduced = Column{"pods", "pods_reduced", 0}, "pods one: pod0 has lost links to its highest top switches, plane by plane; all: every pod has"
	}
	out := &Table{name: "phases", topology: t.Notation(), columns: []Column{
		{"reduction", "reduction_links", 0}, where,
	}, Notes: []string{
		fmt.Sprintf("%s, %d servers: phases of each schedule", t.Notation(), t.Servers()),
		"the linear shifts and bandwidth-optimal ignore dead links and collide; the others do not, and bound is the fewest that such a schedule has",
		reduced,
	}}
	for _, name := range names {
		out.columns = append(out.columns, Column{name, name + "_phases", 0})
	}
	out.columns = append(out.columns, Column{"bound", "bound_phases", 0}, Column{"proof", "bound_kind", 0})
	for _, r := range rows {
		row := []any{r.Reduction, oneOrAll(r.All)}
		for j, n := range r.Phases {
			if row = append(row, n); r.Refused[j] != "" {
				row[len(row)-1] = nil
			}
		}
		out.Add(append(row, r.Bound.Phases, r.Bound.String())...)
	}
	for j, name := range names {
		if note := refusals(rows, j); note != "" {
			out.Notes = append(out.Notes, name+": "+note)
		}
	}
	return out, nil
}

func refusals(rows []PhasesRow, j int) string {
	count, first := 0, ""
	for _, r := range rows {
		if why := r.Refused[j]; why != "" {
			count++
			first = cmp.Or(first, why)
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("none in %d of %d rows, first: %s", count, len(rows), first)
}

func oneOrAll(all bool) string {
	if all {
		return "all"
	}
	return "one"
}

var lmcObjectives = []schedules.Objective{schedules.FewestPhases, schedules.FewestPaths, schedules.Balanced}

// An LMCRow is the need of one plan in the switches' tables.
type LMCRow struct {
	Reduction int // spines lost by all leaves
	Objective schedules.Objective
	Phases    int
	Bound     int
	Paths     routing.Paths
}

// LMC plans every objective at reductions f = 0..most of all leaves.
func LMC(run Run, t *topology.Tree, most int, seed uint64) ([]LMCRow, error) {
	if err := plannable(t); err != nil {
		return nil, err
	}
	return rows(run, (most+1)*len(lmcObjectives), nil, func(i int) (LMCRow, error) {
		r := LMCRow{Reduction: i / len(lmcObjectives), Objective: lmcObjectives[i%len(lmcObjectives)]}
		reduced, err := Reduced(t, r.Reduction, true)
		if err != nil {
			return r, err
		}
		s, bound, err := scheduler.ByName(schedules.FORS, reduced, scheduler.Options{Seed: seed, Workers: 1, Objective: r.Objective})
		if err != nil {
			return r, err
		}
		r.Phases, r.Bound = s.Phases, bound.Phases
		r.Paths = routing.CountPaths(reduced, pinnedPaths(reduced, s))
		return r, nil
	})
}

// LMCTable is LMC for printing.
func LMCTable(run Run, t *topology.Tree, most int, seed uint64) (*Table, error) {
	rows, err := LMC(run, t, most, seed)
	if err != nil {
		return nil, err
	}
	out := &Table{name: "lmc", topology: t.Notation(), Notes: []string{
		fmt.Sprintf("%s, %d servers: what a plan of fors needs of InfiniBand switches, by reduction of all leaves", t.Notation(), t.Servers()),
		"most paths: distinct spines from one leaf to one server; LIDs: one per path and server, and the switches (thesis 6.7.2)",
		"the thesis takes LMC 5 for FT(2;20,18); its program for the least did not finish (6.7.2)",
	}, columns: []Column{
		{"reduction", "reduction_links", 0}, {"objective", "objective", 0}, {"phases", "phases", 0}, {"bound", "bound_phases", 0},
		{"most paths", "most_paths", 0}, {"LMC", "lmc_bits", 0}, {"LIDs", "lids", 0}, {"LFT entries", "lft_entries_per_switch", 0},
	}}
	for _, r := range rows {
		out.Add(r.Reduction, string(r.Objective), r.Phases, r.Bound, r.Paths.Most, r.Paths.LMC, r.Paths.LIDs, r.Paths.Entries)
	}
	return out, nil
}
