package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// said runs evbench, and returns its exit code and what it said on both streams.
func said(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"evbench"}, args...), &out, &out)
	return code, out.String()
}

// The first lines of cases/fabrics: arguments, with the files of the folder, and what the first line begins with.
func TestFabricCases(t *testing.T) {
	t.Chdir(need.Cases(t, "../..", "fabrics"))
	for _, c := range fabricCases {
		args := strings.Fields(c.args)
		if args[0] == "plan" {
			args = append(args, "-o", "/dev/null")
		}
		code, text := said(t, args...)
		answer := regexp.MustCompile(`(?m)^(GOOD|BAD|NOT KNOWN|evbench): .*$`).FindString(text)
		expect.True(t, code == c.code && regexp.MustCompile(c.want).MatchString(text), "%s: exit %d (want %d), %s; want %s\n%s", c.args, code, c.code, answer, c.want, text)
		if c.not != "" {
			expect.False(t, strings.Contains(text, c.not), "%s: %q in %s", c.args, c.not, text)
		}
	}
}

var fabricCases = []struct {
	args string
	code int
	want string // regular expression
	not  string
}{
	{"failures stats --year 2026 01-opensm-default-level.log", exitDone, `^NOT KNOWN: Links changed state at least 2 times, the log does not say which: run opensm with -D 0x47\.`, "No link failed"},
	{"failures stats 03-flapping.csv", exitDone, `^BAD: leaf1/33 failed 100 times \(one period of flapping\): (?s:.*)half of them last at most 5s`, "GOOD"},
	{"failures stats 04-ufm-went-up.log --allow 2", exitDone, `^GOOD: 2 failures of 1 link in 4m36s; half of them last at most 45\.329s\.`, ""},
	{"routes check 02-ring6-dfsssp.lft -t 02-ring6.txt", exitDone, `^NOT KNOWN: On one lane packets can block each other in a cycle, and a dump has no lanes: give the service levels \(--sl\)\.`, "BAD"},
	{"routes check 02-ring6-dfsssp.lft -t 02-ring6.txt --sl 02-ring6-sl.txt", exitDone, `^GOOD: All 132 pairs of hosts reach each other, without a deadlock;(?s:.*)deadlock: none, 48 dependencies, lanes 8`, ""}, // 48: cdg.py
	{"routes check -e dfsssp -t 02-ring6.txt", exitDone, `^GOOD: All 132 pairs`, ""},
	{"routes check 05-one-switch-missing.lft.gz -t 05-megafly.txt", exitFailed, `^NOT KNOWN: The dump has no table of g4l1: dump it again\.`, ""},
	{"topo show -t 06-storage-plane.txt", exitDone, `^network `, "dead"},
	{"plan -t 06-storage-plane.txt --hosts 06-hosts.txt", exitDone, `(?m)^GOOD: The exchange by fors takes as long as 5 messages in a row, 100\.0 % .*\n.*, 6 servers, 0 of 6 links dead`, "missing"},
	{"plan -t 06-storage-plane.txt", exitDone, `72 pairs of hosts are in different networks and have no way by design(?s:.*)GOOD: The exchange by fors takes as long as 5 messages`, "missing"},
	{"routes check -t 06-storage-plane.txt -e minhop", exitDone, `^GOOD: All 60 pairs of hosts reach each other, without a deadlock\.\n  because  72 pairs are in different networks and have no way by design`, ""},
	{"whatif -t 06-storage-plane.txt --quiet", exitDone, `(?m)^GOOD: Whichever link dies, .*\n  because  this is the network of switch1, of 2 that no cable joins: 72 pairs of hosts have no way by design(?s:.*), 6 servers, (?s:.*)\nnetwork of switch-storage1, 6 hosts: one switch`, "missing"},
	{"whatif -t 06-storage-plane.txt --quiet --tables-engine minmax", exitDone, `(?m)^GOOD: .* at most 6 steps, without any 5\.\n  because  this is the network of switch1, of 2 that no cable joins`, "missing"},
	{"whatif -t 06-storage-plane.txt --shard 1/2 --journal x", exitUsage, `--shard: not with several networks`, ""},
	{"whatif -t 06-storage-plane.txt --hosts 06-hosts.txt --quiet", exitDone, `(?m)^GOOD: Whichever link dies, `, "missing"},
	{"plan -t 07-xdr-planes.net_dump", exitDone, `^07-xdr-planes.net_dump: 4 planes of XDR are taken for one network, each cable for 4 of 200 Gbit/s\nGOOD: .* 3 messages in a row, 100\.0 %`, ""},
	{"judge -t 07-xdr-planes.net_dump --result 400Gbit/s", exitDone, `(?m)^BAD: 50\.0% of the link rate was measured`, ""},
	{"topo show -t 09-booksim.anynet", exitUsage, `^evbench: 09-booksim.anynet: this is a network of BookSim \(anynet\), which is not read; give a cable a line`, ""},
	{"topo show -t 09-clab.yml", exitUsage, `this is a topology of containerlab, which`, ""},
	{"topo show -t 09-htsim.topo", exitUsage, `this is a topology of htsim, which is not read; give a notation such as FT\(2;4,4\), or a cable a line`, ""},
	{"topo show -t 09-ns3-topology.txt", exitUsage, `this is a topology of ns-3 or ASTRA-sim, which`, ""},
	{"topo show -t 09-opaextractlink.csv", exitUsage, `this is the output of opaextractlink \(Omni-Path\), which`, ""},
	{"topo show -t 09-simgrid.xml", exitUsage, `this is a platform of SimGrid, which`, ""},
	{"topo show -t 09-ufm-links.json", exitUsage, `this is UFM's JSON, which`, ""},
	{"topo show -t 09-ufm.ndt", exitUsage, `this is UFM's NDT, which`, ""},
	{"topo show -t 09-zoo.graphml", exitUsage, `this is GraphML, which`, ""},
	{"topo show -t 10-empty-leaf.conf", exitDone, `(?s)^10-empty-leaf.conf: switch leaf-b has no nodes: left out\n.*hosts +4\n.*switches +3:`, ""},
	{"topo show -t 10-include.conf", exitUsage, `this is a file with an Include of Slurm, which`, "ibnetdiscover"},
	{"routes jobs -t ok-daq.txt 11-pending-array.txt", exitUsage, `^evbench: 11-pending-array.txt: no host of its jobs is in the network ok-daq.txt: n1, n2, n3, n4, n5, n6`, ""},
	{"routes jobs -t ok-daq.txt 11-sacct-P.txt", exitUsage, `^evbench: 11-sacct-P.txt: no host of its jobs is in the network ok-daq.txt: n1, n2, n3, n4, n5, n6`, ""},
	{"judge -t 12-half-cabled-spine.txt", exitDone, `(?m)^(?:GOOD|NOT KNOWN): The network can do 88\.9% of the link rate at most`, "repair "},
	{"topo show -t ../networks/07-grouped.txt", exitDone, `(?s)hosts +3\n.*switches +3: 2 on level 1, 1 on level 2`, ""},
	{"plan -t ../networks/08-warning-line.txt", exitDone, `GOOD: .* 3 messages in a row, 100\.0 %`, ""},
	{"plan -t ../networks/13-loopback-cable.txt", exitDone, `GOOD: .* 3 messages in a row`, ""},
	{"topo show -t ../networks/14-chain.conf", exitDone, `2 on level 1, 1 on level 2`, ""},
	{"topo show -t ../networks/16-scontrol.txt", exitDone, `hosts +4\n`, ""},
	{"plan -t ../networks/22-single-switch.txt", exitDone, `GOOD: .* 3 messages in a row, 100\.0 %`, ""},
	{"plan -t ../networks/02-split-hdr100.txt", exitDone, `GOOD: .* 7 messages in a row, 100\.0 %`, ""},
	{"routes check ../networks/01-aggregation.lft -t ../networks/01-aggregation.txt", exitDone, `^GOOD: `, ""},
	{"plan -t ok-islands.txt", exitDone, `GOOD: .* 8 steps, the least that these tables allow(?s:.*)planned +8 +87\.5 %`, ""},
	{"plan -t ok-daq.txt --readers flp[01-08] --builders epn[01-10]", exitDone, `GOOD: .* 10 messages in a row`, ""},
	{"plan -t ok-half-depth.txt", exitDone, `n01 mlx5_0 sends 15 messages`, ""},
	{"plan -t ok-hdr.net_dump", exitDone, `GOOD: .* 3 messages in a row`, ""},
	{"plan -t ok-cascade.txt", exitDone, `24 (?:messages in a row|steps|message times)`, ""},
}

// Three levels of thousands of hosts as files: a whole tree has a closed form; others are refused with the bound, and judged.
func TestLargeFabricCases(t *testing.T) {
	need.Heavy(t) // it reads 20,000 hosts
	generator := filepath.Join(need.Cases(t, "../..", "fabrics"), "08-gen-three-levels.py")
	t.Chdir(t.TempDir())
	for _, c := range []struct{ sizes, plan, share string }{
		{"13 20 20 20 400", `^GOOD: .* 5199 messages in a row, 100\.0 % of the link rate: no plan is shorter`, "100.0%"},
		{"25 20 20 20 200", `no plan takes less than 19200 phases \(bound proven by pod0\), and so many .*--schedule linear-shift`, "52.1%"},
		{"40 20 25 20 400", `no plan takes less than 24969 phases \(bound proven by leaf0\), and so many .*--schedule linear-shift`, "80.1%"},
	} {
		if out, err := exec.Command("python3", append(append([]string{generator}, strings.Fields(c.sizes)...), "net.txt")...).CombinedOutput(); err != nil {
			need.Optional(t, fmt.Sprintf("python3: %v: %s", err, out))
		}
		_, text := said(t, "plan", "-t", "net.txt", "-o", "/dev/null")
		expect.True(t, regexp.MustCompile(c.plan).MatchString(strings.TrimPrefix(text, "evbench: schedule fors: ")), "%s: %s", c.sizes, text)
		_, text = said(t, "judge", "-t", "net.txt")
		expect.Contains(t, text, "The network can do "+c.share+" of the link rate at most")
	}
}

// What the page says makes networks of other tools' files: hosts, switches and cables between switches of each.
func TestOtherToolsNetworks(t *testing.T) {
	dir := need.Cases(t, "../..", "fabrics")
	page := string(expect.Value(os.ReadFile("../../docs/reference/inputs.md"))(t))
	own := t.TempDir()
	write(t, own, "cables.csv", "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\nleaf1,dcim.interface,e1,n1,dcim.interface,eth0\nleaf1,dcim.interface,e2,n2,dcim.interface,eth0\n")
	write(t, own, "keyvalue", "lldp.eth0.via=LLDP\nlldp.eth0.chassis.name=zleaf\nlldp.eth1.chassis.name=aleaf\n")
	for begin, c := range map[string]struct{ file, want string }{
		"ns-3, ASTRA-sim": {dir + "/09-ns3-topology.txt", "4 2 1, the first cable 200 Gbit/s"},
		"BookSim anynet":  {dir + "/09-booksim.anynet", "4 4 4, the first cable 0 Gbit/s"},
		"UFM's NDT":       {dir + "/09-ufm.ndt", "1 2 2, the first cable 0 Gbit/s"},
		"opaextractlink":  {dir + "/09-opaextractlink.csv", "2 1 0, the first cable 100 Gbit/s"},
		"containerlab":    {dir + "/09-clab.yml", "2 4 4, the first cable 0 Gbit/s"},
		"netbox":          {own + "/cables.csv", "2 1 0, the first cable 0 Gbit/s"},
	} {
		line := regexp.MustCompile("(?m)^" + begin + " +(awk .*) \\S+$").FindStringSubmatch(page)
		expect.MustTrue(t, line != nil, "no line for %s", begin)
		_, cables, wrong := sh(t, own, line[1]+" '"+c.file+"'")
		write(t, own, "cables.txt", cables)
		s, err := netfile.Read(filepath.Join(own, "cables.txt"), 0)
		expect.MustTrue(t, err == nil && s.Form == netfile.Edges, "%s: %v, %s%s", begin, err, cables, wrong)
		n := s.Whole
		got := fmt.Sprintf("%d %d %d, the first cable %g Gbit/s", n.Hosts(), n.Switches(), len(n.SwitchCables()), n.Rate(network.End{Node: 0, Port: 1})/1e9)
		expect.Equal(t, got, c.want, "%s: hosts, switches, cables", begin)
	}
	line := regexp.MustCompile(`(?m)^LLDP, each node +lldpctl -f keyvalue \| (awk .*)$`).FindStringSubmatch(page)
	expect.MustTrue(t, line != nil, "no line for LLDP")
	_, cables, _ := sh(t, own, "hostname() { echo n1; }; "+line[1]+" keyvalue")
	expect.Equal(t, cables, "n1,zleaf\n", "of LLDP")
}

// Host lists of every form name the same two hosts.
func TestHostListCases(t *testing.T) {
	dir := need.Cases(t, "../..", "outputs/hosts")
	_, text, _ := output(t, t.TempDir(), "topo", "convert", "FT(2;2,2)", "--format", "ibnetdiscover")
	net := filepath.Join(t.TempDir(), "net.txt")
	write(t, filepath.Dir(net), "net.txt", regexp.MustCompile(`"h(\d)"`).ReplaceAllStringFunc(text, func(h string) string { return `"node00` + string(h[2]+1) + ` mlx5_0"` }))
	for _, f := range expect.Value(os.ReadDir(dir))(t) {
		code, text := said(t, "plan", "-t", net, "--hosts", filepath.Join(dir, f.Name()), "-o", "/dev/null")
		if f.Name() == "slurm-env" { // which rank runs where is not in it
			expect.True(t, code == exitUsage && strings.Contains(text, "SLURM_DISTRIBUTION is missing"), "%s: %d, %s", f.Name(), code, text)
			continue
		}
		expect.True(t, code == exitDone && strings.Contains(text, "FT(2;2,2), 2 servers"), "%s: %d, %s", f.Name(), code, text)
	}
	long := "h0" + strings.Repeat(",h1", 100)
	code, text := said(t, "plan", "-t", "FT(2;2,2)", "--hosts", long, "-o", "/dev/null")
	expect.True(t, code == exitUsage && strings.HasPrefix(text, "evbench: --hosts: no file h0,h1,h1") && strings.Contains(text, "line 1: h0 has 1 rank and h1 has 100"), "%d, %s", code, text)
}
