package results

import (
	"testing"

	"evbench/internal/expect"
)

// A rate has the unit that leaves it three digits, and what differs from it in per cent says so.
func TestRateText(t *testing.T) {
	for bit, want := range map[float64]string{
		0: "0 bit/s", 12: "12 bit/s", 9.82e6: "9.82 Mbit/s", 62.9e6: "62.9 Mbit/s", 999.4e6: "999 Mbit/s", 999.6e6: "1 Gbit/s",
		1e9: "1 Gbit/s", 91.27e9: "91.3 Gbit/s", 2.5e12: "2.5 Tbit/s", 5400: "5.4 kbit/s",
	} {
		expect.Equal(t, rateText(bit), want, "%g", bit)
	}
	lo, hi := 8.45e6, 11.19e6
	slow := Case{Name: "one", Mode: Sync, Schedule: "fors", Routing: "pinned", Assessment: Assessment{Estimate: &Estimate{Of: OfGoodput, Interval: Interval{Median: 9.82e6, Lo: &lo, Hi: &hi}}}}
	if got, want := clause([]Case{slow}, []int{0}, 0, true, false), "fors over pinned reaches 9.82 Mbit/s per server (±14 %)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGoodputUnit(t *testing.T) {
	at := func(bit ...float64) (cases []Case) {
		for _, b := range bit {
			cases = append(cases, Case{Rates: Rates{GoodputBitPerSec: Stat{Mean: b}}})
		}
		return cases
	}
	for _, tt := range []struct {
		cases []Case
		want  string
	}{{at(), "Gbit/s"}, {at(0), "Gbit/s"}, {at(9e6, 80e6), "Mbit/s"}, {at(9e6, 2e9), "Gbit/s"}} {
		expect.Equal(t, GoodputUnit(tt.cases).Name, tt.want, "%+v", tt.cases)
	}
}
