//go:build mpi && !mpicc

package mpi

// With the build tag mpicc, scripts/with-mpi puts the flags of mpicc into CGO_CFLAGS and
// CGO_LDFLAGS, for any MPI. Without it the flags are Open MPI's.

// #cgo pkg-config: ompi
import "C"
