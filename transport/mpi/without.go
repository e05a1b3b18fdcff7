//go:build !mpi

package mpi

import (
	"context"
	"net"

	"evbench/transport"
)

// Missing says why this binary has no MPI; nil: it has.
var Missing = ErrNotBuilt

// A World is this process' place among all ranks that were started together.
type World struct{}

// Start joins the world; once in a process.
func Start() (*World, error) { return nil, ErrNotBuilt }

// Rank returns the rank of this process.
func (w *World) Rank() int { return 0 }

// Size returns the number of ranks.
func (w *World) Size() int { return 0 }

// Library names the MPI library and its version.
func (w *World) Library() string { return "" }

// Open returns the endpoint of a case. It waits for nobody.
func (w *World) Open(context.Context, Group) (*Endpoint, error) { return nil, ErrNotBuilt }

// Listen accepts the control connections of other ranks.
func (w *World) Listen() (net.Listener, error) { return nil, ErrNotBuilt }

// Dial opens a control connection to a rank.
func (w *World) Dial(context.Context, int) (net.Conn, error) { return nil, ErrNotBuilt }

// Abort ends all ranks with an exit code; it does not return.
func (w *World) Abort(int) {}

// Close leaves the world. It waits for the other ranks to do so, too.
func (w *World) Close() error { return ErrNotBuilt }

// An Endpoint is one rank's place in a case.
type Endpoint struct{ transport.Endpoint }

// Barrier returns once all ranks of the case have called it as often (MPI_Barrier).
func (e *Endpoint) Barrier(context.Context) error { return ErrNotBuilt }

// Signal implements barrier.Peer.
func (e *Endpoint) Signal(context.Context, int, uint64) error { return ErrNotBuilt }

// Await implements barrier.Peer.
func (e *Endpoint) Await(context.Context, int, uint64) error { return ErrNotBuilt }
