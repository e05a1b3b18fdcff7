package scheduler

import (
	"fmt"
	"strings"

	"evbench/topology"
)

// Names returns the names of all schedules, as on the command line.
func Names() []string { return []string{"linear-shift", "xor", "bandwidth-optimal", "fors"} }

// ByName returns the schedule of that name for a tree, and the best lower bound
// on the phases of a contention-free one.
func ByName(name string, t *topology.Tree, o Options) (*Schedule, Bound, error) {
	var s *Schedule
	var err error
	switch name {
	case "linear-shift":
		s = LinearShift(t)
	case "xor":
		s, err = XOR(t)
	case "bandwidth-optimal":
		s = BandwidthOptimal(t)
	case "fors":
		return FORS(t, o)
	default:
		err = fmt.Errorf("no schedule %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if err != nil {
		return nil, Bound{}, err
	}
	return s, LowerBound(t), nil
}
