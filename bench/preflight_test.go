package bench_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"evbench/bench"
	"evbench/controller/wire"
	"evbench/fabric"
	"evbench/results"
	"evbench/site/preflight"
	"evbench/testing/expect"
	"evbench/worker"
)

// measurable is a fabric whose servers say how they reach each other.
type measurable struct {
	inProcess
	at   []string // rank -> name of the leaf that it really is on
	host func(rank int) results.Host
	off  bool
}

func (f *measurable) Check(ctx context.Context, j fabric.Joined) (fabric.Checked, error) {
	return preflight.Check(ctx, j, preflight.Options{Off: f.off})
}

func (f *measurable) MayOpen(_, _ int) error { return nil }

func (f *measurable) Launch(ctx context.Context, j fabric.Job) (func() error, error) {
	g, ctx := errgroup.WithContext(ctx)
	for rank := range j.Tree.Servers() {
		g.Go(func() error {
			return worker.Run(ctx, worker.Options{
				Conn: f.dial(), Token: j.Token, Server: j.Tree.Position(rank), Data: f.at[rank], Host: f.host(rank), Open: f.open,
				Probe: func(_ context.Context, data string, routers bool) []wire.Reach {
					r := wire.Reach{Addr: data, Hops: 3}
					switch data {
					case f.at[rank]:
						r.Hops = 1
					case "nowhere":
						r.Err = "no route to host"
					}
					return []wire.Reach{r}
				},
			})
		})
	}
	return g.Wait, nil
}

func alike(int) results.Host { return results.Host{Host: "node", MTU: 9000, Governor: "performance"} }

func lookAt(t *testing.T, text string, at []string, host func(int) results.Host) (*memory, error) {
	t.Helper()
	s, planned := read(t, text)
	sink := &memory{}
	f := &measurable{at: at, host: host, off: !s.Launch.Preflight}
	var err error
	synctest.Test(t, func(t *testing.T) {
		_, err = bench.Run(t.Context(), bench.Work{Scenario: s, Cases: planned, Fabric: f, Open: into(sink)}, bench.Options{Listener: f.listen(), Token: "secret"})
	})
	return sink, err
}

const short = `
topology: FT(2;2,2)
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: 100ms
interval: 100ms
control: off
cases: [{schedule: linear-shift}]
`

// Servers that are where the file says are measured, and the manifest says who they are and what was found.
//
//gate:race
func TestPreflight(t *testing.T) {
	sink := expect.Value(lookAt(t, short, []string{"a", "a", "b", "b"}, func(rank int) results.Host {
		h := alike(rank)
		h.Host = string('A' + rune(rank))
		if rank == 2 {
			h.MTU = 1500
		}
		return h
	}))(t)
	m := sink.manifests[0]
	if !slices.ContainsFunc(m.Preflight, func(s string) bool { return strings.HasSuffix(s, "they are as the file says") }) {
		t.Errorf("preflight %q", m.Preflight)
	}
	expect.Equal(t, m.Warnings, []string{"MTU differs between hosts: 9000 on most, 1500 on C"}, "warnings")
	expect.True(t, len(m.Hosts) == 4 && m.Hosts[3].Host == "D" && m.Hosts[3].Server == 3 && slices.Equal(m.Hosts[3].Addresses, []string{"b"}),
		"hosts %+v", m.Hosts)
}

// Nothing is measured, and nothing written, on servers that do not reach each
// other or are elsewhere; unless that is asked for.
func TestPreflightRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   []string
		want string
	}{
		{"misplaced", []string{"a", "b", "a", "b"}, "seems to be on leaf"},
		{"unreached", []string{"a", "a", "b", "nowhere"}, "server3 is not reached by any of the 3 others that tried, at nowhere: no route to host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sink, err := lookAt(t, short, tt.at, alike)
			expect.Error(t, err, tt.want)
			expect.True(t, len(sink.manifests) == 0, "something was written")
			sink, err = lookAt(t, short+"launch: {kind: local, preflight: off}\n", tt.at, alike)
			expect.True(t, err == nil && slices.Equal(sink.manifests[0].Preflight, []string{"off"}), "switched off: %v, %+v", err, sink.manifests)
		})
	}
}
