package sim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"evbench/plan"
	"evbench/results"
	"evbench/sim/credit"
	"evbench/topology"
)

func TestLHCbX(t *testing.T) {
	if os.Getenv("LHCB") == "" {
		t.Skip()
	}
	atoi := func(k string, d int) int {
		if v, err := strconv.Atoi(os.Getenv(k)); err == nil {
			return v
		}
		return d
	}
	fill := []int{19, 19, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18}
	var down []string
	for range atoi("DEAD", 0) {
		down = []string{"leaf0-spine0"}
	}
	tr := treeOf(t, topology.Options{Ports: 20, Leaves: 18, Fill: fill}, down...)
	mode, sched, rt := results.Unsync, "", "ftree"
	if os.Getenv("MODE") != "" {
		mode, sched = os.Getenv("MODE"), "linear-shift"
	}
	if down != nil {
		rt = "minhop"
	}
	pkt := atoi("PKT", 65536)
	frag := atoi("FRAG", 2350000)
	j := &Job{
		Name: "x", Mode: mode, Plan: planOf(t, tr, plan.Options{Schedule: sched, Routing: rt, Seed: 1}),
		Size: func(uint64, int) int { return frag }, Header: 40, Credits: atoi("CRED", 1), Sources: atoi("SRC", 0), Interval: 20 * time.Millisecond, BitPerSec: 200e9 * 4096 / 4162, Seed: 7,
		Duration: time.Duration(atoi("MS", 1)) * time.Millisecond,
	}
	q := os.Getenv("Q")
	j.Lossless = Lossless{Packet: pkt, Buffer: atoi("BUF", 4) * pkt, Lanes: atoi("LANES", 1), PerOutput: q == "per-output", Reads: 3, Delay: 100 * time.Nanosecond, Cable: 50 * time.Nanosecond, Choice: credit.Choice(atoi("CHOICE", 0)), InOrder: os.Getenv("ORDER") != ""}
	at := time.Now()
	o, err := Packets(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got uint64
	for _, g := range o.Received {
		got += g
	}
	fmt.Println(q, mode, "exchanges", o.Exchanges, "span", o.Span, "Gbit/s per server", float64(got)*8/o.Span.Seconds()/326/1e9, "took", time.Since(at))
}
