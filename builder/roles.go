package builder

import (
	"errors"
	"fmt"
	"slices"
)

// Roles say which servers read (send fragments) and which build events. Servers are ranks. Where
// Readers and Builders are nil, all servers do both.
//
// In each exchange every builder builds one event. Events count through the exchanges: builder k of
// B, from 0, builds event e·B + k in exchange e.
type Roles struct {
	Servers           int
	Readers, Builders []int // rising
}

// RolesOf returns the roles of the servers of a tree.
func RolesOf(tree interface {
	RoleRanks() (servers int, readers, builders []int)
}) (r Roles) {
	r.Servers, r.Readers, r.Builders = tree.RoleRanks()
	return r
}

// Check refuses invalid lists.
func (r Roles) Check() error {
	if err := r.list("readers", r.Readers); err != nil {
		return err
	}
	if err := r.list("builders", r.Builders); err != nil {
		return err
	}
	if r.Sources() == 1 && r.Builds(r.reader(0)) {
		return ErrOnlyReader
	}
	return nil
}

// ErrOnlyReader refuses roles in which one builder's events have no fragment from another server.
var ErrOnlyReader = errors.New("the only reader builds, too: its own events would have no message; name other builders, or more readers")

func (r Roles) list(name string, ranks []int) error {
	if ranks != nil && len(ranks) == 0 {
		return fmt.Errorf("%s: none", name)
	}
	for i, x := range ranks {
		if x < 0 || x >= r.Servers || i > 0 && x <= ranks[i-1] {
			return fmt.Errorf("%s: rank %d of %d, must be there and rise", name, x, r.Servers)
		}
	}
	return nil
}

// All reports whether every server reads and builds.
func (r Roles) All() bool { return r.Readers == nil && r.Builders == nil }

// Reads reports whether a server sends fragments. O(log S), as Builds and Place.
func (r Roles) Reads(rank int) bool {
	_, ok := find(r.Readers, rank)
	return ok
}

// Builds reports whether a server builds events.
func (r Roles) Builds(rank int) bool { return r.Place(rank) >= 0 }

// Place returns the index of a server among the builders, from 0; -1 if it does not build.
func (r Roles) Place(rank int) int {
	if i, ok := find(r.Builders, rank); ok {
		return i
	}
	return -1
}

func find(ranks []int, rank int) (place int, ok bool) {
	if ranks == nil {
		return rank, true
	}
	return slices.BinarySearch(ranks, rank)
}

// Builder returns the rank of the builder at a place.
func (r Roles) Builder(place int) int {
	if r.Builders == nil {
		return place
	}
	return r.Builders[place]
}

func (r Roles) reader(place int) int {
	if r.Readers == nil {
		return place
	}
	return r.Readers[place]
}

// Sources returns how many servers read.
func (r Roles) Sources() int {
	if r.Readers == nil {
		return r.Servers
	}
	return len(r.Readers)
}

// Events returns the number of events of an exchange: one for each builder.
func (r Roles) Events() int {
	if r.Builders == nil {
		return r.Servers
	}
	return len(r.Builders)
}

// Event returns which event a builder builds in an exchange.
func (r Roles) Event(exchange uint64, rank int) uint64 {
	return exchange*uint64(r.Events()) + uint64(r.Place(rank))
}

// Others returns the number of other servers that send a fragment for each event a server builds.
func (r Roles) Others(rank int) int {
	if r.Reads(rank) {
		return r.Sources() - 1
	}
	return r.Sources()
}

// MostFanout returns the least number of other builders that a reader has in an exchange.
func (r Roles) MostFanout() int {
	if r.Builders == nil || slices.ContainsFunc(r.Builders, r.Reads) {
		return r.Events() - 1
	}
	return r.Events()
}
