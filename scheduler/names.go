package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/scheduler/internal/fattree"
	"evbench/scheduler/repair"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// ByName returns the schedule of that name for a tree, and the best lower bound on the phases of a
// contention-free one. "repair:" before another name is Repair of that schedule. The closed and
// published forms of fors are for two levels. Options.DropUnreachable leaves out the pairs of
// servers that cannot reach each other.
func ByName(name string, t *topology.Tree, o Options) (*Schedule, Bound, error) {
	if err := plannable(t); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule %s: %w", name, err)
	}
	if base := strings.TrimPrefix(name, schedules.RepairPrefix); base != schedules.LinearShift && base != schedules.FORS {
		if err := t.AllBoth("schedule " + name + " is for trees"); err != nil {
			return nil, Bound{}, fmt.Errorf("%w; take %s, %s or %s%s", err, schedules.FORS, schedules.LinearShift, schedules.RepairPrefix, schedules.LinearShift)
		}
	}
	if base, ok := strings.CutPrefix(name, schedules.RepairPrefix); ok {
		return repairedFrom(base, t, o)
	}
	var s *Schedule
	var err error
	switch {
	case name == "fors-published-text": // plans of 0.1.0 name it
		err = fmt.Errorf("no schedule %q any more: take %s, the listing of the same section, or %s", name, schedules.FORSPublished, schedules.FORS)
	case t.Levels() == 3 && !slices.Contains(podNames(), name):
		err = fmt.Errorf("no schedule %q for three levels; %s, and %sNAME for any of them", name, show.Choices(name, podNames()), schedules.RepairPrefix)
	case name == schedules.LinearShift:
		s = LinearShift(t)
	case name == schedules.LinearShiftPorts:
		s = LinearShiftPorts(t.Shape)
	case name == schedules.XOR:
		s, err = XOR(t.Shape)
	case name == schedules.BandwidthOptimal:
		s = BandwidthOptimal(t.Shape)
	case name == schedules.FORS:
		return FORS(t, o)
	case name == schedules.FORSClosed:
		s, err = ForsClosed(t, o)
	case name == schedules.FORSPublished:
		s, err = Published(t)
	default:
		err = fmt.Errorf("no schedule %q; %s, and %sNAME for any of them", name, show.Choices(name, schedules.Names()), schedules.RepairPrefix)
	}
	if err == nil && o.DropUnreachable {
		if err = connected(t, o); err == nil {
			s = s.Without(t.Shape, t.Severed())
		}
	}
	if err != nil {
		return nil, Bound{}, err
	}
	return s, LowerBound(t, o), nil
}

// repairedFrom returns the schedule of the name base, repaired.
func repairedFrom(base string, t *topology.Tree, o Options) (*Schedule, Bound, error) {
	name := schedules.RepairPrefix + base
	if strings.HasPrefix(base, schedules.RepairPrefix) {
		return nil, Bound{}, fmt.Errorf("schedule %s: the base is itself a repaired schedule", name)
	}
	s, bound, err := ByName(base, t, o)
	if err != nil {
		return nil, Bound{}, err
	}
	table, moved, err := repair.Plan(s.tableOf(), s.Pinned, t, o)
	if err != nil {
		return nil, Bound{}, err
	}
	out := newSchedule(name, table, true)
	out.Moved = moved
	return out, bound, nil
}

func podNames() []string {
	return []string{schedules.LinearShift, schedules.LinearShiftPorts, schedules.XOR, schedules.BandwidthOptimal, schedules.FORS}
}

func plannable(t *topology.Tree) error {
	if t.Levels() == 3 {
		return fattree.New(t).Check()
	}
	if n := t.Servers(); n > MaxServers {
		return fmt.Errorf("%d servers are more than evbench can plan (at most %d)", n, MaxServers)
	}
	return nil
}
