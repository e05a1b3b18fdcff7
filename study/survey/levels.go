package survey

import (
	"fmt"
	"strings"

	"evbench/internal/parallel"
	"evbench/scheduler"
)

// SlowdownLevels is the count model of Slowdown on a full fat tree FT(L;M…) of any number
// of levels: one row per reduction F = 0..Π_l-1 of the links between the first subtree of a
// level, 1..L-1, and the switches above, and then one with all subtrees of the level
// reduced. The adapted schedule has the phases of thesis equation 5.1.
//
// Thesis 5.3, Algorithm 2, counts at leaves; 5.4.1 says equation 5.1 of every level. What
// leaves a subtree of level l has Π_l-F links, and elsewhere links suffice for whatever its
// servers send.
func SlowdownLevels(m scheduler.Levels, level int) ([]SlowdownRow, error) {
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
	shift := newCounter(m.LinearShift(), leaf, subtree, n)
	optimal := newCounter(m.BandwidthOptimal(), leaf, subtree, n)
	rows := make([]SlowdownRow, 2*size)
	parallel.Each(0, len(rows), func(_, i int) {
		r := &rows[i]
		r.Reduction, r.All = i%size, i >= size
		live := make([]int, n)
		for q := range live {
			if live[q] = size; q == 0 || r.All {
				live[q] -= r.Reduction
			}
		}
		r.Ideal = m.Servers()
		r.LinearShift, r.BandwidthOptimal = shift.duration(live), optimal.duration(live)
		r.Phases = m.PhasesAtLeast(level, r.Reduction)
		r.Adapted, r.HealthyPhases = r.Phases, m.PhasesAtLeast(level, 0)
	})
	return rows, nil
}

func plannableLevels(m scheduler.Levels) error {
	n := 1
	for _, x := range m {
		if n *= x; n > scheduler.MaxServers {
			return fmt.Errorf("%s: schedules of at most %d servers are made", levelsNotation(m), scheduler.MaxServers)
		}
	}
	if n < 2 {
		return fmt.Errorf("%s: %d servers: an all-to-all exchange needs at least 2", levelsNotation(m), n)
	}
	return nil
}

func levelsNotation(m scheduler.Levels) string {
	return fmt.Sprintf("FT(%d;%s)", len(m), strings.ReplaceAll(strings.Trim(fmt.Sprint([]int(m)), "[]"), " ", ","))
}

// SlowdownLevelsTable is SlowdownLevels for printing.
func SlowdownLevelsTable(m scheduler.Levels, level int) (*Table, error) {
	rows, err := SlowdownLevels(m, level)
	if err != nil {
		return nil, err
	}
	return slowdownTable(levelsNotation(m), Count, "FS", Column{"subtrees", "subtrees_reduced", 0}, []string{
		fmt.Sprintf("%s, %d servers: slowdown = duration of the exchange over S (thesis 5.3)", levelsNotation(m), m.Servers()),
		fmt.Sprintf("model count: a phase lasts ⌈messages of a subtree of level %d (%d servers) / its live links to level %d⌉ (thesis Algorithm 2); collisions elsewhere are not seen",
			level, m.Below(level), level+1),
		"LS linear-shift, BO bandwidth-optimal, FS the thesis' fault-adaptive schedule with P_f phases (equation 5.1)",
		"subtrees one: the first has lost links upwards; all: each has",
	}, rows), nil
}
