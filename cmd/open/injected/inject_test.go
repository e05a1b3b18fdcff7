package injected

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"evbench/cmd/open"
	"evbench/failover"
	"evbench/site/inject"
	"evbench/testing/expect"
	"evbench/topology"
)

// What takes a link down and brings it up tells so whoever watches, each change by both
// ends of the link, in order and once.
func TestInjectedChangesAreSeen(t *testing.T) {
	tree := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 2}))(t)
	dir := t.TempDir()
	down := filepath.Join(dir, "{link}.down")
	i := expect.Value(inject.Open(inject.Options{
		Kind: "command", Down: "touch " + down, Up: "rm " + down, Probe: "test ! -e " + down,
		Timeout: time.Minute, Journal: filepath.Join(dir, "journal"), Tree: tree,
	}))(t)
	f := &injectedFabric{injector: i, changes: make(chan open.LinkChange)}
	net := expect.Value(f.Network(nil, ""))(t)
	ctx, stop := context.WithCancel(t.Context())
	seen := make(chan failover.LinkEvent, 4)
	var watching sync.WaitGroup
	watching.Go(func() {
		expect.OK(t, net.Watch(ctx, seen))
		close(seen)
	})
	link := topology.Link{Leaf: 1}
	for _, up := range []bool{false, true} {
		asked := time.Now()
		expect.OK(t, f.SetLinks(ctx, []topology.Link{link}, up))
		for _, leaf := range []bool{true, false} {
			e := <-seen
			expect.True(t, e.Link == link && e.Leaf == leaf && e.Up == up && e.Seen.After(asked), "up %v: %+v", up, e)
		}
	}
	stop()
	watching.Wait()
	if err := i.Close(); err != nil || len(seen) > 0 {
		t.Errorf("%v; %d events more", err, len(seen))
	}
}
