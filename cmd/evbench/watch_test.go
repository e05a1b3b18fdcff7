package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evbench/internal/unit"
	"evbench/scenario"
	"evbench/testing/expect"
)

// Links carry a burst in the time that is theirs: all of an exchange, or some fragments, or one that is shorter.
func TestThin(t *testing.T) {
	for _, tt := range []struct {
		rate     string
		fragment unit.Bytes
		asked    bool
		want     string
	}{
		{"10Gbit/s", 64 << 10, false, "64KiB, to 0, warm-up 1"},
		{"500Mbit/s", 64 << 10, false, "64KiB, to 0, warm-up 0"},
		{"100Mbit/s", 64 << 10, false, "64KiB, to 3, warm-up 0"},
		{"10Mbit/s", 64 << 10, false, "24KiB, to 1, warm-up 0"},
		{"10Mbit/s", 64 << 10, true, "64KiB, to 1, warm-up 0"},
		{"1Mbit/s", 64 << 10, false, "4KiB, to 1, warm-up 0"},
	} {
		s := expect.Value(scenario.Read("s.yaml", strings.NewReader("topology: FT(2;4,4)\nfabric: {kind: emulate, rate: "+tt.rate+"}\ncases: [{schedule: linear-shift}]\n")))(t)
		s.Event.Fragment = tt.fragment
		thin(s, tt.asked, 20*time.Millisecond)
		got := fmt.Sprintf("%v, to %d, warm-up %d", s.Event.Fragment, s.Event.Sizes.Fanout, s.Warmup)
		expect.True(t, got == tt.want, "%s: %s, not %s", tt.rate, got, tt.want)
	}
}
