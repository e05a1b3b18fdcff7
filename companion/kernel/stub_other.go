//go:build !linux

// Package kernel puts routes into the kernels of an embedded lab. On this system
// there is none, and every call says so.
package kernel

import (
	"context"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/failover"
)

// A Target cannot do anything on this system.
type Target struct{}

// New returns a target whose every call fails.
func New(*lab.Lab) *Target { return &Target{} }

// Apply implements companion.Target.
func (t *Target) Apply(context.Context, companion.Routes) (int, error) {
	return 0, lab.ErrUnsupported
}

// Write implements companion.Target.
func (t *Target) Write(context.Context, []companion.Edit) (int, error) {
	return 0, lab.ErrUnsupported
}

// Read implements companion.Target.
func (t *Target) Read(context.Context, []companion.Node) (companion.Routes, error) {
	return nil, lab.ErrUnsupported
}

// Watch implements companion.Target.
func (t *Target) Watch(context.Context, chan<- failover.LinkEvent) error {
	return lab.ErrUnsupported
}
