package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"evbench/internal/show"
	"evbench/topology"
)

// The schedules, as on the command line. RepairPrefix goes before the name of one of them.
const (
	NameLinearShift       = "linear-shift"
	NameLinearShiftPorts  = "linear-shift-ports"
	NameXOR               = "xor"
	NameBandwidthOptimal  = "bandwidth-optimal"
	NameFORS              = "fors"
	NameFORSClosed        = "fors-closed"
	NameFORSPublished     = "fors-published"
	NameFORSPublishedText = "fors-published-text"
	RepairPrefix          = "repair:"
)

// MaxWindow bounds the exchanges that are planned together where fragments differ in size.
const MaxWindow = 16

// Names returns the names of all schedules.
func Names() []string {
	return []string{
		NameLinearShift, NameLinearShiftPorts, NameXOR, NameBandwidthOptimal,
		NameFORS, NameFORSClosed, NameFORSPublished, NameFORSPublishedText,
	}
}

// ByName returns the schedule of that name for a tree, and the best lower bound on the phases of a
// contention-free one. "repair:" before another name is Repair of that schedule. The closed and
// published forms of fors are for two levels. Options.DropUnreachable leaves out the pairs of
// servers that cannot reach each other.
func ByName(name string, t *topology.Tree, o Options) (*Schedule, Bound, error) {
	if err := plannable(t); err != nil {
		return nil, Bound{}, fmt.Errorf("schedule %s: %w", name, err)
	}
	if base := strings.TrimPrefix(name, RepairPrefix); base != NameLinearShift && base != NameFORS {
		if err := t.AllBoth("schedule " + name + " is for trees"); err != nil {
			return nil, Bound{}, fmt.Errorf("%w; take %s, %s or %s%s", err, NameFORS, NameLinearShift, RepairPrefix, NameLinearShift)
		}
	}
	if base, ok := strings.CutPrefix(name, RepairPrefix); ok {
		return repaired(base, t, o)
	}
	var s *Schedule
	var err error
	switch {
	case t.Levels() == 3 && !slices.Contains(podNames(), name):
		err = fmt.Errorf("no schedule %q for three levels; %s, and %sNAME for any of them", name, show.Choices(name, podNames()), RepairPrefix)
	case name == NameLinearShift:
		s = LinearShift(t)
	case name == NameLinearShiftPorts:
		s = LinearShiftPorts(t)
	case name == NameXOR:
		s, err = XOR(t)
	case name == NameBandwidthOptimal:
		s = BandwidthOptimal(t)
	case name == NameFORS:
		return FORS(t, o)
	case name == NameFORSClosed:
		s, err = ForsClosed(t, o)
	case name == NameFORSPublished:
		s, err = Published(t)
	case name == NameFORSPublishedText:
		s, err = PublishedText(t)
	default:
		err = fmt.Errorf("no schedule %q; %s, and %sNAME for any of them", name, show.Choices(name, Names()), RepairPrefix)
	}
	if err == nil && o.DropUnreachable {
		if err = o.connected(t); err == nil {
			s.drop(t, t.Severed())
		}
	}
	if err != nil {
		return nil, Bound{}, err
	}
	return s, LowerBound(t, o), nil
}

func podNames() []string {
	return []string{NameLinearShift, NameLinearShiftPorts, NameXOR, NameBandwidthOptimal, NameFORS}
}

func plannable(t *topology.Tree) error {
	if t.Levels() == 3 {
		return newFabric(t).check()
	}
	if n := t.Servers(); n > MaxServers {
		return fmt.Errorf("%d servers are more than evbench can plan (at most %d)", n, MaxServers)
	}
	return nil
}
