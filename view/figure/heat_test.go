package figure

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"evbench/results"
	"evbench/testing/expect"
)

func TestHeatMap(t *testing.T) {
	var before, after Heat
	before.Title, after.Title = "before", "after"
	for row, name := range []string{"s1_0", "s1_1"} {
		before.Add(row, 0, name, 160)
		before.Add(row, 1, name, 0)
		after.Add(row, row, name, 60) // a dead cable of s1_1
	}
	f := HeatMap("routes", "cable", "switch", "routes", []Heat{before, after})
	var svg bytes.Buffer
	expect.Must(t, f.WriteSVG(&svg))
	for _, want := range []string{"before: at most 160, 2 without", "after: at most 60, 0 without", "grey: none", "s1_1", ">80<"} {
		expect.True(t, strings.Contains(svg.String(), want), "the drawing does not say %q", want)
	}
	expect.True(t, strings.Count(svg.String(), ">160<") == 2, "the maps have not one scale")
	var csv bytes.Buffer
	const want = "map,switch,column,routes\nbefore,s1_0,0,160\nbefore,s1_0,1,0\nbefore,s1_1,0,160\nbefore,s1_1,1,0\nafter,s1_0,0,60\nafter,s1_1,1,60\n"
	if err := f.Data.WriteCSV(&csv); err != nil || csv.String() != want {
		t.Errorf("%s, %v", csv.String(), err)
	}
	expect.Is(t, HeatMap("", "cable", "switch", "routes", []Heat{{}}).WriteSVG(&svg), ErrNothing)
	for v, want := range map[float64]uint8{0: 1, 0.001: 2, 1: 65, 2: 65} {
		got := shade(v, 1)
		expect.True(t, got == want && int(got) < len(shades), "%g has shade %d of %d, want %d", v, got, len(shades), want)
	}
}

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
