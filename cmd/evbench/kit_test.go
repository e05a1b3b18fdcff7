package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/internal/answer"
	"evbench/results/store"
	"evbench/testing/expect"
)

// unpacked returns what is in an archive, by name.
func unpacked(t *testing.T, name string) map[string]string {
	t.Helper()
	f := expect.Value(os.Open(name))(t)
	defer f.Close()
	r := tar.NewReader(expect.Value(gzip.NewReader(f))(t))
	files := map[string]string{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		expect.Must(t, err)
		files[h.Name] = string(expect.Value(io.ReadAll(r))(t))
	}
}

// A kit that is killed while it measures goes on; the archive has all evidence, and no name of a host
// where that is asked for.
func TestKit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	args := []string{
		"kit", "--rate", "400Gbit/s", "--duration", "1s", "--anonymous", "--json",
		"--launch", fmt.Sprintf("config: %s, remote_dir: %s, data_port: %d", c.ssh.Config, c.far, c.port), "node[001-004]",
	}
	p := begin(t, c.dir, args...)
	p.await("[5/8] baseline")
	p.signal(syscall.SIGKILL)
	p.end()
	expect.False(t, store.Present(filepath.Join(c.dir, "kit.tar.gz")), "an archive after a kill")
	c.awaitNoWorkers()

	code, out, said := output(t, c.dir, args...)
	expect.MustTrue(t, code == exitDone && !strings.Contains(said, "[4/8]") && strings.Contains(said, "[5/8] baseline"), "exit %d: %s%s", code, out, said)
	var doc struct {
		Answer answer.Answer
		Steps  []struct{ Step string }
	}
	expect.Must(t, json.Unmarshal([]byte(out), &doc))
	expect.True(t, doc.Answer.Verdict == answer.Bad && strings.Contains(doc.Answer.Sentence, "of the link rate was measured") && len(doc.Steps) == 8, "%s", out)
	files := unpacked(t, filepath.Join(c.dir, "kit.tar.gz"))
	for _, name := range []string{
		"answer.json", "version.json", "here.json", "kit.yaml", "validate.json", "baseline.json", "judge.json", "verdict.html", "plan.txt", "report.html",
		"baseline/manifest.json", "baseline/summary.json", "baseline/samples.csv", "baseline.stderr",
	} {
		expect.True(t, files["kit/"+name] != "" || name == "baseline.stderr", "no %s", name)
	}
	here := expect.Value(os.Hostname())(t)
	for name, text := range files {
		expect.False(t, strings.Contains(text, "node00") || strings.Contains(text, here), "%s names a host", name)
	}
	expect.Contains(t, files["kit/kit.yaml"], `hosts: "host0,host1,host2,host3"`)

	// What is done is not done again, and an archive is not written over.
	code, _, said = output(t, c.dir, args...)
	expect.True(t, code == exitUsage && strings.Contains(said, "kit.tar.gz: exists already"), "exit %d: %s", code, said)
	expect.Must(t, os.Remove(filepath.Join(c.dir, "kit.tar.gz")))
	code, _, said = output(t, c.dir, args...)
	expect.True(t, code == exitDone && !strings.Contains(said, "/8]"), "exit %d: %s", code, said)
	code, _, said = output(t, c.dir, append(args[:len(args)-1], "-o", "kit.tar.gz", "node[001-003]")...)
	expect.True(t, code == exitUsage, "exit %d: %s", code, said)
}

// network is a whole fabric, in which every name is one that must not leak.
const kitNetwork = `
hosts:
  - {name: "daq-node7 HCA-1", guid: 0x0002c90300000007}
  - {name: "DAQ-NODE8.site.example mlx5_0"}
  - {name: server}
  - {name: daq-node9-ib0}
switches:
  - {name: daq-node-sw1, ports: 8}
  - {name: "SwitchIB daq-node-rack2", ports: 8}
  - {name: "daq-node-rack1 core", ports: 8}
cables:
  - ["daq-node7 HCA-1", daq-node-sw1/1]
  - ["DAQ-NODE8.site.example mlx5_0", daq-node-sw1/2]
  - [server, "SwitchIB daq-node-rack2/1"]
  - [daq-node9-ib0, "SwitchIB daq-node-rack2/2"]
  - [daq-node-sw1/3, "daq-node-rack1 core/1"]
  - ["SwitchIB daq-node-rack2/3", "daq-node-rack1 core/2"]
`

// planted replaces texts of a document by names that must not leak: all of them, or those that no
// other file refers to.
func planted(t *testing.T, file string, all bool) {
	t.Helper()
	const name = "daq-node7-ib0.site.example"
	var plant func(key string, v any) any
	plant = func(key string, v any) any {
		switch x := v.(type) {
		case map[string]any:
			for k := range x {
				x[k] = plant(k, x[k])
			}
			x["new of DAQ-NODE7"] = name
		case []any:
			for i := range x {
				x[i] = plant(key, x[i])
			}
			if key == "warnings" || key == "reasons" || key == "preflight" {
				return append(x, "the host "+name+" is slow")
			}
		case string:
			_, noTime := time.Parse(time.RFC3339, x)
			if noTime != nil && key != "schema" && (all || key == "host" || key == "kernel") {
				return name
			}
		}
		return v
	}
	var doc any
	expect.Must(t, json.Unmarshal(expect.Value(os.ReadFile(file))(t), &doc))
	expect.Must(t, os.WriteFile(file, expect.Value(json.Marshal(plant("", doc)))(t), 0o600))
}

// Whatever a file of a kit says, and whatever lies beside, no name of a host is in an archive without
// names; the measurements are, also where a host is called as a column is.
func TestKitAnonymous(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		all  bool
	}{
		{"one leaf", []string{"daq-node7.site.example@192.0.2.7,DAQ-NODE8@192.0.2.8,server,daq-node9"}, false},
		{"network", []string{"-t", "net.yaml", "daq-node7,DAQ-NODE8,server,daq-node9-ib0"}, false},
		{"all texts", []string{"daq-node7,DAQ-NODE8,server,daq-node9"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "net.yaml", kitNetwork)
			write(t, dir, "ssh.conf", "Host *\nProxyCommand false\n")
			args := slices.Concat([]string{"kit", "--rate", "100Mbit/s", "--anonymous", "--quiet"}, tt.args[:len(tt.args)-1],
				[]string{"--launch", "user: daq-node-user, remote_dir: /daq-node/dir, data_port: 7001, config: " + filepath.Join(dir, "ssh.conf"), tt.args[len(tt.args)-1]})
			code, _, said := output(t, dir, args...)
			expect.MustTrue(t, code == exitFailed, "exit %d: %s", code, said)
			expect.Must(t, os.Remove(filepath.Join(dir, "kit.tar.gz")))
			plantKit(t, dir, tt.all)

			code, _, said = output(t, dir, args...)
			expect.MustTrue(t, code == exitFailed, "exit %d: %s", code, said)
			files := unpacked(t, filepath.Join(dir, "kit.tar.gz"))
			here := expect.Value(os.Hostname())(t)
			for name, text := range files {
				for _, leak := range []string{"daq-node", "site.example", "rack1", "ib0", "192.0.2.", "secret", here} {
					expect.False(t, strings.Contains(strings.ToLower(name+"\n"+text), strings.ToLower(leak)), "%s says %s:\n%.2000s", name, leak, text)
				}
			}
			for _, name := range []string{"answer.json", "left-out.json", "steps.json", "kit.yaml", "baseline/samples.csv", "baseline/manifest.json", "version.json", "here.json"} {
				expect.True(t, files["kit/"+name] != "", "no %s", name)
			}
			expect.Contains(t, files["kit/baseline/samples.csv"], "case,repeat,t_s,interval_s,server,events,")
			expect.Contains(t, files["kit/kit.yaml"], `launch: {kind: ssh, hosts: "host0,host1,host2,host3"`)
			expect.Contains(t, files["kit/kit.yaml"], "data_port: 7001")
			if tt.all {
				return
			}
			for _, name := range []string{"judge.json", "verdict.html", "plan.txt", "report.html", "baseline.json", "baseline/plans/healthy.txt", "ibnetdiscover.txt", "validate.json"} {
				expect.True(t, files["kit/"+name] != "", "no %s", name)
			}
			expect.Contains(t, files["kit/judge.json"], `"verdict":"GOOD"`)
			expect.Contains(t, files["kit/ibnetdiscover.txt"], "host2")
			for _, want := range []string{`"field": "hosts.host"`, `"field": "warnings"`, `"file": "other files"`, `"file": "baseline.stderr"`} {
				expect.Contains(t, files["kit/left-out.json"], want)
			}
			foreign := ""
			for name, text := range files {
				if strings.HasPrefix(name, "kit/foreign") {
					foreign += text
				}
			}
			expect.Contains(t, foreign, `"format": "nccl"`)
		})
	}
}

// plantKit puts names into every file of a kit, and beside them.
func plantKit(t *testing.T, dir string, all bool) {
	t.Helper()
	kit := filepath.Join(dir, "kit")
	write(t, dir, "sim.yaml", "topology: FT(2;4,1)\nfabric: {kind: emulate, rate: 100Mbit/s}\nevent: {fragment: 64KiB}\nduration: 100ms\ninterval: 10ms\ncontrol: off\n"+
		"cases:\n  - {name: healthy, schedule: linear-shift}\n")
	expect.Must(t, os.RemoveAll(filepath.Join(kit, "baseline")))
	code, _, said := output(t, dir, "sim", "--quiet", "sim.yaml", "-o", "kit/baseline")
	expect.MustTrue(t, code == exitDone, "exit %d: %s", code, said)
	file := filepath.Join(kit, "baseline", "manifest.json")
	text := string(expect.Value(os.ReadFile(file))(t))
	write(t, dir, "kit/baseline/manifest.json", strings.Replace(text, `"control_connection": ""`, `"control_connection": "daq-node7:7000", "preflight": [], "hosts": [{"server":0,"host":"x","version":"0.1.0",`+
		`"addresses":["192.0.2.8"],"interface":"daq-node7-ib0","nic":"mlx5_core, pci 0000:3b:00.0"}]`, 1))
	write(t, dir, "kit/baseline.json", string(expect.Value(os.ReadFile(filepath.Join(kit, "baseline", "summary.json")))(t)))
	for _, name := range []string{"baseline/manifest.json", "baseline/summary.json", "baseline.json", "here.json", "version.json"} {
		planted(t, filepath.Join(kit, name), all)
	}
	samples := string(expect.Value(os.ReadFile(filepath.Join(kit, "baseline", "samples.csv")))(t))
	write(t, dir, "kit/baseline/samples.csv", strings.ReplaceAll(strings.Replace(samples, "\n", ",daq-node7\n", 1), "0\n", "0,DAQ-NODE8\n"))
	plan := string(expect.Value(os.ReadFile(filepath.Join(kit, "baseline", "plans", "healthy.txt")))(t))
	write(t, dir, "kit/baseline/plans/healthy.txt", strings.Replace(plan, "\n", "\n# x-host 0 daq-node7.site.example 1\n# x-rack daq-node-rack1\n", 1))
	write(t, dir, "kit/baseline/plans/daq-node7.txt", plan)
	write(t, dir, "kit/ibnetdiscover.txt", kitNetwork)
	write(t, dir, "kit/daq-node7.txt", "a note about daq-node7")
	write(t, dir, "kit/baseline/daq-node7.log", "daq-node7")
	write(t, dir, "kit/daq-node7.json", `{"version":3,"start_time":"x","args":["/home/daq-node7/alltoall_perf","-a","3"],"env":["TOKEN=secret","HOSTNAME=daq-node7"],"nccl_version":22809,`+
		`"config":{"nthreads":1,"ngpus":1,"devices":[{"rank":0,"hostname":"daq-node7"},{"rank":1,"hostname":"daq-node8"}]},`+
		`"results":[{"size":1024,"redop":"none","root":"-1","out_of_place":{"time":10,"nwrong":0}}],"end_time":"y"}`)
	for _, name := range []string{"baseline.stderr", "judge.json", "verdict.html", "plan.txt", "plan.log", "report.html", "validate.json", "judge.stderr"} {
		write(t, dir, "kit/"+name, "daq-node7.site.example: Daq-Node7 daq-node7-ib0")
	}
}

// Hosts that cannot be used are the answer.
func TestKitBadHosts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	code, out, _ := output(t, c.dir, "kit", "--quiet", "--launch", fmt.Sprintf("config: %s, remote_dir: %s, data_port: %d", c.ssh.Config, c.far, c.port), "node001,"+closedHost)
	expect.True(t, code == exitFailed && strings.HasPrefix(out, "BAD: The evidence is not complete: the step baseline failed.") && strings.Contains(out, closedHost), "exit %d: %s", code, out)
	files := unpacked(t, filepath.Join(c.dir, "kit.tar.gz"))
	expect.Contains(t, files["kit/baseline.stderr"], "cannot be used")
}
