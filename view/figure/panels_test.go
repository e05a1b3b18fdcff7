package figure

import (
	"fmt"
	"testing"

	"evbench/results"
	"evbench/testing/expect"
)

// Lines of throughput end with each slice.
func TestSlicesAreParted(t *testing.T) {
	slice := func(name string, rejected string) results.Slice {
		return results.Slice{Case: name, MeasuredSec: 2, GoodputBitPerSec: 1, Complete: true, Rejected: rejected}
	}
	s := Source{Run: &results.Run{Summary: results.Summary{Slices: []results.Slice{slice("a", ""), slice("b", ""), slice("a", "noise"), slice("a", ""), slice("a", "")}}}}
	borders := s.borders(results.Case{Name: "a"})
	expect.Equal(t, fmt.Sprint(borders), "[2 4]", "borders")
	var got []int
	for _, part := range parted([]moment{{t: 1}, {t: 2.01}, {t: 3}, {t: 4}, {t: 5}}, borders) {
		got = append(got, len(part))
	}
	expect.Equal(t, fmt.Sprint(got), "[2 2 1]", "moments of each slice")
	expect.Equal(t, len(parted([]moment{{t: 1}, {t: 9}}, s.borders(results.Case{Name: "c"}))), 1, "parts of a case without slices")
}
