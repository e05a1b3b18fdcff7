package loadcurve_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"evbench/evidence/loadcurve"
	"evbench/model/credit"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
)

const microsecond = 1_000_000

func fabric(t *testing.T, name, engine string) *loadcurve.Fabric {
	t.Helper()
	n := expect.Value(network.Parse(name, 0))(t)
	l := expect.Value(engines.Compute(engine, n, engines.Options{Seed: 1}))(t)
	f := expect.Value(loadcurve.NewFabric(l))(t)
	return f
}

func loads(p loadcurve.Pattern, offered ...float64) (out []loadcurve.Load) {
	for _, o := range offered {
		out = append(out, loadcurve.Load{
			Pattern: p, Flits: 4 * 32, Offered: o, Warm: 20 * microsecond, Window: 40 * microsecond, Seed: 1,
		})
	}
	return out
}

// In step, shifts over contention-free tables get the link but for the reports of credits
// (0.4 %, as the flit-level model); below that hosts receive what is offered.
func TestShiftsWithoutContention(t *testing.T) {
	t.Parallel()
	f := fabric(t, "QFT(3;4,2,4;1,2,4;1,2,1)", engines.QFT)
	points := expect.Value(f.Curve(t.Context(), 2, loads(loadcurve.RandomShifts(f.Hosts(), 1), 1, 0.2)))(t)
	got := points[0]
	expect.True(t, math.Abs(got.Accepted-0.996) <= 0.002 && got.Worst >= 0.99, "full load: %+v", got)
	if got := points[1]; math.Abs(got.Accepted-0.2) > 0.02 || got.Packet >= got.Message {
		t.Errorf("load 0.2: %+v", got)
	}
	expect.True(t, points[1].Packet >= 0.16*microsecond && points[1].Packet <= microsecond, "a packet is under way for %g ps", points[1].Packet)
}

// Longer messages to random hosts bring less, and what comes does not depend on workers.
func TestLength(t *testing.T) {
	t.Parallel()
	f := fabric(t, "QFT(3;4,2,4;1,2,4;1,2,1)", "ftree")
	both := loads(loadcurve.Others(f.Hosts()), 1, 1)
	both[0].Flits, both[1].Flits = 32, 32*32
	one := expect.Value(f.Curve(t.Context(), 1, both))(t)
	two, err := f.Curve(t.Context(), 2, both)
	expect.True(t, err == nil && slices.Equal(one, two), "by one %v, by two %v, %v", one, two, err)
	expect.True(t, one[1].Accepted <= 0.8*one[0].Accepted, "2 KB %g, 64 KB %g of the link", one[0].Accepted, one[1].Accepted)
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	f := fabric(t, "FT(2;2,2)", "ftree")
	good := loads(loadcurve.Others(f.Hosts()), 0.5)[0]
	for _, change := range []func(*loadcurve.Load){
		func(l *loadcurve.Load) { l.Offered = 0 }, func(l *loadcurve.Load) { l.Offered = 1.1 },
		func(l *loadcurve.Load) { l.Flits = 0 }, func(l *loadcurve.Load) { l.Window = 0 },
	} {
		bad := good
		change(&bad)
		expect.True(t, expect.Err(f.Run(t.Context(), bad)) != nil, "%+v is run", bad)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.Is(t, expect.Err(f.Run(ctx, good)), context.Canceled)
	f.Params.Packet = 0
	expect.True(t, expect.Err(f.Run(t.Context(), good)) != nil, "packets of no flits are sent")
}

// star returns two hosts at a switch with a free port, and their tables.
func star(t *testing.T) *lft.Tables {
	t.Helper()
	var b network.Builder
	x, y := b.Host(network.Info{Name: "x", LID: 1}), b.Host(network.Info{Name: "y", LID: 2})
	sw := b.Switch(network.Info{Name: "s"}, 3)
	for port, h := range []network.Node{x, y} {
		expect.Must(t, b.Cable(network.End{Node: h, Port: 1}, network.End{Node: sw, Port: uint8(port + 1)}))
	}
	l := lft.New("by hand", b.Build())
	l.Row(0)[1], l.Row(0)[2] = 1, 2
	return l
}

// Messages to both hosts of a switch arrive at the rate of the link.
func TestRoutesOf(t *testing.T) {
	l := star(t)
	w := loadcurve.NewWires(l.Net, 1000, 0)
	r := expect.Value(loadcurve.RoutesOf(l, w))(t)
	p := credit.Params{Packet: 4, Lanes: 1, Buffer: 16, Delay: 2000, CutThrough: true}
	traffic := &loadcurve.Traffic{Pattern: loadcurve.Others(2), Flits: 40, Count: 10}
	traffic.Start(2, 1)
	e := expect.Value(credit.New(p, w, r, traffic, 1))(t)
	expect.Must(t, e.Run(1e9))
	expect.Equal(t, fmt.Sprint(e.Meter.Flits), "[400 400]", "flits of each host")
}

// Tables that cannot be routes are refused, those with a gap are not.
func TestRoutesOfRefuses(t *testing.T) {
	l := star(t)
	w := loadcurve.NewWires(l.Net, 1000, 0)
	l.Row(0)[2] = lft.NoPort
	expect.OK(t, expect.Err(loadcurve.RoutesOf(l, w)))
	for _, port := range []uint8{0, 3, 9} {
		l.Row(0)[2] = port
		if _, err := loadcurve.RoutesOf(l, w); err == nil || !strings.Contains(err.Error(), "has no cable") {
			t.Errorf("port %d: %v", port, err)
		}
	}
	var b network.Builder
	b.Host(network.Info{LID: 1})
	expect.True(t, expect.Err(loadcurve.RoutesOf(star(t), loadcurve.NewWires(b.Build(), 1000, 0))) != nil, "wires of another network are taken")
}

// Lanes of tables are those of the pairs.
func TestRoutesOfLanes(t *testing.T) {
	l := star(t)
	l.LaneRow(0)[1] = 1
	r := expect.Value(loadcurve.RoutesOf(l, loadcurve.NewWires(l.Net, 1000, 0)))(t)
	expect.True(t, len(r.Lane) == 4 && r.Lane[2] == 1 && r.Lane[1] == 0, "lanes %v", r.Lane)
}

// TestJobs: two jobs whose hosts are not next to each other, and a host of none.
func TestJobs(t *testing.T) {
	t.Parallel()
	jobs := [][]int32{{4, 0, 2}, {1, 5}}
	p := loadcurve.Jobs(7, jobs, []loadcurve.Pattern{loadcurve.ShiftSequence(3, 1), loadcurve.Shift(2, 1)})
	for _, tt := range []struct {
		host int32
		want [3]int32
	}{
		{4, [3]int32{0, 2, 0}}, {0, [3]int32{2, 4, 2}}, {2, [3]int32{4, 0, 4}},
		{1, [3]int32{5, 5, 5}}, {5, [3]int32{1, 1, 1}}, {3, [3]int32{3, 3, 3}}, {6, [3]int32{6, 6, 6}},
	} {
		for i, want := range tt.want {
			expect.Equal(t, p(tt.host, int64(i), nil), want, "message %d of host %d goes to", i, tt.host)
		}
	}
}

func TestPermutation(t *testing.T) {
	t.Parallel()
	p := loadcurve.Permutation([]int32{2, 0, 1})
	for host, want := range []int32{2, 0, 1} {
		for i := range int64(3) {
			expect.Equal(t, p(int32(host), i, nil), want, "message %d of host %d goes to", i, host)
		}
	}
}
