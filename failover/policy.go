package failover

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evbench/topology"
)

// Defaults of Policy.Options.
const (
	defaultDebounce = time.Millisecond
	defaultRetry    = 100 * time.Millisecond
	defaultAttempts = 5
)

// ParsePolicy returns the policy of a name.
func ParsePolicy(name string) (Policy, error) {
	if p := Policy(name); slices.Contains(Policies(), p) {
		return p, nil
	}
	names := make([]string, 0, len(Policies()))
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown policy %q; policies are %s", name, strings.Join(names, ", "))
}

// Options returns the options of a machine that follows the policy, from a plan for the
// tree. Only FORSHold holds links out; a hold of 0 means DefaultHold.
func (p Policy) Options(tree *topology.Tree, hold time.Duration) Options {
	o := Options{
		Tree: tree, Aid: p != None, replan: p == Unsync || p == FORS || p == FORSHold,
		Debounce: defaultDebounce, retry: defaultRetry, attempts: defaultAttempts,
	}
	if p == FORSHold {
		o.hold = hold
		if hold <= 0 {
			o.hold = DefaultHold
		}
	}
	return o
}
