package papers

import "testing"

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
	if other, last := f.row(t, "entries", 3).Values[0], f.row(t, "entries", 4).Values[0]; last >= other {
		t.Errorf("more is kept without three cables, %g %%, than without one, %g %%", last, other)
	}
	for _, s := range stated()["memo-table1"] {
		if got := f.row(t, s.series, s.x).Value(Median); got != s.Value {
			t.Errorf("%s, %s: %g, the memo has %g", restartCases[int(s.x)].row, s.series, got, s.Value)
		}
	}
}
