package survey

import (
	"fmt"
	"slices"
	"strings"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// The models of Slowdown.
const (
	Count  = "count"  // thesis 5.3, Algorithm 2, corrected: messages of a leaf over its live links
	Routed = "routed" // the link loads of real plans
)

// A SlowdownRow is one bandwidth reduction.
type SlowdownRow struct {
	Reduction int
	All       bool // all leaves are reduced, not only leaf 0
	// Durations in message times: linear-shift, bandwidth-optimal, and the
	// adapted schedule (count: the thesis' fault-adaptive one; routed: fors).
	LinearShift, BandwidthOptimal, Adapted int
	// Ideal is the divisor of durations: S in the count model, as in the thesis; S-1, the phases
	// that every exchange needs, in the routed one.
	Ideal int
	// Phases of the adapted schedule, and of the same without failures.
	Phases, HealthyPhases int
}

// Slowdown returns one row per reduction f = 0..spines-1 with leaf 0 reduced, and
// then one with all leaves reduced. t is a tree without dead links.
//
// In the routed model linear-shift goes over ftree tables, each message of bandwidth-optimal
// through the spine that suits its phase (see spread), and fors through its own. The schedules come
// from scheduler; seed is the seed of fors.
func Slowdown(run Run, t *topology.Tree, model string, seed uint64) ([]SlowdownRow, error) {
	if len(t.Dead()) > 0 {
		return nil, fmt.Errorf("slowdown: %d links are dead already; the table removes links itself", len(t.Dead()))
	}
	if err := plannable(t); err != nil {
		return nil, err
	}
	measure, ok := map[string]func(*topology.Tree, uint64) func(*topology.Tree, *SlowdownRow) error{Count: countMeasure, Routed: routedMeasure}[model]
	if !ok {
		return nil, fmt.Errorf("no model %q; there are %s and %s", model, Count, Routed)
	}
	if t.Levels() == 3 {
		return nil, fmt.Errorf("%s has three levels: this table takes trees of two, and FT(3;M0,M1,M2)", t.Notation())
	}
	fill := measure(t, seed)
	return slowdownRows(run, t.Spines(), func(r *SlowdownRow) error {
		reduced, err := Reduced(t, r.Reduction, r.All)
		if err != nil {
			return err
		}
		return fill(reduced, r)
	})
}

// slowdownRows fills the rows of reductions 0..links-1 of one subtree, then of all.
func slowdownRows(run Run, links int, fill func(*SlowdownRow) error) ([]SlowdownRow, error) {
	rows, err := reductions(run, links, func(f int, all bool) (SlowdownRow, error) {
		r := SlowdownRow{Reduction: f, All: all}
		err := fill(&r)
		return r, err
	})
	for i := range rows {
		rows[i].HealthyPhases = rows[0].Phases
	}
	return rows, err
}

// count fills a row of the count model, whose adapted schedule lasts its phases.
func (r *SlowdownRow) count(servers, shift, optimal, phases int) {
	r.Ideal, r.LinearShift, r.BandwidthOptimal, r.Phases, r.Adapted = servers, shift, optimal, phases, phases
}

func countMeasure(healthy *topology.Tree, _ uint64) func(*topology.Tree, *SlowdownRow) error {
	leaf := healthy.LeafOfRanks()
	shift := counterOf(scheduler.LinearShift(healthy), leaf, healthy.Leaves())
	optimal := counterOf(scheduler.BandwidthOptimal(healthy), leaf, healthy.Leaves())
	return func(t *topology.Tree, row *SlowdownRow) error {
		live := liveLinks(t)
		row.count(t.Servers(), shift.duration(live), optimal.duration(live), FaultAdaptivePhases(t))
		return nil
	}
}

func routedMeasure(healthy *topology.Tree, seed uint64) func(*topology.Tree, *SlowdownRow) error {
	leaf := healthy.LeafOfRanks()
	shift, optimal := newOrder(scheduler.LinearShift(healthy)), newOrder(scheduler.BandwidthOptimal(healthy))
	return func(t *topology.Tree, row *SlowdownRow) error {
		tables, err := plan.Tables(t, routing.MinHop)
		if err != nil {
			return err
		}
		s, _, err := scheduler.FORS(t, scheduler.Options{Seed: seed, Workers: 1})
		if err != nil {
			return err
		}
		row.Ideal, row.Phases = t.Servers()-1, s.Phases
		row.LinearShift = shift.duration(t, leaf, tablePaths(tables, leaf))
		row.BandwidthOptimal = newSpread(t).duration(optimal, leaf)
		row.Adapted = newOrder(s).duration(t, leaf, pinnedPaths(t, s))
		return nil
	}
}

// SlowdownTable is Slowdown for printing, with the numbers of the thesis.
func SlowdownTable(run Run, t *topology.Tree, model string, seed uint64) (*Table, error) {
	rows, err := Slowdown(run, t, model, seed)
	if err != nil {
		return nil, err
	}
	adapted := "FS"
	if model == Routed {
		adapted = schedules.FORS
	}
	out := slowdownTable(t.Notation(), model, adapted, Column{"leaves", "leaves_reduced", 0}, rows)
	out.Notes = slowdownNotes(t, model)
	return out, nil
}

func slowdownTable(notation, model, adapted string, where Column, rows []SlowdownRow) *Table {
	out := &Table{
		name: "slowdown", topology: notation, model: model,
		columns: []Column{
			{"reduction", "reduction_links", 0}, where,
			{"LS", "linear_shift_slowdown", 4}, {"BO", "bandwidth_optimal_slowdown", 4}, {adapted, "adapted_slowdown", 4},
			{"LS/BO", "linear_shift_over_bandwidth_optimal", 4}, {"LS/" + adapted, "linear_shift_over_adapted", 4},
			{"BO/" + adapted, "bandwidth_optimal_over_adapted", 4},
			{"P_f", "adapted_phases", 0}, {"P_f/P_0", "phases_over_healthy", 4}, {"stated", "stated_by_thesis", 0},
		},
	}
	for _, r := range rows {
		ideal := float64(r.Ideal)
		ls, bo, fs := float64(r.LinearShift), float64(r.BandwidthOptimal), float64(r.Adapted)
		out.Add(
			r.Reduction, oneOrAll(r.All), ls/ideal, bo/ideal, fs/ideal, ls/bo, ls/fs, bo/fs,
			r.Phases, float64(r.Phases)/float64(r.HealthyPhases), stated(notation, r.Reduction),
		)
	}
	return out
}

func slowdownNotes(t *topology.Tree, model string) []string {
	head := fmt.Sprintf("%s, %d servers: slowdown = duration of the exchange over ", t.Notation(), t.Servers())
	which := "leaves one: leaf0 has lost its highest spines; all: every leaf has"
	if model == Count {
		return []string{
			head + "S (thesis 5.3)",
			"model count: a phase lasts ⌈messages of a leaf / its live links⌉ (thesis Algorithm 2); collisions inside the spines are not seen",
			"LS linear-shift, BO bandwidth-optimal, FS the thesis' fault-adaptive schedule with P_f phases (equation 5.1)", which,
		}
	}
	return []string{
		head + "S-1, the fewest phases",
		"model routed: link loads of LS linear-shift over minhop tables, BO bandwidth-optimal with spines chosen per phase, fors with its own",
		"stated is what the thesis says for its count model", which,
	}
}

// notStated marks a number missing in the text of the thesis: its figures were not read off.
const notStated = "not stated"

// A statement is a number in the text of the thesis for one shape and one reduction; the figures of
// chapter 5 show more, but only as curves. The thesis says that one reduced leaf and all reduced
// leaves give the same.
type statement struct{ topology, column, text string }

// The thesis (5.3 and 5.5) on Figures 5.7 and 5.10 to 5.12. LS is linear-shift,
// BO bandwidth-optimal, FS the fault-adaptive schedule.
var statedSlowdown = map[int][]statement{
	1: {
		{"FT(2;16,16)", "LS", "1.875"}, {"FT(2;16,16)", "BO", "1"}, {"FT(2;16,16)", "FS", "about 1"},
		{"FT(2;16,16)", "LS/FS", "close to 2"}, {"FT(2;16,16)", "BO/FS", "1"},
		{"FT(2;20,18)", "LS", "1.88"}, {"FT(2;20,18)", "BO", "1"}, {"FT(2;20,18)", "FS", "about 1"},
		{"FT(2;20,18)", "LS/BO", "2"}, {"FT(2;20,18)", "LS/FS", "close to 2"}, {"FT(2;20,18)", "BO/FS", "1"},
		{"FT(2;16,32)", "LS", "1.9375"}, {"FT(2;16,32)", "BO", "1.5"}, {"FT(2;16,32)", "FS", "about 1"},
		{"FT(2;16,32)", "LS/FS", "close to 2"}, {"FT(2;16,32)", "BO/FS", "1.4"},
	},
	2: {
		{"FT(2;16,16)", "BO/FS", "about 1.8"}, {"FT(2;20,18)", "LS/BO", "0.9"}, {"FT(2;20,18)", "BO/FS", "about 1.8"},
		{"FT(2;16,32)", "BO/FS", "about 1.8"},
	},
	8: {
		{"FT(2;16,16)", "BO", "about 2"}, {"FT(2;16,16)", "LS/FS", "1.02"}, {"FT(2;16,16)", "BO/FS", "1.03"},
		{"FT(2;16,32)", "BO", "about 2"}, {"FT(2;16,32)", "LS/FS", "1.02"}, {"FT(2;16,32)", "BO/FS", "1.03"},
	},
	10: {
		{"FT(2;20,18)", "BO", "about 2"}, {"FT(2;20,18)", "LS/FS", "1.02"}, {"FT(2;20,18)", "BO/FS", "1.03"},
	},
}

// stated returns the thesis' numbers for a reduction, "LS 1.875, BO 1", or "not stated".
func stated(topology string, reduction int) string {
	var parts []string
	for _, s := range statedSlowdown[reduction] {
		if s.topology == topology {
			parts = append(parts, fmt.Sprintf("%s %s", s.column, s.text))
		}
	}
	if parts == nil {
		return notStated
	}
	return strings.Join(parts, ", ")
}

// SlowdownLevels is the count model of Slowdown on a full fat tree FT(L;M…) of any number
// of levels: one row per reduction F = 0..Π_l-1 of the links between the first subtree of a
// level, 1..L-1, and the switches above, and then one with all subtrees of the level
// reduced. The adapted schedule has the phases of thesis equation 5.1.
//
// Thesis 5.3, Algorithm 2, counts at leaves; 5.4.1 states equation 5.1 for every level. Messages
// that leave a subtree of level l have Π_l-F links; elsewhere links suffice for all traffic of its
// servers.
func SlowdownLevels(run Run, m Levels, level int) ([]SlowdownRow, error) {
	if err := plannableLevels(m); err != nil {
		return nil, err
	}
	if level < 1 || level >= len(m) {
		return nil, fmt.Errorf("level %d: the switches of %s with others above are those of levels 1..%d", level, levelsNotation(m), len(m)-1)
	}
	size := m.Below(level)
	leaf, subtree := make([]int, m.Servers()), make([]int, m.Servers())
	for s := range leaf {
		leaf[s], subtree[s] = s/m[0], s/size
	}
	n := m.Servers() / size
	shift := newCounter(m.Servers(), m.shift, leaf, subtree, n)
	optimal := newCounter(m.Servers(), m.optimal, leaf, subtree, n)
	return slowdownRows(run, size, func(r *SlowdownRow) error {
		live := slices.Repeat([]int{size}, n)
		for q := range live {
			if q == 0 || r.All {
				live[q] -= r.Reduction
			}
		}
		r.count(m.Servers(), shift.duration(live), optimal.duration(live), m.PhasesAtLeast(level, r.Reduction))
		return nil
	})
}

func plannableLevels(m Levels) error {
	n := 1
	for _, x := range m {
		if n *= x; n > scheduler.MaxServers {
			return fmt.Errorf("%s: evbench makes schedules of at most %d servers", levelsNotation(m), scheduler.MaxServers)
		}
	}
	if n < 2 {
		return fmt.Errorf("%s: %d servers: an all-to-all exchange needs at least 2", levelsNotation(m), n)
	}
	return nil
}

func levelsNotation(m Levels) string {
	return fmt.Sprintf("FT(%d;%s)", len(m), strings.ReplaceAll(strings.Trim(fmt.Sprint([]int(m)), "[]"), " ", ","))
}

// SlowdownLevelsTable is SlowdownLevels for printing.
func SlowdownLevelsTable(run Run, m Levels, level int) (*Table, error) {
	rows, err := SlowdownLevels(run, m, level)
	if err != nil {
		return nil, err
	}
	out := slowdownTable(levelsNotation(m), Count, "FS", Column{"subtrees", "subtrees_reduced", 0}, rows)
	out.Notes = []string{
		fmt.Sprintf("%s, %d servers: slowdown = duration of the exchange over S (thesis 5.3)", levelsNotation(m), m.Servers()),
		fmt.Sprintf("model count: a phase lasts ⌈messages of a subtree of level %d (%d servers) / its live links to level %d⌉ (thesis Algorithm 2); collisions elsewhere are not seen",
			level, m.Below(level), level+1),
		"LS linear-shift, BO bandwidth-optimal, FS the thesis' fault-adaptive schedule with P_f phases (equation 5.1)",
		"subtrees one: the first has lost links upwards; all: each has",
	}
	return out, nil
}
