package load

import (
	"math"
	"testing"
	"time"

	"evbench/testing/expect"
)

// What builders do takes its mean on average, spreads as its distribution says, and is the same for the same event.
func TestBuilds(t *testing.T) {
	for _, tt := range []struct {
		v      Variation
		spread float64 // standard deviation over the mean
	}{
		{Variation{}, 0}, {Variation{Kind: Uniform, Spread: .6}, .6 / math.Sqrt(3)}, {Variation{Kind: Exponential}, 1},
		{Variation{Kind: LogNormal, Sigma: .5}, math.Sqrt(math.Expm1(.25))},
	} {
		l := Load{Build: time.Millisecond, Varies: tt.v, Slow: []int{3}}
		const n = 100_000
		sum, squares := 0.0, 0.0
		for event := range uint64(n) {
			x := l.Builds(0, event, 7)
			expect.MustTrue(t, x >= 0 && x <= most*l.Build && x == l.Builds(0, event, 7), "%+v: %v", tt.v, x)
			sum, squares = sum+x.Seconds()*1e3, squares+x.Seconds()*x.Seconds()*1e6
		}
		mean := sum / n
		expect.True(t, math.Abs(mean-1) < .02 && math.Abs(math.Sqrt(max(0, squares/n-mean*mean))-tt.spread) < .02, "%+v: mean %.3f", tt.v, mean)
		expect.Equal(t, l.Builds(3, 5, 7)/2, l.Builds(0, 5, 7), "%+v: slow", tt.v)
	}
	expect.Equal(t, testing.AllocsPerRun(100, func() { Load{Build: 1, Varies: Variation{Kind: Exponential}}.Builds(0, 1, 2) }), 0.0, "allocations")
}
