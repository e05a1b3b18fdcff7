package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// TestPlanCases: plans that were wrong or refused, from ../shared beside the checkout: slow hosts, one builder, AB trees.
func TestPlanCases(t *testing.T) {
	need.Heavy(t)
	cases := need.Cases(t, "../..", "plans")
	t.Chdir(t.TempDir())
	python := exec.Command("python3", filepath.Join(cases, "abfat.py"))
	if out, err := python.CombinedOutput(); err != nil {
		t.Logf("no AB trees: %v: %s", err, out)
	}
	for _, tt := range []struct{ command, want string }{
		{"plan -t CASES/slowany.net -e opensm-minhop", "GOOD: In this order the exchange takes 12 steps, the least"},
		{"plan -t CASES/slowany.net", "takes as long as 12 messages in a row, 50.0 % of the link rate: no plan is shorter."},
		{"plan -t CASES/slowhost.net -o p", "duration 34.375 message times, bound 34.375: optimal (proven by node005)\npaths"},
		{"verify -t CASES/slowhost.net p", "duration 34.375 message times, predicted efficiency 0.320"},
		{"verify p", "duration 34.375 message times, predicted efficiency 0.320"},
		{"plan -t CASES/slowtree349.net -o p3", "takes as long as 90.625 messages in a row, 32.0 % of the link rate: no plan is shorter."},
		{"verify -t CASES/slowtree349.net p3", "duration 90.625 message times, predicted efficiency 0.320"},
		{"plan -t CASES/hyperx.net -e sssp --readers h[0-17] --builders h3", "takes 17 steps, the least"},
		{"plan -t CASES/hyperx.net -e sssp --readers server0-17 --builders server3", "takes 17 steps, the least"},
		{"plan -t FT(2;4,4) --readers h0-7 --builders h[8-15]", "GOOD: "},
		{"plan -t ab4.net", "takes 16 steps"},
		{"plan -t ab4d.net", "takes 18 steps, the least"},
		{"plan -t ab6.net", "takes 57 steps"},
		{"whatif -t ab4.net --quiet", "GOOD: With 1 dead cable the planned order takes at most 28 steps, without any 16."},
	} {
		args := strings.Fields(strings.ReplaceAll(tt.command, "CASES", cases))
		name := args[min(2, len(args)-1)]
		if _, gone := os.Stat(name); gone != nil && strings.HasPrefix(name, "ab") || !expect.All() && name == "ab6.net" {
			continue
		}
		_, text := said(t, args...)
		expect.Contains(t, text, tt.want)
	}
}

// TestECMPCases: the trees of ../shared/cases/networks, were their switches to choose by a hash: what ports give there is the
// least that any plan takes, also over parallel cables.
func TestECMPCases(t *testing.T) {
	need.Heavy(t)
	need.Namespaces(t)
	cases, dir := need.Cases(t, "../..", "networks"), t.TempDir()
	for name, steps := range map[string]int{
		"01-aggregation.txt": 1, "02-split-hdr100.txt": 7, "04-slow-cable-spare.txt": 3, "05-storage-leaf-has-more-cables.txt": 8, "07-grouped.txt": 2, "09-host-on-spine.txt": 3,
		"13-loopback-cable.txt": 3, "14-chain.conf": 4, "15-topology.yaml": 4, "16-scontrol.txt": 4, "20-same-switch-names.txt": 3,
	} {
		write(t, dir, "s.yaml", fmt.Sprintf("topology: %s\nfabric: lab\ncases: [{routing: ecmp, mode: unsynchronised}]\n", filepath.Join(cases, name)))
		code, out, said := output(t, dir, "paths", "s.yaml", "-o", "paths.txt", "--quiet")
		expect.True(t, code == exitDone, "%s: exit %d: %s%s", name, code, out, said)
		_, out, said = output(t, dir, "plan", "--paths", "paths.txt", "-o", "plan.txt")
		want := fmt.Sprintf("GOOD: With the ports of the plan the exchange takes %d steps, the least over these ports; linear shift over plain ECMP takes ", steps)
		expect.True(t, strings.HasPrefix(out, want), "%s: %s%s", name, out, said)
	}
}
