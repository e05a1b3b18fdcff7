// Package injected opens a fabric whose links an injector takes down.
package injected

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"evbench/cmd/open"
	"evbench/fabric"
	"evbench/failover/loop"
	"evbench/internal/proc"
	"evbench/plan"
	"evbench/scenario"
	"evbench/site/inject"
	"evbench/topology"
)

// An injectedFabric is a fabric whose links an injector takes down. The network re-routes by
// itself: no routes are installed.
type injectedFabric struct {
	fabric.Fabric
	injector *inject.Injector
	changes  chan open.LinkChange // from SetLinks to Watch
	pipes    chan os.Signal
}

// Around opens a fabric with an injector around it, if the scenario has one: a link that is down
// already, from an earlier run or otherwise, ends the run before anything is started.
func Around(under open.Opener) open.Opener {
	return func(ctx context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
		if s.Inject.Kind == "" {
			return under(ctx, s)
		}
		i, err := inject.Open(injectOptions(s))
		if err != nil {
			return nil, proc.Usage(err)
		}
		err = i.Check(ctx, failing(s))
		if err == nil {
			var f fabric.Fabric
			if f, err = under(ctx, s); err == nil {
				made := &injectedFabric{Fabric: f, injector: i, changes: make(chan open.LinkChange), pipes: make(chan os.Signal, 1)}
				// A write to a closed pipe would end the program at once, and leave links down; now
				// it is an ordinary error.
				signal.Notify(made.pipes, syscall.SIGPIPE)
				return made, nil
			}
		}
		if closeErr := i.Close(); closeErr != nil {
			return nil, errors.Join(err, closeErr)
		}
		return nil, err
	}
}

func injectOptions(s *scenario.Scenario) inject.Options {
	i := s.Inject
	return inject.Options{
		Kind: i.Kind, Down: i.Down, Up: i.Up, Probe: i.Probe, Host: i.Host, Fabric: i.Fabric, Lab: i.Lab,
		Timeout: i.Timeout, Journal: i.Journal, Tree: s.Tree,
	}
}

func failing(s *scenario.Scenario) []topology.Link {
	var out []topology.Link
	for _, c := range s.Cases {
		out = append(out, c.Failures...)
		for _, t := range c.Timed {
			out = append(out, t.Links...)
		}
	}
	slices.SortFunc(out, topology.Link.Compare)
	return slices.Compact(out)
}

// Install implements fabric.Fabric: the probe has confirmed that exactly the dead links of the plan
// are down. Links that come up come first, so that never more are down than before or after.
func (f *injectedFabric) Install(ctx context.Context, p *plan.Plan) error {
	dead := p.Tree.Dead()
	alive := slices.DeleteFunc(f.injector.Pending(), func(l topology.Link) bool { return slices.Contains(dead, l) })
	if err := f.injector.Up(ctx, alive); err != nil {
		return fmt.Errorf("bring links up: %w", err)
	}
	if err := f.injector.Down(ctx, dead); err != nil {
		return fmt.Errorf("take links down: %w", err)
	}
	return nil
}

// SetLinks implements fabric.Fabric. Install or Close completes a change interrupted by the end of
// ctx.
func (f *injectedFabric) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	set := f.injector.Down
	if up {
		set = f.injector.Up
	}
	if err := set(ctx, links); err != nil {
		return err
	}
	select {
	case f.changes <- open.LinkChange{Links: links, Up: up, At: time.Now()}: // the probe has just confirmed it
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dead implements fabric.Fabric: links taken down from outside are unknown.
func (f *injectedFabric) Dead() ([]topology.Link, error) { return f.injector.Pending(), nil }

// Network implements fabric.Fabric: it passes on the changes by SetLinks. The network re-routes by
// itself.
func (f *injectedFabric) Network(*plan.Plan, string) (loop.Network, error) {
	return open.SelfHealing{Changes: f.changes}, nil
}

// Close implements fabric.Fabric: it always brings all links up first.
func (f *injectedFabric) Close() error {
	err := f.injector.Close()
	signal.Stop(f.pipes)
	if closeErr := f.Fabric.Close(); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	return err
}
