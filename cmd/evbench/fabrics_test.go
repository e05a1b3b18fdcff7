package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// shared returns a folder of cases beside the checkout.
func shared(t *testing.T, folder string) string {
	t.Helper()
	dir := expect.Value(filepath.Abs("../../../shared/cases/" + folder))(t)
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	return dir
}

// said runs evbench, and returns its exit code and what it said on both streams.
func said(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), append([]string{"evbench"}, args...), &out, &out)
	return code, out.String()
}

// The first lines of cases/fabrics: arguments, with the files of the folder, and what the first line begins with.
func TestFabricCases(t *testing.T) {
	t.Chdir(shared(t, "fabrics"))
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
	{"failures stats --year 2026 01-opensm-default-level.log", exitDone, `^NOT KNOWN: Links changed state 3 times, the log does not say which: run opensm with -D 0x47\.`, "No link failed"},
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
	{"whatif -t 06-storage-plane.txt", exitUsage, `evbench: 06-storage-plane.txt: several networks that no cable joins`, "missing"},
	{"whatif -t 06-storage-plane.txt --hosts 06-hosts.txt --quiet", exitDone, `(?m)^GOOD: Whichever 1 of 6 links dies, `, "missing"},
	{"plan -t 07-xdr-planes.net_dump", exitDone, `^07-xdr-planes.net_dump: 4 planes of XDR are taken for one network, each cable for 4 of 200 Gbit/s\nGOOD: .* 3 messages in a row, 100\.0 %`, ""},
	{"judge -t 07-xdr-planes.net_dump --result 400Gbit/s", exitDone, `(?m)^BAD: 50\.0% of the link rate was measured`, ""},
}

// Host lists of every form name the same two hosts.
func TestHostListCases(t *testing.T) {
	dir := shared(t, "outputs/hosts")
	_, text := said(t, "topo", "convert", "FT(2;2,2)", "--format", "ibnetdiscover")
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
