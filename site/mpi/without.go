//go:build !mpi

package mpi

import (
	"context"
	"net"
	"os"
	"time"

	"evbench/transport"
)

var Missing = ErrNotBuilt

// Family is the MPI that this binary is built for.
const Family = ""

// A World is this process' place among all ranks that were started together.
type World struct{}

func Start(time.Duration) (*World, error) { return nil, ErrNotBuilt }

func (w *World) Rank() int { return 0 }

func (w *World) Size() int { return 0 }

func (w *World) Library() string { return "" }

func (w *World) Open(context.Context, Group) (*Endpoint, error) { return nil, ErrNotBuilt }

func (w *World) Listen() (net.Listener, error) { return nil, ErrNotBuilt }

func (w *World) Dial(context.Context, int) (net.Conn, error) { return nil, ErrNotBuilt }

func (w *World) Abort(int) {}

func (w *World) Close() error { return ErrNotBuilt }

// Exit ends the process.
func Exit(code int) { os.Exit(code) }

// An Endpoint is one rank's place in a case.
type Endpoint struct{ transport.Endpoint }

func (e *Endpoint) Barrier(context.Context) error { return ErrNotBuilt }

func (e *Endpoint) Signal(context.Context, int, uint64) error { return ErrNotBuilt }

func (e *Endpoint) Await(context.Context, int, uint64) error { return ErrNotBuilt }
