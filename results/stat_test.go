package results_test

import (
	"testing"
	"testing/quick"

	"evbench/internal/expect"
	"evbench/results"
)

func TestNewStat(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		want results.Stat
	}{
		{nil, results.Stat{}},
		{[]float64{3}, results.Stat{Min: 3, Mean: 3, Median: 3, Max: 3}},
		{[]float64{4, 1}, results.Stat{Min: 1, Mean: 2.5, Median: 2.5, Max: 4}},
		{[]float64{9, 1, 2}, results.Stat{Min: 1, Mean: 4, Median: 2, Max: 9}},
		{[]float64{8, 1, 3, 2}, results.Stat{Min: 1, Mean: 3.5, Median: 2.5, Max: 8}},
	} {
		expect.Equal(t, results.NewStat(tt.in), tt.want, "NewStat(%v)", tt.in)
	}
}

// The order of values does not matter, and as many lie below the median as above.
func TestNewStatProperties(t *testing.T) {
	check := func(raw []int16) bool {
		var values, back []float64
		for i := range raw {
			values = append(values, float64(raw[i]))
			back = append(back, float64(raw[len(raw)-1-i]))
		}
		s := results.NewStat(values)
		below, above := 0, 0
		for _, v := range values {
			if v < s.Median {
				below++
			}
			if v > s.Median {
				above++
			}
		}
		half := len(values) / 2
		return s == results.NewStat(back) && below <= half && above <= half && (len(values) == 0 || s.Min <= s.Mean && s.Mean <= s.Max)
	}
	expect.OK(t, quick.Check(check, nil))
}

// The values are not put in order where they are.
func TestNewStatKeepsInput(t *testing.T) {
	in := []float64{3, 1, 2}
	results.NewStat(in)
	expect.True(t, in[0] == 3 && in[1] == 1, "input became %v", in)
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{
		{[]float64{7}, 0.3, 7},
		{[]float64{1, 2, 4, 9}, 0, 1},
		{[]float64{1, 2, 4, 9}, 0.25, 1.75},
		{[]float64{1, 2, 4, 9}, 0.5, 3},
		{[]float64{1, 2, 4, 9}, 1, 9},
	} {
		expect.Equal(t, results.Quantile(c.values, c.q), c.want, "Quantile(%v, %v)", c.values, c.q)
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		values []int
		want   int
	}{{[]int{3}, 3}, {[]int{9, 1}, 9}, {[]int{5, 1, 3}, 3}, {[]int{4, 1, 3, 2}, 3}} {
		expect.Equal(t, results.Middle(c.values), c.want, "Middle(%v)", c.values)
	}
}
