package survey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"evbench/study/survey"
)

// The first three figures are measured with the clock and the counter they were
// given; then the caller has seen enough.
func TestRoutesMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("networks of 2,592 hosts")
	}
	ticks, bytes := 0, uint64(0)
	enough := errors.New("enough")
	var got []survey.RouteFigure
	err := survey.Routes(t.Context(), survey.RoutesOptions{
		Quick:     true,
		Clock:     func() time.Duration { ticks++; return time.Duration(ticks) * time.Millisecond },
		Allocated: func() uint64 { bytes += 1000; return bytes },
	}, func(f survey.RouteFigure) error {
		if got = append(got, f); len(got) == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	for _, f := range got {
		if f.Runs != 3 || f.Median != time.Millisecond || f.Max != time.Millisecond || f.Allocated != 1000 || f.Reached != f.Pairs || f.Pairs != 2592*2591 {
			t.Errorf("%+v", f)
		}
	}
	if got[2].Note != "opensm-minhop takes 1 times as long" {
		t.Errorf("%+v", got[2])
	}
}

func TestRoutesStops(t *testing.T) {
	never := func(f survey.RouteFigure) error {
		t.Errorf("a figure that nobody asked for: %+v", f)
		return nil
	}
	if err := survey.Routes(t.Context(), survey.RoutesOptions{Most: 1}, never); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := survey.Routes(ctx, survey.RoutesOptions{}, never); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRoutesTable(t *testing.T) {
	var text strings.Builder
	table := survey.RoutesTable([]survey.RouteFigure{
		{Work: "dmodc", Network: "FT(2;4,8)", Published: "1 s", Reach: "2 s", Runs: 3, Median: 1500 * time.Microsecond, Max: 2 * time.Millisecond,
			Allocated: 2_000_000, Pairs: 992, Reached: 992},
		{Work: "updn", Network: "FT(2;4,8)", Runs: 3, Pairs: 992, Reached: 960},
		{Work: "qft", Network: "FT(2;4,8)", Note: "no figure: refused"},
	})
	if err := table.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"dmodc  FT(2;4,8)  1 s        2 s       3       1.50    2.00   2  all         -\n",
		"960 of 992",
		"qft    FT(2;4,8)  -          -         0          -       -   -  -           no figure: refused\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
