package survey_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"evbench/study/survey"
)

// figures are what the golden table shows.
var figures = []survey.Figure{
	{Work: "FT(2;4,8), 0..9 dead", Published: "not stated", Runs: 3, Median: 1500 * time.Microsecond, Max: 2 * time.Millisecond,
		Allocated: 2_500_000, Judged: 3, Valid: 3, AtBound: 2, Note: "31, 38, 40 phases, at most 1 above the bound"},
	{Work: "judge", Published: "not stated", Runs: 5, Median: 250 * time.Microsecond, Max: time.Millisecond, Judged: 5, Valid: 5, AtBound: -1},
	{Work: "repair", Published: "148.69 s", AtBound: -1, Note: "no figure: no schedule"},
}

// The first figure is measured with the clock and the counter it was given, and
// all its plans are judged; then the caller has seen enough.
func TestPlannerMeasures(t *testing.T) {
	ticks, bytes := 0, uint64(0)
	enough := errors.New("enough")
	var got survey.Figure
	err := survey.Planner(t.Context(), survey.PlannerOptions{
		Quick:     true,
		Most:      3,
		Clock:     func() time.Duration { ticks++; return time.Duration(ticks) * time.Millisecond },
		Allocated: func() uint64 { bytes += 1000; return bytes },
	}, func(f survey.Figure) error {
		got = f
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if got.Runs != 3 || got.Judged != 3 || got.Valid != 3 || got.AtBound != 3 || got.Median != time.Millisecond || got.Max != time.Millisecond || got.Allocated != 1000 {
		t.Errorf("%+v", got)
	}
}

func TestPlannerStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := survey.Planner(ctx, survey.PlannerOptions{
		Quick: true, Clock: func() time.Duration { return 0 }, Allocated: func() uint64 { return 0 },
	}, func(f survey.Figure) error {
		t.Errorf("a figure after the end: %+v", f)
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
