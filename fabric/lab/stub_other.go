//go:build !linux

package lab

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"evbench/topology"
)

// unsupportedHere says on which system there is no lab.
func unsupportedHere() error {
	return fmt.Errorf("%w: not supported on %s", ErrUnsupported, runtime.GOOS)
}

// A Lab cannot exist on this system: Start always fails.
type Lab struct{ *layout }

// Start validates its options and fails.
func Start(_ context.Context, o Options) (*Lab, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return nil, unsupportedHere()
}

// Doctor says that this system has no network namespaces.
func Doctor() Report {
	reason := unsupportedHere().Error()
	return Report{Mode: modeRefused, System: runtime.GOOS, Checks: []Check{{Name: checkNetwork, Mode: modeDirect, Reason: reason}}}
}

// Helper reports that this process is none.
func Helper() bool { return false }

// Enter fails.
func Enter() (code int, done bool, err error) { return 0, false, unsupportedHere() }

// Inside fails.
func Inside(string) (in func(func() error) error, leave func() error, err error) {
	return nil, nil, unsupportedHere()
}

// Close has nothing to close.
func (b *Lab) Close() error { return nil }

// Descriptor returns none.
func (b *Lab) Descriptor(Node) int { return -1 }

// Do fails.
func (b *Lab) Do(int, func() error) error { return unsupportedHere() }

// In fails.
func (b *Lab) In(Node, func() error) error { return unsupportedHere() }

// StartCommand fails.
func (b *Lab) StartCommand(Node, *exec.Cmd) error { return unsupportedHere() }

// Counters fails.
func (b *Lab) Counters() ([]Count, error) { return nil, unsupportedHere() }

// SetLinks fails.
func (b *Lab) SetLinks(context.Context, []topology.Link, bool) error { return unsupportedHere() }

// Dead fails.
func (b *Lab) Dead() ([]topology.Link, error) { return nil, unsupportedHere() }

// SetDead fails.
func (b *Lab) SetDead(context.Context, []topology.Link) error { return unsupportedHere() }

// Watch fails.
func (b *Lab) Watch(context.Context, chan<- topology.LinkEvent) error { return unsupportedHere() }
