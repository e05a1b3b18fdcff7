// Package schedules names the schedules and the objectives of fors, as users write them. Package
// scheduler makes them.
package schedules

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// The schedules. RepairPrefix goes before the name of one of them.
const (
	LinearShift      = "linear-shift"
	LinearShiftPorts = "linear-shift-ports"
	XOR              = "xor"
	BandwidthOptimal = "bandwidth-optimal"
	FORS             = "fors"
	FORSClosed       = "fors-closed"
	FORSPublished    = "fors-published"
	RepairPrefix     = "repair:"

	// FilePrefix goes before the name of a plan file, whose phases are the schedule.
	FilePrefix = "file:"

	// PathColoring is the best order of messages over given tables (evbench/model/order).
	PathColoring = "path-coloring"

	// Best is the shortest plan of those planners that apply to a network (evbench/plan/best).
	Best = "best"
)

// Named is the name of a schedule for people: of a file without its folder.
func Named(schedule string) string {
	if file, own := strings.CutPrefix(schedule, FilePrefix); own {
		return FilePrefix + path.Base(file)
	}
	return schedule
}

// MaxWindow bounds the exchanges that are planned together where fragments differ in size.
const MaxWindow = 16

// Names returns the names of all schedules.
func Names() []string {
	return []string{LinearShift, LinearShiftPorts, XOR, BandwidthOptimal, FORS, FORSClosed, FORSPublished}
}

// An Objective names the quantity that a schedule keeps least.
type Objective string

// The objectives of fors.
const (
	FewestPhases Objective = "phases"   // phases, whatever the paths
	FewestPaths  Objective = "paths"    // spines that one leaf uses towards one destination, then phases
	Balanced     Objective = "balanced" // such spines, with at most max(S, ⌈L*⌉) phases
)

// Objectives lists the objectives.
func Objectives() []Objective { return []Objective{FewestPhases, FewestPaths, Balanced} }

// Check returns an error for an unknown objective.
func (o Objective) Check() error {
	if o == "" || slices.Contains(Objectives(), o) {
		return nil
	}
	return fmt.Errorf("no objective %q; there are %s, %s, %s", string(o), FewestPhases, FewestPaths, Balanced)
}

// Options steer the search for a schedule; the zero value works.
type Options struct {
	// Seed chooses among the schedules of equal length.
	Seed uint64
	// Workers is how many goroutines work at once. 0 means GOMAXPROCS. The
	// schedule does not depend on it.
	Workers int
	// Objective is what fors makes least. "" means FewestPhases.
	Objective Objective
	// DropUnreachable leaves out messages between leaves that share no live
	// spine, instead of refusing the tree.
	DropUnreachable bool
}

// FewPaths reports whether the objective is about paths.
func (o Options) FewPaths() bool { return o.Objective == FewestPaths || o.Objective == Balanced }
