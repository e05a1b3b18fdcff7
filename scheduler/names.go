package scheduler

import (
	"fmt"
	"strings"

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

// Names returns the names of all schedules.
func Names() []string {
	return []string{
		NameLinearShift, NameLinearShiftPorts, NameXOR, NameBandwidthOptimal,
		NameFORS, NameFORSClosed, NameFORSPublished, NameFORSPublishedText,
	}
}

// ByName returns the schedule of that name for a tree, and the best lower bound
// on the phases of a contention-free one. "repair:" before another name is Repair
// of that schedule.
// With Options.DropUnreachable every schedule is without the pairs of servers
// that cannot reach each other. A tree of three levels is for ForPods.
func ByName(name string, t *topology.Tree, o Options) (*Schedule, Bound, error) {
	if p := t.Pods(); p != nil {
		return ForPods(name, p, o)
	}
	var s *Schedule
	var err error
	if n := t.Servers(); n > MaxServers {
		return nil, Bound{}, fmt.Errorf("schedule %s: %d servers are more than can be planned (at most %d)", name, n, MaxServers)
	}
	if base, ok := strings.CutPrefix(name, RepairPrefix); ok {
		return repaired(base, o,
			func() (*Schedule, Bound, error) { return ByName(base, t, o) },
			func(s *Schedule) *traffic { return newTraffic(s, newFabric(t)) })
	}
	switch name {
	case NameLinearShift:
		s = LinearShift(t)
	case NameLinearShiftPorts:
		s = LinearShiftPorts(t)
	case NameXOR:
		s, err = XOR(t)
	case NameBandwidthOptimal:
		s = BandwidthOptimal(t)
	case NameFORS:
		return FORS(t, o)
	case NameFORSClosed:
		s, err = ForsClosed(t, o)
	case NameFORSPublished:
		s, err = Published(t)
	case NameFORSPublishedText:
		s, err = PublishedText(t)
	default:
		err = fmt.Errorf("no schedule %q; there are %s", name, choices())
	}
	if err != nil {
		return nil, Bound{}, err
	}
	if o.DropUnreachable {
		if err := o.connected(t); err != nil {
			return nil, Bound{}, err
		}
		s.drop(t, t.Unreachable())
	}
	return s, LowerBoundWith(t, o), nil
}

// choices lists the names for error messages.
func choices() string {
	return strings.Join(Names(), ", ") + ", and " + RepairPrefix + "NAME for any of them"
}
