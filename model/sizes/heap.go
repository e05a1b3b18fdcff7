package sizes

// An entry is a candidate, or the end of a fragment: the smallest rank comes first.
type entry struct {
	rank           int64
	id             int32
	partner, layer int32 // of a candidate
}

// Before orders entries.
func (e entry) Before(o entry) bool { return e.rank < o.rank || e.rank == o.rank && e.id < o.id }
