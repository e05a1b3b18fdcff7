package papers

import (
	"slices"
	"testing"

	"evbench/site/engines"
	"evbench/site/network"
	"evbench/testing/expect"
)

func parsed(t *testing.T, notation string, down ...string) *network.Network {
	t.Helper()
	n, err := network.Parse(notation, 0)
	if err == nil && len(down) > 0 {
		n, err = n.Degrade(down)
	}
	expect.Must(t, err)
	return n
}

// TestWithinThree counts networks that are easily counted.
func TestWithinThree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		notation string
		down     []string
		want     int
	}{
		{"FT(2;2,3)", nil, 6},
		{"FT(2;2,3)", []string{"s1_0-s2_0"}, 6},
		{"FT(2;2,3)", []string{"s1_0-s2_0", "s1_0-s2_1"}, 2}, // leaf 0 is alone
		{"PGFT(3;2,2,4;1,2,2;1,1,1)", nil, 4},
		{"PGFT(3;4,2,8;1,2,4;1,2,1)", nil, 8}, // the paper's Figure 1 (b) and (c)
		{"QFT(3;4,2,8;1,2,4;1,2,1)", nil, 16},
	} {
		expect.Equal(t, withinThree(parsed(t, tt.notation, tt.down...)), tt.want, "%s without %v: hosts", tt.notation, tt.down)
	}
}

// TestRisk: four hosts on two leaves. In phase 2 of the shift both hosts of each leaf send to
// the other, which takes both cables, or one of them twice. All else shares nothing.
func TestRisk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		down []string
		want float64
	}{{nil, 1}, {[]string{"s1_0-s2_0"}, 2}} {
		tables := expect.Value(engines.Compute(engines.DModC, parsed(t, "PGFT(2;2,2;1,2;1,1)", tt.down...), engines.Options{}))(t)
		got := riskIn(tables, 20, 1)
		expect.True(t, got[0] == tt.want && got[1] <= 2 && got[2] == 0, "without %v: %v, want %g in shifts", tt.down, got, tt.want)
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	whole := parsed(t, riskSmall)
	for _, share := range []float64{0, 0.1} {
		n := without(whole, share, 1)
		all := len(whole.SwitchCables())
		if want := all - int(share*float64(all)); len(n.SwitchCables()) != want {
			t.Errorf("%g: %d cables, want %d of %d", share, len(n.SwitchCables()), want, all)
		}
	}
}

// TestPlaced: every host has one job, jobs are of equal size, and neighbours share one.
func TestPlaced(t *testing.T) {
	t.Parallel()
	const hosts, count = 1000, 7
	jobs := placed(hosts, count, 36, 10, 1)
	var all []int32
	breaks := 0
	for _, job := range jobs {
		n := len(job)
		expect.True(t, n >= hosts/count && n <= hosts/count+1, "a job has %d hosts", n)
		for i := range job {
			if i > 0 && job[i] != job[i-1]+1 {
				breaks++
			}
		}
		all = append(all, job...)
	}
	slices.Sort(all)
	for i, h := range all {
		expect.MustTrue(t, int(h) == i, "host %d is %d", i, h)
	}
	expect.True(t, len(all) == hosts && breaks >= 10 && breaks <= 60, "%d hosts, %d runs that end within a job", len(all), breaks)
}

// TestRestartCases: a cable of three carried a third of the routes between its switches and
// the others are kept; where the memo says that nothing is invalid, all are.
func TestRestartCases(t *testing.T) {
	t.Parallel()
	f := figureOf(t, "memo-table1")
	for i, want := range []float64{0, 0, 100, -1, -1, 100, 100, 100} {
		got := f.row(t, "entries", float64(i)).Value(Median)
		if want < 0 && (got <= 50 || got >= 100) || want >= 0 && got != want {
			t.Errorf("%s: %g %% of the entries are kept, want %g", restartCases[i].row, got, want)
		}
	}
	other, last := f.row(t, "entries", 3).Values[0], f.row(t, "entries", 4).Values[0]
	expect.True(t, last < other, "more is kept without three cables, %g %%, than without one, %g %%", last, other)
	for _, s := range stated()["memo-table1"] {
		if got := f.row(t, s.series, s.x).Value(Median); got != s.Value {
			t.Errorf("%s, %s: %g, the memo has %g", restartCases[int(s.x)].row, s.series, got, s.Value)
		}
	}
}
