package netfile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/scheduler"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
)

// split is four leaves of 40 hosts of 2xHDR, with a cable of 4xHDR to each of 20 spines.
func split(t *testing.T) *network.Network {
	n := parse(t, "PGFT(2;40,4;1,20;1,1)", 0)
	rates := map[network.End]float64{}
	for _, c := range n.Cables() {
		if rates[c.A] = 200e9; n.IsHost(c.A.Node) {
			rates[c.A] = 100e9
		}
	}
	return n.WithRates(rates)
}

// TestSlowCables: topo show names cables slower than most of their kind, and those without a rate; not hosts with less than uplinks.
func TestSlowCables(t *testing.T) {
	n := split(t)
	expect.Equal(t, len(network.Summarise(n, n, nil).Warnings), 0, "warnings")
	rates := map[network.End]float64{}
	for i, c := range n.Cables() {
		if rates[c.A] = n.Rate(c.A); i == 0 {
			rates[c.A] = 25e9
		}
	}
	between := n.SwitchCables()
	rates[between[3].A] = 16e9
	delete(rates, between[5].A)
	n = n.WithRates(rates)
	expect.Equal(t, network.Summarise(n, n, nil).Warnings, []string{
		"1 cable to hosts slower than most, which have 100Gbit/s: " + n.CableName(n.Cables()[0]) + " (25Gbit/s)",
		"1 cable between switches slower than most, which have 200Gbit/s: " + n.CableName(between[3]) + " (16Gbit/s)",
		"1 cable, such as " + n.CableName(between[5]) + ", without a rate that is known here: taken for as fast as others",
	}, "warnings")
}

// TestRatesAreKept writes widths and speeds and reads them again: a plan of what was written takes as long.
func TestRatesAreKept(t *testing.T) {
	n := split(t)
	for form, write := range map[string]func(io.Writer, *network.Network) error{"yaml": netfile.WriteYAML, "ibnetdiscover": netfile.WriteIB} {
		var text bytes.Buffer
		expect.Must(t, write(&text, n), "%s", form)
		name := filepath.Join(t.TempDir(), "net")
		expect.Must(t, os.WriteFile(name, text.Bytes(), 0o600))
		src, err := netfile.Read(name, 0)
		expect.MustTrue(t, err == nil, "%s: %v", form, err)
		again := src.Whole
		for _, c := range again.Cables() {
			want := 200e9
			if again.IsHost(c.A.Node) {
				want = 100e9
			}
			expect.MustTrue(t, again.Rate(c.A) == want && again.Rate(c.B) == want, "%s: %v has %g", form, c, again.Rate(c.A))
		}
		p := expect.Value(network.TreeOf(again))(t)
		s, bound, err := scheduler.FORS(p.Tree, scheduler.Options{})
		expect.True(t, err == nil && s.Phases == 159 && bound.Phases == 159, "%s: %v, %d phases, bound %d", form, err, s.Phases, bound.Phases)
	}
	_, err := netfile.ReadYAML(strings.NewReader("hosts: [{name: a}, {name: b}]\nswitches: [{name: s, ports: 2}]\ncables:\n  - [a, s/1, fast]\n  - [b, s/2]\n"))
	expect.Error(t, err, "line 4: cables[0][2]: \"fast\": write width and speed of a cable, such as 4xHDR")
}
