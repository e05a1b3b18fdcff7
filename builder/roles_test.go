package builder_test

import (
	"testing"
	"time"

	"evbench/builder"
	"evbench/testing/expect"
)

func TestRoles(t *testing.T) {
	r := builder.Roles{Servers: 6, Readers: []int{0, 1, 2, 4}, Builders: []int{4, 5}}
	expect.OK(t, r.Check())
	expect.True(t, r.Sources() == 4 && r.Events() == 2 && r.Others(4) == 3 && r.Others(5) == 4 && r.MostFanout() == 1, "%+v: counts", r)
	expect.True(t, r.Event(3, 4) == 6 && r.Event(3, 5) == 7 && r.Place(0) == -1 && r.Builder(1) == 5, "%+v: events", r)
	all := builder.Roles{Servers: 3}
	expect.True(t, all.All() && all.Event(2, 1) == 7 && all.Others(1) == 2 && all.MostFanout() == 2, "%+v: where all do both", all)
}

func TestRolesRefused(t *testing.T) {
	for want, r := range map[string]builder.Roles{
		"readers: none":                         {Servers: 2, Readers: []int{}},
		"builders: rank 2 of 2":                 {Servers: 2, Builders: []int{2}},
		"readers: rank 0 of 2":                  {Servers: 2, Readers: []int{1, 0}},
		"the only reader builds, too: its own ": {Servers: 2, Readers: []int{1}},
	} {
		expect.Error(t, r.Check(), want)
	}
}

// An event awaits a fragment of each reader and takes none of others.
func TestAssemblerOfReaders(t *testing.T) {
	a := builder.NewAssembler(me, builder.Roles{Servers: 4, Readers: []int{0, 3}, Builders: []int{me}}, 1)
	_, err := a.Begin(time.Second, 7, 0)
	expect.OK(t, err)
	expect.Equal(t, a.Add(time.Second, frag(7, 2), true), builder.WrongSource, "of a server that does not read")
	expect.Equal(t, a.Add(time.Second, frag(7, 0), true), builder.Accepted, "of the first reader")
	expect.Equal(t, a.Missing(7), []int{3}, "missing")
	expect.Equal(t, a.Add(time.Second, frag(7, 3), true), builder.Complete, "of the last")
}
