package scenario_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/scenario"
	"evbench/testing/expect"
)

func TestRefuses(t *testing.T) {
	const c = "cases: [{}]\n"
	for _, tt := range []struct{ name, in, want string }{
		// The document.
		{"empty", "", "test.yaml: empty"},
		{"only a comment", "# nothing\n", "test.yaml: empty"},
		{"null", "~", "test.yaml:1: is empty; write fields"},
		{"not YAML", "a: [\nb: }", "test.yaml:1: not YAML: did not find"},
		{"a list", "- 1", "test.yaml:1: is a list; write fields (name: value)"},
		{"two documents", small + c + "---\n" + small, "test.yaml:3: a second document begins here"},
		{"broken second document", small + c + "---\n}", "not YAML"},
		{"unknown field", small + c + "durration: 3s", "test.yaml:3: durration: unknown field; did you mean duration? there are answer, builders, cables, cases, check"},
		{"unknown field, nothing near", small + c + "colour: red", "test.yaml:3: colour: unknown field; there are answer, builders, cables, cases"},
		{"duplicate key", small + c + "seed: 1\nseed: 2", "test.yaml:4: seed: given twice; first on line 3"},
		{"no cases", small, "cases: is missing"},
		{"empty cases", small + "cases: []", "test.yaml:2: cases: has no case"},
		{"cases without value", small + "cases:", "test.yaml:2: cases: is empty; write a list"},
		{"case not fields", small + "cases: [3]", `cases[0]: is the single value "3"; write fields`},
		{"alias into itself", small + "cases: &a [*a]", "more than 200000 nodes or 32 levels"},
		{"too long", small + c + "#" + strings.Repeat("x", 1<<20), "longer than 1MiB"},

		// The tree.
		{"no topology", c, "topology: is missing"},
		{"topology not a text", "topology: {m0: 4}\n" + c, "test.yaml:1: topology: is a group of fields; write a single value"},
		{"fill too short", small + "fill: [4,4]\n" + c, "test.yaml:2: fill: has 2 entries; the tree has 4 leaves"},
		{"overfull leaf", small + "fill: [4,4,4,5]\n" + c, `fill[3]: "5": write a whole number 0..4`},
		{"no spines", small + "spines: 0\n" + c, `spines: "0": write a whole number 1..254`},
		{"one server", small + "fill: [1,0,0,0]\n" + c, "1 servers: an all-to-all"},
		{"no cables", small + "cables: 0\n" + c, `cables: "0": write a whole number 1..15`},
		{"too many servers", "topology: FT(2;100,100)\n" + c, "10000 servers; a run has at most 4096"},

		// The best plan.
		{"tables for the best plan", small + "cases: [{schedule: best, routing: minhop}]", "cases[0].routing: the best plan brings its paths, which routing minhop does not take"},
		{"phases of windows", small + "cases: [{schedule: best, mode: ordered}]", "cases[0].schedule: ordered cases have no phases"},

		// The simulation.
		{"round without unit", small + c + "sim: {round: 5}", `test.yaml:3: sim.round: duration "5": no unit`},
		{"overhead", small + c + "sim: {overhead: 1m}", "test.yaml:3: sim.overhead: 1m: must be 0s to 1s"},
		{"jitter", small + c + "sim: {jitter: -1us}", "test.yaml:3: sim.jitter: -1us: must be 0s to 1s"},
		{"sim not fields", small + c + "sim: fast", "test.yaml:3: sim: is the single value"},
		{"unknown field of sim", small + c + "sim: {rounds: 1us}", "test.yaml:3: sim.rounds: unknown field; did you mean round?"},

		// The fabric and the event.
		{"unknown kind", small + "fabric: {kind: cloud}\n" + c, `fabric.kind: no fabric "cloud"; there are lab, emulate, hosts`},
		{"rate 0", small + "fabric: {rate: 0bit/s}\n" + c, "test.yaml:2: fabric.rate: rate 0bit/s: must be more than 0"},
		{"rate without unit", small + "fabric: {rate: 100}\n" + c, `fabric.rate: rate "100": no unit; write a number and one of bit/s`},
		{"rate in bytes", small + "fabric: {rate: 100MB}\n" + c, `rate "100MB": no unit`},
		{"small MTU", small + "fabric: {mtu: 50}\n" + c, "fabric.mtu: \"50\": write a whole number 576..65535"},
		{"workers", small + "fabric: {workers: fibres}\n" + c, "there are threads, processes"},
		{"processes on clocks", small + "fabric: {kind: emulate, workers: processes}\n" + c, "test.yaml:2: fabric.workers: links of the fabric emulate are clocks in one process"},
		{"fragment 0", small + "event: {fragment: 0}\n" + c, `event.fragment: size "0": no unit`},
		{"fragment 0B", small + "event: {fragment: 0B}\n" + c, "must be 1B to 1GiB"},
		{"fragment 10 GB", small + "event: {fragment: 10GB}\n" + c, "event.fragment: 10GB: must be 1B to 1GiB"},
		{"fragment without unit", small + "event: {fragment: 600}\n" + c, `size "600": no unit`},
		{"spread over 1 GiB", small + "event: {fragment: 1GiB, sizes: {spread: 0.5}}\n" + c, "reach 1536MiB; the most is 1GiB"},
		{"fragment and phase", small + "event: {fragment: 1MiB, phase: 5ms}\n" + c, "event.phase: not with fragment: one follows from the other"},
		{"phase too short", small + "event: {phase: 1us}\n" + c, "event.phase: phases of 1µs at 100Mbit/s leave no room for a fragment"},
		{"phase without rate", small + "fabric: {kind: hosts}\nevent: {phase: 1ms}\n" + c, "event.phase: the link rate is not known"},
		{"spread", small + "event: {sizes: {spread: 1}}\n" + c, `event.sizes.spread: "1": write a number 0..0.9`},
		{"sizes", small + "event: {sizes: normal}\n" + c, `test.yaml:2: event.sizes.distribution: no distribution "normal"; there are uniform, exponential, log-normal`},
		{"sizes of nothing", small + "event: {sizes: {by: source}}\n" + c, "event.sizes: has no effect; write a distribution"},
		{"empty sizes", small + "event: {sizes: }\n" + c, "event.sizes: is empty"},
		{"equal by source", small + "event: {sizes: {by: source, fanout: 2}}\n" + c, "event.sizes.by: has no effect where all fragments have one size"},
		{"uniform", small + "event: {sizes: uniform}\n" + c, "event.sizes: spread is missing, needed with distribution=uniform"},
		{"by", small + "event: {sizes: {distribution: exponential, by: exchange}}\n" + c, `event.sizes.by: no by "exchange"; there are fragment, source, event, source-event`},
		{"sigma of exponential", small + "event: {sizes: {distribution: exponential, sigma: 1}}\n" + c, "event.sizes.sigma: only with distribution=log-normal"},
		{"spread of log-normal", small + "event: {sizes: {distribution: log-normal, spread: 0.5}}\n" + c, "event.sizes.spread: not with distribution=exponential|log-normal"},
		{"sigma 3", small + "event: {sizes: {distribution: log-normal, sigma: 3}}\n" + c, `event.sizes.sigma: "3": write a number 0..2`},
		{"fanout to all", small + "event: {sizes: {fanout: 16}}\n" + c, `event.sizes.fanout: "16": write a whole number 1..15`},
		{"a file of no file", small + "event: {sizes: {file: sizes.csv}}\n" + c, "event.sizes.file: only a scenario that is a file itself takes sizes from a file"},
		{"exponential over 1 GiB", small + "event: {fragment: 100MiB, sizes: exponential}\n" + c, "fragments of 100MiB on average reach 1600MiB; the most is 1GiB"},
		{"sizes of a case", small + "cases: [{sizes: normal}]", `test.yaml:2: cases[0].sizes.distribution: no distribution "normal"`},
		{"a case's file", small + "cases: [{sizes: {file: sizes.csv}}]", "cases[0].sizes.file: the sizes of a file are those of all cases; write event.sizes"},
		{"a case over 1 GiB", small + "event: {fragment: 100MiB}\ncases: [{sizes: exponential}]", "cases[0].sizes: fragments of 100MiB on average reach 1600MiB"},
		{"spread NaN", small + "event: {sizes: {spread: NaN}}\n" + c, "write a number 0..0.9"},

		// Real hosts.
		{"transport", small + "transport: carrier pigeon\n" + c, "there are tcp, mpi"},
		{"mpi over clocks", small + "fabric: emulate\ntransport: mpi\n" + c, "transport: transport mpi is not for fabric emulate, whose links are clocks of TCP connections"},
		{"mpi in the lab by ssh", small + "transport: mpi\nlaunch: {kind: started}\n" + c, "transport: launch is for fabric hosts"},
		{"objective of a formula", small + "cases: [{objective: paths}]", "cases[0].objective: only the schedule fors has an objective; write schedule: fors"},
		{"objective without a schedule", small + "cases: [{mode: unsync, objective: paths}]", "cases[0].objective: only the schedule fors has an objective"},
		{"objective of an order", small + "cases: [{mode: ordered, objective: balanced}]", "cases[0].objective: ordered cases have no phases for balanced to minimise; write paths"},
		{"objective", small + "cases: [{schedule: fors, objective: speed}]", `cases[0].objective: no objective "speed"; there are phases, paths, balanced`},
		{"mpi by ssh", small + "fabric: hosts\ntransport: mpi\nlaunch: {kind: ssh, hosts: a}\n" + c, "transport mpi needs launch: {kind: started}"},
		{"barrier mpi over tcp", small + "cases: [{barrier: mpi}]", "cases[0]: barrier mpi needs transport mpi"},
		{"io", small + "io: fast\n" + c, "there are auto, copy, sendfile"},
		{"launch in the lab", small + "launch: {kind: started}\n" + c, "launch: launch is for fabric hosts; the fabric is lab"},
		{"launch without kind", small + "fabric: hosts\nlaunch: {hosts: a}\n" + c, "launch: kind is missing; there are local, ssh, started"},
		{"ssh without hosts", small + "fabric: hosts\nlaunch: {kind: ssh}\n" + c, "launch: hosts is missing"},
		{"ssh field elsewhere", small + "fabric: hosts\nlaunch: {kind: started, user: daq}\n" + c, "launch.user: only with kind=ssh"},
		{"an option as a host", small + "fabric: hosts\nlaunch: {kind: ssh, hosts: -oProxyCommand=x}\n" + c, "launch.hosts: \"-oProxyCommand=x\": write one word"},
		{"two words", small + "fabric: hosts\nlaunch: {kind: ssh, hosts: a, user: a b}\n" + c, "launch.user: \"a b\": write one word"},
		{"interface and network", small + "fabric: hosts\nlaunch: {kind: started, interface: ib0, network: 10.0.0.0/8}\n" + c, "launch.network: not with interface: each chooses the address of a host"},
		{"network", small + "fabric: hosts\nlaunch: {kind: started, network: 10.0.0.1}\n" + c, "launch.network: \"10.0.0.1\": write a network"},
		{"cpus", small + "fabric: hosts\nlaunch: {kind: started, cpus: all}\n" + c, "launch.cpus: \"all\": write a list of processors"},
		{"inject in the lab", small + "inject: {kind: lab, lab: x}\n" + c, "inject: inject is for fabric hosts; links of a lab"},
		{"inject without kind", small + "fabric: hosts\ninject: {down: x}\n" + c, "inject: kind is missing; there are command, ssh, ibportstate, lab"},
		{"inject without probe", small + "fabric: hosts\ninject: {kind: command, down: x, up: y}\n" + c, "inject: probe is missing, needed with kind=command|ssh"},

		// Times and settings.
		{"duration without unit", small + "duration: 10\n" + c, `duration "10": no unit`},
		{"duration too short", small + "duration: 10ms\n" + c, "duration: 10ms: must be 100ms to 24h"},
		{"negative duration", small + "duration: -5s\n" + c, "must be 100ms to 24h"},
		{"interval too long", small + "interval: 11s\n" + c, "interval: 11s is longer than the control, which lasts 10s"},
		{"interval longer than a case", small + "interval: 2s\ncases: [{duration: 1s}]", `interval: 2s is longer than case "linear-shift ftree", which lasts 1s`},
		{"rounds 0", small + "rounds: 0\n" + c, `rounds: "0": write auto or a whole number 1..1000`},
		{"limit of a number", small + "rounds: 2\nlimit: 10s\n" + c, "limit: is for rounds: auto; there are 2"},
		{"answer without cases", small + "answer: {}\n" + c, "answer: cases is missing; write answer: {cases: [NAME, NAME]}"},
		{"answer of no case", small + "answer: {cases: [x]}\n" + c, `answer.cases[0]: no case "x"; there are`},
		{"warmup", small + "warmup: -1\n" + c, "write a whole number 0..1000"},
		{"control", small + "control: maybe\n" + c, `control: "maybe": write on or off`},
		{"seed", small + "seed: -1\n" + c, "seed: \"-1\": write a whole number 0..18446744073709551615"},
		{"timeout", small + "timeout: 1ms\n" + c, "timeout: 1ms: must be 100ms to 1h"},
		{"deliver", small + "deliver: away\n" + c, "there are buffer, discard"},
		{"build", small + "cases: [{mode: unsync, load: {rate: 80%, build: {mean: 2ms, distribution: normal}}}]", `load.build.distribution: no distribution "normal"; there are uniform, exponential, log-normal`},
		{"build of no mean", small + "cases: [{mode: unsync, load: {rate: 80%, build: {distribution: exponential}}}]", "load.build: mean is missing"},
		{"build of no spread", small + "cases: [{mode: unsync, load: {rate: 80%, build: {mean: 2ms, distribution: uniform}}}]", "load.build: spread is missing, needed with distribution=uniform"},
		{"sigma of build", small + "cases: [{mode: unsync, load: {rate: 80%, build: {mean: 2ms, sigma: 1}}}]", "load.build.sigma: only with distribution=log-normal"},
		{"build in phases", small + "cases: [{load: {rate: 80%, build: {mean: 2ms}}}]", "write mode: unsync"},
		{"check", small + "check: none\n" + c, "there are header, payload"},
		{"preset", small + "preset: fast\n" + c, `no preset "fast"; there are thesis`},
		{"name", "name: a/b\n" + small + c, "name: \"a/b\": write up to 64 letters"},

		// Cases.
		{"schedule", small + "cases: [{schedule: fours}]", `cases[0].schedule: no schedule "fours"; did you mean fors? there are linear-shift, linear-shift-ports, xor, bandwidth-optimal, fors, fors-closed,`},
		{"routing", small + "cases: [{routing: ftre}]", "there are ftree, minhop, spread, ecmp, spray, adaptive, opensm-minhop, "},
		{"lanes in the emulation", small + "fabric: {kind: emulate, lossless: {lanes: 4}}\n" + c, "fabric.lossless: an emulated fabric has one lane, a FIFO at each input"},
		{"spray in the emulation", small + "fabric: emulate\ncases: [{routing: spray}]", "cases[0].routing: an emulated fabric delivers each connection in order"},
		{"adaptive without credits", small + "fabric: hosts\ncases: [{mode: unsync, routing: adaptive}]", "cases[0].routing: routing adaptive needs credits, which this fabric does not have; write fabric.lossless"},
		{"routes of a lab", small + "fabric: {kind: lab, routes: {kind: opensm, network: a, dir: b}}\ncases: [{}]", "fabric.routes: is for fabric hosts; a lab has its own"},
		{"routes without a directory", small + "fabric: {kind: hosts, routes: {kind: opensm, network: a}}\ncases: [{}]", "fabric.routes: dir"},
		{"routes without a shell", small + "fabric: {kind: hosts, routes: {kind: kernel}}\ncases: [{}]", "fabric.routes: shell"},
		{"routes by no command", small + "fabric: {kind: hosts, routes: {kind: loaded, network: a, dump: \" \"}}\ncases: [{}]", "fabric.routes.dump: \" \": write a command"},
		{"routes of nothing", small + "fabric: {kind: hosts, routes: {kind: loaded}}\ncases: [{}]", "fabric.routes: network is missing, or shell"},
		{"nobody tells of links", small + "fabric: {kind: hosts, routes: {kind: kernel, shell: ssh}}\ncases: [{schedule: fors, failover: fors}]", "cases[0].failover: switches with Linux do not report their links"},
		{"spray on hosts", small + "fabric: hosts\ncases: [{mode: unsync, routing: spray}]", "cases[0].routing: evbench does not set the routes of plain hosts; where their switches spray"},
		{"barrier", small + "cases: [{barrier: wall}]", "there are tournament, central, dissemination"},
		{"ordered with a barrier", small + "cases: [{mode: ordered, barrier: central}]", "cases[0].barrier: only synchronised cases have a barrier"},
		{"ordered by phases", small + "cases: [{mode: ordered, schedule: linear-shift}]", "cases[0].schedule: ordered cases have no phases"},
		{"ordered on tables", small + "cases: [{mode: ordered, routing: ftree}]", "the plan of an ordered case brings its paths, which routing ftree does not take"},
		{"ordered with credits", small + "cases: [{mode: ordered, credits: 3}]", "cases[0].credits: an ordered case has as many events in flight as its window"},
		{"ordered with sources", small + "cases: [{mode: ordered, sources: 3}]", "cases[0].sources: only unsynchronised cases ask sources"},
		{"ordered going unsynchronised", small + "cases: [{mode: ordered, failover: unsync}]", "cases[0].mode: policy unsync changes the plan of the phases"},
		{"ordered with tables of a policy", small + "cases: [{mode: ordered, failover: spread}]", "cases[0].failover: policy spread changes tables, and an ordered case has paths of its own"},
		{"window", small + "cases: [{mode: ordered, window: 17}]", `cases[0].window: "17": write a whole number 1..16`},
		{"window synchronised", small + "cases: [{window: 2}]", "cases[0].window: only ordered cases are planned in windows"},
		{"barrier unsynchronised", small + "cases: [{mode: unsync, barrier: central}]", "cases[0].barrier: only synchronised cases have a barrier"},
		{"no schedule synchronised", small + "cases: [{schedule: none}]", "cases[0].schedule: synchronised cases need a schedule"},
		{"schedule unsynchronised", small + "cases: [{mode: unsync, schedule: xor}]", "cases[0].schedule: unsynchronised cases have no phases"},
		{"pinned without a schedule", small + "cases: [{mode: unsync, routing: pinned}]", "cases[0].routing: pinned takes the paths of a schedule, but there is no schedule"},
		{"fors without its paths", small + "cases: [{mode: unsync, schedule: fors, routing: minhop}]", "which routing minhop does not take"},
		{"xor", "topology: FT(2;3,5)\ncases: [{schedule: xor}]", "cases[0].schedule: xor needs a power of two of servers, there are 15"},
		{"sources", small + "cases: [{mode: unsync, sources: 16}]", `cases[0].sources: "16": write a whole number 0..15`},
		{"assign", small + "cases: [{mode: unsync, assign: fair}]", `cases[0].assign: no assign "fair"; there are next, balanced`},
		{"assign synchronised", small + "cases: [{assign: next}]", "cases[0].assign: only unsynchronised cases assign events, and the mode is synchronised"},
		{"sources synchronised", small + "cases: [{sources: 2}]", "cases[0].sources: only unsynchronised"},
		{"credits", small + "cases: [{mode: unsync, credits: 0}]", "write a whole number 1..256"},
		{"credits synchronised", small + "cases: [{credits: 2}]", "cases[0].credits: a synchronised case builds one event"},
		{"duplicate name", small + "cases: [{name: a}, {name: a}]", `cases[1].name: another case is called "a" too`},
		{"name of a control", small + "cases: [{name: control (before)}]", `"control (before)": is the name of the control`},
		{"empty name", small + `cases: [{name: ""}]`, "write a name of printable characters"},
		{"name with a line break", small + `cases: [{name: "a\nb"}]`, "write a name of printable characters"},
		{"long name", small + "cases: [{name: " + strings.Repeat("x", 81) + "}]", "longer than 80 characters"},

		// Failures.
		{"unknown link", small + "cases:\n  - {}\n  - failures: [leaf9-spine1]", `test.yaml:4: cases[1].failures[0]: no link "leaf9-spine1"; FT(2;4,4) has leaf0..leaf3 and spine0..spine3`},
		{"unknown spine", small + "cases: [{failures: [spine4]}]", `no spine "spine4"`},
		{"a leaf", small + "cases: [{failures: [leaf0]}]", "with leaf0 dead, leaf0 and leaf1 have no spine in common that is alive"},
		{"not a link", small + "cases: [{failures: [server0]}]", "neither a link (leaf0-spine3) nor a spine"},
		{"failures not a list", small + "cases: [{failures: spine0}]", `cases[0].failures: is the single value "spine0"; write a list`},
		{"failure a list", small + "cases: [{failures: [[spine0]]}]", "cases[0].failures[0]: is a list; write a single value"},
		{"failure twice", small + "cases: [{failures: [spine0, leaf2-spine0]}]", "failures[1]: leaf2-spine0 is dead already"},
		{"all links of a leaf", small + "cases: [{failures: [leaf0-spine0, leaf0-spine1, leaf0-spine2, leaf0-spine3]}]",
			"cases[0].failures: with leaf0-spine0, leaf0-spine1, leaf0-spine2, leaf0-spine3 dead, leaf0 and leaf1 have no spine in common"},
		{"random without count", small + "cases: [{failures: [{random: {seed: 3}}]}]", "failures[0].random: count is missing"},
		{"random 0", small + "cases: [{failures: [{random: {count: 0}}]}]", "random.count: \"0\": write a whole number 1..16"},
		{"random not fields", small + "cases: [{failures: [{random: 3}]}]", `random: is the single value "3"`},
		{"too many random", small + "cases: [{failures: [spine3, {random: {count: 13}}]}]", "13 random dead links: FT(2;4,4) has 12 live"},
		{"random seed", small + "cases: [{failures: [{random: {count: 1, seed: x}}]}]", "random.seed: \"x\""},
		{"random and link", small + "cases: [{failures: [{random: {count: 1}, at: 3s}]}]", "failures[0].at: unknown field"},

		// Timed failures.
		{"timed without at", small + "cases: [{failures: [{link: spine0}]}]", "failures[0]: at is missing"},
		{"timed unknown link", small + "cases: [{failures: [{link: spine9, at: 1s}]}]", `failures[0].link: no spine "spine9"`},
		{"timed without unit", small + "cases: [{failures: [{link: spine0, at: 1}]}]", `failures[0].at: duration "1": no unit`},
		{"timed for 0", small + "cases: [{failures: [{link: spine0, at: 1s, for: 0s}]}]", "failures[0].for: 0s: must be 1ms to 24h"},
		{"timed too late", small + "cases: [{failures: [{link: spine0, at: 10s}]}]", "failures[0]: begins at 10s, but the case ends at 10s"},
		{"timed too long", small + "cases: [{failures: [{link: spine0, at: 6s, for: 5s}]}]", "failures[0]: ends at 11s (at + for), but the case ends at 10s"},
		{"timed pinned", small + "cases: [{schedule: fors, failures: [{link: spine0, at: 1s}]}]", "failures[0]: routing pinned gives each message the one path"},
		{"timed on hosts", small + "fabric: {kind: hosts}\ncases: [{failures: [{link: spine0, at: 1s}]}]", "cannot take down links of plain hosts"},
		{"timed dead", small + "cases: [{failures: [leaf0-spine0, {link: spine0, at: 1s}]}]", "failures[1]: leaf0-spine0 is dead already at 1s"},
		{"timed overlap", small + "cases: [{failures: [{link: leaf0-spine0, at: 1s, for: 3s}, {link: spine0, at: 3s}]}]", "failures[1]: leaf0-spine0 is dead already at 3s"},
		{"timed cuts", small + "cases: [{failures: [spine0, spine1, {link: spine2, at: 1s, for: 3s}, {link: leaf1-spine3, at: 3s}]}]",
			"failures[3]: from 3s on, leaf0 and leaf1 have no spine in common"},

		// The matrix.
		{"matrix field", small + "matrix: {name: [a]}", "matrix.name: unknown field"},
		{"matrix not lists", small + "matrix: {mode: sync}", `matrix.mode: is the single value "sync"; write a list`},
		{"matrix empty list", small + "matrix: {mode: []}", "matrix.mode: has no element"},
		{"matrix value", small + "matrix:\n  mode: [sync]\n  routing:\n    - minhop\n    - maxhop\n", `test.yaml:6: matrix.routing[1]: no routing "maxhop"`},
		{"matrix link", small + "matrix: {failures: [[], [leaf7-spine0]]}", "matrix.failures[1][0]: no link"},
		{"matrix and case", small + "cases: [{mode: sync}]\nmatrix: {mode: [sync]}", "test.yaml:2: cases[0].mode: is in the matrix too (line 3)"},
		{"matrix too large", small + "matrix: {failure_seed: [" + strings.Repeat("1,", 1000) + "1]}", "matrix.failure_seed: makes more than 1000 cases: 1001 in matrix.failure_seed"},
		{"too many cases", small + "cases: [" + strings.Repeat("{},", 1001) + "]", "test.yaml:2: cases: makes more than 1000 cases: 1001 in cases"},
		{"cases and matrix too large", small + "cases: [{}, {}]\nmatrix: {schedule: [fors, xor], failure_seed: [" + strings.Repeat("1,", 500) + "1]}", "makes more than 1000 cases: 2 in cases × 2 in matrix.schedule × 501 in matrix.failure_seed"},
		{"matrix beyond all", small + "matrix: {" + beyond("schedule", "mode", "routing", "barrier", "credits", "failure_seed", "sources", "window") + "}", "makes more than 1000 cases: 1000 in matrix.schedule × "},
		{"matrix does not fit", small + "matrix: {mode: [sync, unsync], schedule: [linear-shift]}", "matrix.schedule[0]: unsynchronised cases have no phases"},
	} {
		_, err := shapes.Read("test.yaml", strings.NewReader(tt.in))
		expect.Error(t, err, tt.want)
		expect.False(t, err != nil && strings.Contains(err.Error(), "\n") && !strings.Contains(tt.want, "\n"),
			"%s: one slip makes several errors:\n%v", tt.name, err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestReaderFails(t *testing.T) {
	if _, err := shapes.Read("x.yaml", brokenReader{}); err == nil || err.Error() != "x.yaml: disk on fire" {
		t.Errorf("error %v", err)
	}
}

// Whatever the bytes, Read returns; and what it accepts holds its promises.
func FuzzRead(f *testing.F) {
	f.Add(small + "cases: [{}]")
	f.Add(small + "matrix: {mode: [sync, unsync], failures: [[], [{random: {count: 2}}]]}")
	f.Add(small + "cases: [&a {failures: [{link: spine0, at: 1s, for: 2s}]}, {<<: *a, name: x}]")
	f.Add(small + "failover: {policy: fors+hold, hold: 4s}\nmatrix: {failover: [none, fors], failures: [[{link: spine0, at: 1s, for: 1s, every: 2s, times: 3}]]}")
	f.Add("topology: FT(2;3,5)\nfill: [3,3,3,2,2]\npreset: thesis\nevent: {fragment: 1MiB, sizes: {spread: 0.5}}\ncases: [{schedule: fors}]")
	f.Add(small + "event: {sizes: {distribution: log-normal, sigma: 1, by: source-event, fanout: 3}}\ncases: [{}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := shapes.Read("f.yaml", strings.NewReader(text))
		if err != nil {
			return
		}
		expect.OK(t, promises(s), "%q", text)
	})
}

func promises(s *scenario.Scenario) error {
	if s.Tree == nil || len(s.Cases) == 0 || s.Event.Fragment < 1 || s.Name == "" {
		return fmt.Errorf("a scenario without tree, cases, fragment or name: %+v", s)
	}
	if err := s.Event.Sizes.Check(builder.RolesOf(s.Tree)); err != nil {
		return fmt.Errorf("sizes: %w", err)
	}
	seen := map[string]bool{}
	for _, c := range s.Cases {
		if c.Name == "" || seen[c.Name] {
			return fmt.Errorf("case %q has no name of its own", c.Name)
		}
		seen[c.Name] = true
		view, err := s.Tree.Without(c.Failures...)
		if err != nil {
			return err
		}
		if err := view.Connected(); err != nil {
			return err
		}
		if s.Interval > c.Duration || c.Routing == "" || c.Credits < 1 || (c.Barrier != "") != (c.Mode == modes.Sync) {
			return fmt.Errorf("case %+v is not complete", c)
		}
	}
	return nil
}

// beyond is the text of a matrix with long lists of these names.
func beyond(names ...string) string {
	var all []string
	for _, name := range names {
		all = append(all, name+": ["+strings.Repeat("1,", 999)+"1]")
	}
	return strings.Join(all, ", ")
}
