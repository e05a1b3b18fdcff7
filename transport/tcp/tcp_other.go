//go:build !linux

package tcp

import (
	"context"
	"errors"

	"evbench/transport"
)

var errLinux = errors.New("this transport needs Linux")

// A Listener exists on Linux only.
type Listener struct{}

// An Endpoint exists on Linux only.
type Endpoint struct{ transport.Endpoint }

// Listen returns an error.
func Listen(Options) (*Listener, error) { return nil, errLinux }

// Addr returns "".
func (*Listener) Addr() string { return "" }

// Close does nothing.
func (*Listener) Close() error { return nil }

// Connect returns an error.
func (*Listener) Connect(context.Context, Group) (*Endpoint, error) { return nil, errLinux }

// Extend returns an error.
func (*Endpoint) Extend(context.Context, []Path) error { return errLinux }

// Opened returns false.
func (*Endpoint) Opened([]Path) bool { return false }

// IO returns Copy.
func (*Endpoint) IO() string { return Copy }

// Signal returns an error.
func (*Endpoint) Signal(context.Context, int, uint64) error { return errLinux }

// Await returns an error.
func (*Endpoint) Await(context.Context, int, uint64) error { return errLinux }

// CheckFiles returns an error.
func CheckFiles(int) error { return errLinux }
