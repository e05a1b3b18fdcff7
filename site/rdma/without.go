//go:build !rdma

package rdma

// Missing says why this binary has no verbs; nil if it has them.
var Missing = ErrNotBuilt

func openDevice([]string) (device, error) { return nil, ErrNotBuilt }
