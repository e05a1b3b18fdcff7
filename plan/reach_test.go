package plan

import (
	"errors"
	"strings"
	"testing"

	"evbench/routing"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// Tables that leave out servers are an error that names the first pair and
// counts the others, unless their leaves are apart.
func TestNoRouteError(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 3}, "leaf0-spine0")
	tables := expect.Value(Tables(engines.Trees(), tr, routing.Ftree))(t)
	expect.Must(t, reach(tables, routing.Ftree, nil))
	tables.Set(routing.Switch(1), 5)
	tables.Set(routing.Switch(0), 4)
	err := reach(tables, routing.Ftree, nil)
	no, ok := errors.AsType[*NoRouteError](err)
	expect.MustTrue(t, ok && no.pairs == 4 && errors.Is(err, routing.ErrNoRoute), "%v", err)
	want := "routing ftree on FT(2;2,3) without leaf0-spine0 leaves 4 pairs of servers without a route: server0 to server4: leaf0: no route"
	expect.True(t, err.Error() == want, "%v, want %s", err, want)
	expect.OK(t, reach(tables, routing.Ftree, [][2]int{{0, 2}, {1, 2}}), "leaves that are apart")
	many := topologytest.Tree(t, topology.Options{Ports: 4, Leaves: 4}, "spine0", "spine1", "spine2")
	s := (&NoRouteError{routing: "updn", tree: many, pairs: 1, first: err}).Error()
	expect.True(t, strings.Contains(s, "leaf3-spine0 and 2 more leaves 1 pairs"), "%v", s)
}
