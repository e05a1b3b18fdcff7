package sim

import (
	"fmt"
	"testing"
	"time"

	"evbench/results"
)

func lossless(q string) Lossless {
	return Lossless{Packet: 4096, Buffer: 4 * 4096, Lanes: 1, PerOutput: q == "per-output", Delay: 100 * time.Nanosecond, Cable: 10 * time.Nanosecond}
}

func TestPacketsX(t *testing.T) {
	for _, c := range []struct{ mode, schedule, routing string }{
		{results.Sync, "linear-shift", "ftree"}, {results.Sync, "fors", ""}, {results.FreeRunning, "linear-shift", "ftree"}, {results.Unsync, "", "ftree"},
	} {
		for _, dead := range [][]string{nil, {"leaf0-spine1"}} {
			for _, q := range []string{"fifo", "per-output"} {
				j := small(t, c.mode, c.schedule, c.routing, dead...)
				j.Duration = 120 * time.Millisecond
				j.Lossless = lossless(q)
				at := time.Now()
				o, err := Packets(t.Context(), j, nil)
				if err != nil {
					t.Fatal(c, q, err)
				}
				d := time.Since(at)
				f := outcome(t, j)
				balance(t, j, o)
				fmt.Println(c, dead, q, o.Span, f.Span, o.Exchanges, f.Exchanges, float64(f.Span)/float64(f.Exchanges)*float64(o.Exchanges)/float64(o.Span), d)
			}
		}
	}
}
