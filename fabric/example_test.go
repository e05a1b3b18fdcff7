package fabric_test

import (
	"context"
	"fmt"

	"evbench/fabric"
	"evbench/plan"
	"evbench/topology"
)

// managed is a fabric whose routes somebody else's manager installs. The fabric under it does all else.
type managed struct {
	fabric.Fabric
	manager interface {
		Load(ctx context.Context, routes *plan.Plan) error
		Loaded(ctx context.Context) (hash string, err error)
	}
}

// Install promises that the routes of the plan are in place: what was written is read back.
func (f managed) Install(ctx context.Context, p *plan.Plan) error {
	if err := f.manager.Load(ctx, p); err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	loaded, err := f.manager.Loaded(ctx)
	if err == nil && loaded != p.Hash() {
		err = fmt.Errorf("manager: it has the routes %s, not those of the plan, %s", loaded, p.Hash())
	}
	return err
}

// A fabric of one's own changes what is special about it; main gives it to bench.Run.
func ExampleFabric() {
	var f fabric.Fabric = managed{}
	fmt.Printf("%T", f)
	// Output: fabric_test.managed
}

// submitted is a launcher that leaves the start of workers to a batch system.
type submitted struct{ submit func(line string) error }

// MayOpen promises nothing about hosts that are not known here.
func (submitted) MayOpen(_, _ int) error { return nil }

func (l submitted) Launch(_ context.Context, j fabric.Job) (wait func() error, err error) {
	for rank := range j.Tree.Servers() {
		line := fmt.Sprintf("evbench worker --controller %s --id %d --network 10.0.0.0/8", j.Controller, j.Tree.Position(rank))
		if err := l.submit(line); err != nil {
			return nil, fmt.Errorf("%s: %w", j.Tree.ServerName(rank), err)
		}
	}
	return func() error { return nil }, nil // they join, and end, by themselves
}

// A launcher of one's own starts a worker for each server, which joins the controller.
func ExampleLauncher() {
	tree, err := topology.New(topology.Options{Ports: 1, Leaves: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	var l fabric.Launcher = submitted{func(line string) error { _, err := fmt.Println(line); return err }}
	wait, err := l.Launch(context.Background(), fabric.Job{Tree: tree, Controller: "tcp:head:7777"})
	fmt.Println(wait(), err)
	// Output:
	// evbench worker --controller tcp:head:7777 --id 0 --network 10.0.0.0/8
	// evbench worker --controller tcp:head:7777 --id 1 --network 10.0.0.0/8
	// <nil> <nil>
}
