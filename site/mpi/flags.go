//go:build mpi

package mpi

// The flags are those of Open MPI, as in package empi/mpi. For another MPI, scripts/with-mpi puts its
// flags into CGO_CFLAGS and CGO_LDFLAGS, and answers here with none.

// #cgo pkg-config: ompi
import "C"
