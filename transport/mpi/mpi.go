// Package mpi is a transport over MPI, and the control connection of runs whose
// ranks mpirun or srun has started.
//
// It needs cgo and the build tag mpi. Without them Start returns ErrNotBuilt, and
// everything else is never reached.
//
// The whole process is one rank of the world. All calls of MPI in a process are
// made one at a time; a phase, or many operations, take one crossing into C.
// Buffers from Alloc are C memory. MPI chooses the path: every Op's Path is
// transport.Single.
package mpi

import "errors"

// ErrNotBuilt says that this binary has no MPI, and how to get one that has.
var ErrNotBuilt = errors.New("this evbench was built without MPI; with the packages libopenmpi-dev and gcc installed, make build makes one that has it (go build -tags mpi)")

// A Group is the ranks of one case.
type Group struct {
	// ID tells cases apart. It rises from one to the next.
	ID uint32
	// Rank of this endpoint among Ranks.
	Rank int
	// Ranks are the world's ranks of all ranks of the case.
	Ranks []int
}
