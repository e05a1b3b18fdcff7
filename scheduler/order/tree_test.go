package order_test

import (
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/order"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// TestManyPaths: two leaves of a tree may have more paths than a byte counts. Messages take theirs.
func TestManyPaths(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 17, Leaves: 34, Pods: 2})
	s, _, err := scheduler.FORS(tree, scheduler.Options{})
	expect.Must(t, err)
	phases, time := order.TimeOf(s, tree, topology.Rates{}, func(_, _ int) bool { return true })
	expect.True(t, phases == s.Phases && time == float64(phases), "%d phases take %g message times, of %d", phases, time, s.Phases)
}
