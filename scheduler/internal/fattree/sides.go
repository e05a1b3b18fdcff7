package fattree

// ReaderOf returns the reader number of each builder of a leaf, none where it only builds.
func (f *Tree) ReaderOf(leaf int) (out []int32) {
	reader := int32(0)
	for rank := f.First[leaf]; rank < f.First[leaf]+f.N[leaf]; rank++ {
		i := int32(none)
		if f.Topology.Reads(rank) {
			i = reader
			reader++
		}
		if f.Topology.Builds(rank) {
			out = append(out, i)
		}
	}
	return out
}

// Most returns the most messages that a server of leaf a sends, or receives, and how many these are
// if each that reads and builds also sends to itself.
func (f *Tree) Most(a int) (most, self int) {
	both := f.N[a]
	if f.Topology.Roles() {
		both = f.B[a]
		for _, reader := range f.ReaderOf(a) {
			if reader == none {
				both--
			}
		}
	}
	if f.R[a] > 0 {
		self = f.B[a] + f.Reach[a]
		most = self
		if both == f.R[a] {
			most--
		}
	}
	if f.B[a] > 0 {
		in := f.R[a] + f.Heard[a]
		self = max(self, in)
		if both == f.B[a] {
			in--
		}
		most = max(most, in)
	}
	return most, self
}

// Busiest returns the most messages of a server, the one to itself included: S, unless pairs of
// leaves are left out.
func (f *Tree) Busiest() int {
	most := 0
	for a := range f.Leaves {
		_, self := f.Most(a)
		most = max(most, self)
	}
	return most
}
