package scheduler

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// Names returns the names of all schedules, as on the command line.
func Names() []string {
	return []string{"linear-shift", "xor", "bandwidth-optimal", "fors", "fors-closed", "fors-published", "fors-published-text"}
}

// ByName returns the schedule of that name for a tree, and the best lower bound
// on the phases of a contention-free one. "repair:" before another name is Repair
// of that schedule.
// With Options.DropUnreachable every schedule is without the pairs of servers
// that cannot reach each other.
func ByName(name string, t *topology.Tree, o Options) (*Schedule, Bound, error) {
	var s *Schedule
	var err error
	if n := t.Servers(); n > MaxServers {
		return nil, Bound{}, fmt.Errorf("schedule %s: %d servers are more than can be planned (at most %d)", name, n, MaxServers)
	}
	if base, ok := strings.CutPrefix(name, repairPrefix); ok {
		return repaired(base, t, o)
	}
	switch name {
	case "linear-shift":
		s = LinearShift(t)
	case "xor":
		s, err = XOR(t)
	case "bandwidth-optimal":
		s = BandwidthOptimal(t)
	case "fors":
		return FORS(t, o)
	case "fors-closed":
		s, err = ForsClosed(t, o)
	case "fors-published":
		s, err = Published(t)
	case "fors-published-text":
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
		s.drop(t)
	}
	return s, LowerBoundWith(t, o), nil
}

// choices lists the names for error messages.
func choices() string {
	return strings.Join(Names(), ", ") + ", and " + repairPrefix + "NAME for any of them"
}
