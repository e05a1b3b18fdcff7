package results

import (
	"fmt"
	"testing"

	"evbench/testing/expect"
)

// What rose between two readings is added up; what was set back, what appeared, and what stayed is not.
func TestRisen(t *testing.T) {
	p := func(port, counter string, n uint64) PortCount {
		return PortCount{Switch: "leaf1", Port: port, Counter: counter, Count: n}
	}
	before := []PortCount{p("a", "SymbolErrorCounter", 5), p("b", "PortXmitWait", 100), p("c", "x", 9), p("d", "x", 1)}
	after := []PortCount{p("a", "SymbolErrorCounter", 7), p("b", "PortXmitWait", 150), p("c", "x", 2), p("d", "x", 1), p("e", "x", 4)}
	once := Risen(nil, before, after)
	expect.Equal(t, fmt.Sprint(once), "[{leaf1 b PortXmitWait 50 } {leaf1 a SymbolErrorCounter 2 }]", "once")
	expect.Equal(t, fmt.Sprint(Risen(once, before, after)), "[{leaf1 b PortXmitWait 100 } {leaf1 a SymbolErrorCounter 4 }]", "twice")
	expect.True(t, Risen(nil, nil, after) == nil && fmt.Sprint(Risen(once, nil, nil)) == fmt.Sprint(once), "one reading alone")
	expect.True(t, once[1].IsError() && !once[0].IsError() && p("a", "rx_crc_errors", 1).IsError() && !p("a", "tx_pfc_frames", 1).IsError(), "errors")
}

func TestCountersSince(t *testing.T) {
	now := Counters{Errors: 5, XmitWait: 9, Marks: 3}
	expect.Equal(t, now.Since(Counters{Errors: 2, XmitWait: 10}), Counters{Errors: 3, Marks: 3}, "since")
}
