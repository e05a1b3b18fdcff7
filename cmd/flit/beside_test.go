package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestBookSimConfig: the cases that BookSim runs as published, and those that it does not.
func TestBookSimConfig(t *testing.T) {
	c := Case{
		"sim": BookSim, "topology": "kary(4,2)", "routing": "nca", "traffic": "uniform", "pipeline": "lean", "vcs": "1", "buf_flits": "32",
		"packet_flits": "16", "offered": "0.3", "warmup_cycles": "10000", "measured_cycles": "30000", "seed": "4",
	}
	text, ok := BookSimConfig(c)
	for _, want := range []string{"k=4;", "n=2;", "injection_rate=0.3;", "vc_buf_size=32;", "routing_delay=0;", "warmup_periods=5;", "max_samples=20;", "seed=4;"} {
		if !ok || !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	for field, other := range map[string]string{
		"sim": OMNeT, "topology": "ft44_healthy", "routing": "dmodk", "traffic": "shift(1)", "pipeline": "lean-vct", "offered": "batch", "measured_cycles": "1",
	} {
		changed := Seeded(c, 0)
		changed[field] = other
		if _, ok := BookSimConfig(changed); ok {
			t.Errorf("%s %s: BookSim runs it without additions", field, other)
		}
	}
}

// TestBookSimAccepted: the rate over the whole window counts, not that of a sample.
func TestBookSimAccepted(t *testing.T) {
	text := "Accepted flit rate average= 0.57235\n====== Overall Traffic Statistics ======\nAccepted flit rate average = 0.571885 (1 samples)\n"
	if v, err := BookSimAccepted(text); err != nil || v != 0.571885 {
		t.Errorf("%v, %v; want 0.571885", v, err)
	}
	if _, err := BookSimAccepted("Parse error on line 1"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("%v: it must say what was printed", err)
	}
}

func TestPrintBeside(t *testing.T) {
	var out bytes.Buffer
	PrintBeside(&out, []Beside{{
		Case:   Case{"case": "x"},
		Ours:   []Side{{0.5, time.Second}, {0.52, time.Second}},
		Theirs: []Side{{0.5, 20 * time.Second}, {0.5, 40 * time.Second}},
	}})
	for _, want := range []string{"0.51000", "+2.00 %", "6.00 %", "30 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, &out)
		}
	}
}
