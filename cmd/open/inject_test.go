package open

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

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
	f := &injectedFabric{injector: i, changes: make(chan linkChange)}
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

// However a state file is read, it names a process that could be there, and descriptors.
func FuzzState(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "x", `{"pid":4711,"nodes":{},"text":"x"}`, `{"pid":-4711,"start":1,"exe":"1:1"}`,
		`{"pid":7,"start":9,"exe":"1:2","user":true,"text":"FT(2;2,2)"}`, `{"pid":7,"start":9,"exe":"1:2","nodes":{"leaf0":3},"text":"t"}`,
		`{"pid":7,"start":9,"exe":"1:2","nodes":{"leaf0":-3},"text":"t"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := parse(text)
		if err != nil {
			return
		}
		expect.True(t, h.PID >= 1 && h.Start != 0 && h.Exe != "", "%+v", h)
		for name, fd := range h.Nodes {
			expect.True(t, fd >= 0, "%s: %d", name, fd)
		}
		line := expect.Value(json.Marshal(h))(t)
		again, err := parse(line)
		expect.True(t, err == nil && again.ID == h.ID && len(again.Nodes) == len(h.Nodes), "%+v, then %+v, %v", h, again, err)
	})
}
