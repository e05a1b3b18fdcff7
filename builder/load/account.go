package load

// An Account is what became of the events of a clock, and how old they were.
type Account struct {
	Counts
	Latency, Waited *Latency // until they were built; until their transfer began
	Parts           Parts    // of Latency
}

// NewAccount returns an Account without events.
func NewAccount() Account {
	return Account{Latency: NewLatency(), Waited: NewLatency(), Parts: NewParts()}
}

// Add adds what became of other events, after these.
func (a *Account) Add(o Account) {
	a.Counts.Add(o.Counts)
	_, _ = a.Latency.Add(o.Latency.Bars()), a.Waited.Add(o.Waited.Bars()) // of this program
	for i, p := range o.Parts {
		_ = a.Parts[i].Add(p.Bars())
	}
}

// Place returns the place among n builders of the one that gets the next event, and whether it has room: the one at from,
// so that each gets equally many, or the first from there with the fewest events. has is how many events a builder has that
// it has not built, room how many it may have.
func Place(from, n int, fewest bool, room uint64, has func(place int) uint64) (place int, free bool) {
	place = from
	if fewest {
		for i := range n {
			if other := (from + i) % n; has(other) < has(place) {
				place = other
			}
		}
	}
	return place, has(place) < room
}
