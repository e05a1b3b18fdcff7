package foreign

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// Samples are written after the published source of each program.
const (
	mpiGraph3 = "START mpiGraph v1.5\nMsgSize\t1048576\nTimes\t10\nWindow\t10\nProcs\t3\n\n1 of 3 (33.3%)\n2 of 3 (66.7%)\nGathering results\n" +
		"\nSend max\t12.000000\nSend avg\t9.000000\n\nSend\tnode1:0\tnode2:1\tnode3:2\t\nnode1:0 to\t0.000\t1.000\t1.000\t\nnode2:1 to\t1.000\t0.000\t1.000\t\nnode3:2 to\t1.000\t1.000\t0.000\t\n" +
		"\nRecv max\t12.000000\nRecv avg\t9.000000\n\nRecv\tnode1:0\tnode2:1\tnode3:2\t\nnode1:0 from\t0.000\t21.000\t31.000\t\nnode2:1 from\t12.000\t0.000\t32.000\t\nnode3:2 from\t13.000\t23.000\t0.000\t\nEND mpiGraph\n"
	ncclJSON = `{"version":3,"start_time":"2026-07-01 10:00:00","args":["/opt/nccl-tests/alltoall_perf","-b","8"],"env":["A=1"],"nccl_version":22809,` +
		`"config":{"nthreads":1,"ngpus":2,"minimum_bytes":8,"devices":[{"rank":0,"hostname":"node1"},{"rank":2,"hostname":"node2"}]},` +
		`"results":[{"size":2,"count":1,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":5.0,"nwrong":null},"in_place":{"time":5.0}},` +
		`{"size":4096,"count":1,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":12.5,"alg_bw":1.0,"bus_bw":0.5,"nwrong":0.0},"in_place":{"time":13.0,"nwrong":null},"actual_iterations":20}],` +
		`"end_time":"2026-07-01 10:01:00"}`
	rcclJSON = "[\n" + `{"numCycle":0, "name":"AlltoAll", "nodes":1, "ranks":2, "ranksPerNode":2, "gpusPerRank":2, "size":4096, "type":"float", "redop":"none", "inPlace":0, "time":12.500000, "algBw":0.327680, "busBw":0.245760, "wrong":"0"},` + "\n" +
		`{"numCycle":0, "name":"AlltoAll", "nodes":1, "ranks":2, "ranksPerNode":2, "gpusPerRank":2, "size":4096, "type":"float", "redop":"none", "inPlace":1, "time":13.500000, "algBw":0.3, "busBw":0.2, "wrong":"N/A"}` + "\n]\n"
	rcclLines = `{"name":"AlltoAll", "gpus":4, "size":0, "type":"float", "redop":"none", "inPlace":0, "time":1.000000, "algBw":0.0, "busBw":0.0, "wrong":"0"}` + "\n" +
		`{"name":"AlltoAll", "gpus":4, "size":4096, "type":"float", "redop":"none", "inPlace":0, "time":12.500000, "algBw":0.3, "busBw":0.2, "wrong":"0"}` + "\n"
	iperfStream = `{"event":"start","data":{"version":"iperf 3.19","system_info":"Linux node3 6.1.0 #1 x86_64","connecting_to":{"host":"node1","port":5201},"timestamp":{"timesecs":100},"test_start":{"protocol":"TCP","reverse":0}}}` + "\n" +
		`{"event":"interval","data":{"sum":{"bits_per_second":1e9}}}` + "\n" + `{"event":"end","data":{"sum_received":{"seconds":10,"bits_per_second":7e9}}}` + "\n"
)

// iperf is the document of a test.
func iperf(client, server string, at, rate float64, more string) string {
	return fmt.Sprintf(`{"start":{"connected":[],"version":"iperf 3.12","system_info":"Linux %s 6.1.0 #1 SMP x86_64","timestamp":{"time":"","timesecs":%v},`+
		`"connecting_to":{"host":"%s","port":5201},"test_start":{"protocol":"TCP","num_streams":1,"omit":0,"reverse":0%s}},"intervals":[],`+
		`"end":{"sum_sent":{"seconds":10,"bits_per_second":9},"sum_received":{"start":0,"end":10,"seconds":10,"bits_per_second":%v}}}`, client, at, server, more, rate)
}

var iperfTwo = iperf("node1", "node2", 100, 9e9, "") + "\n" + iperf("node2", "node3", 101, 8e9, "") + iperf("node3", "node1", 111, 7e9, "")

func pairsOf(t *testing.T, text string) *Pairs {
	t.Helper()
	r := expect.Value(Read([]byte(text), Options{}))(t)
	return r.Pairs
}

// The matrix says who receives of whom, phase by phase.
func TestMPIGraph(t *testing.T) {
	p := pairsOf(t, mpiGraph3)
	expect.MustTrue(t, strings.Join(p.Names, " ") == "node1 node2 node3" && len(p.List) == 6 && p.Shifts, "%+v", p)
	for _, x := range p.List {
		want, phase := float64((x.Src+1)*10+x.Dst+1)*mib, (x.Dst-x.Src+3)%3
		expect.True(t, x.Rate == want && x.Group == phase, "%+v: want %v in phase %d", x, want, phase)
	}
}

// A table has the unit of its rates in its head; rounds say what ran at the same time.
func TestTableOfPairs(t *testing.T) {
	p := pairsOf(t, "src,dst,Gbit/s,round\nnode1,node2,96.1,a\nnode2,node1,95,b\n\nnode3, node1, 50, a\n")
	expect.Equal(t, fmt.Sprint(p.Names, p.List), "[node1 node2 node3] [{0 1 9.61e+10 0} {1 0 9.5e+10 1} {2 0 5e+10 0}]", "")
	p = pairsOf(t, "src dst MB/s\na b 100\nb a 50\n")
	expect.Equal(t, fmt.Sprint(p.List), "[{0 1 8e+08 0} {1 0 4e+08 1}]", "alone")
	for text, want := range map[string]string{
		"src,dst,speed\na,b,1\n":         "line 1: src,dst,speed: columns are",
		"src,dst,Gbit/s\na,b\n":          "line 2: 2 columns, not 3",
		"src,dst,Gbit/s\na,b,fast\n":     "line 2: rate",
		"src,dst,Gbit/s\na,a,1\n":        "a sends to itself",
		"src,dst,Gbit/s\na,b,0\n":        "no rate from a to b",
		"src,dst,Gbit/s\na,b,1\na,b,2\n": "two results from a to b",
		"src,dst,Gbit/s\n":               "no pair was measured",
	} {
		expect.Error(t, expect.Err(Read([]byte(text), Options{})), want)
	}
}

// Tests that overlap ran at the same time; with -R the server sends.
func TestIperf3(t *testing.T) {
	p := pairsOf(t, iperfTwo)
	expect.Equal(t, fmt.Sprint(p.Names, p.List), "[node1 node2 node3] [{0 1 9e+09 0} {1 2 8e+09 0} {2 0 7e+09 1}]", "p.Names, p.List)")
	p = pairsOf(t, iperfStream)
	expect.Equal(t, fmt.Sprint(p.Names, p.List), "[node3 node1] [{0 1 7e+09 0}]", "p.Names, p.List)")
	p = pairsOf(t, strings.Replace(iperf("a", "b", 1, 5, ""), `"reverse":0`, `"reverse":1`, 1))
	expect.Equal(t, fmt.Sprint(p.Names, p.List), "[a b] [{1 0 5 0}]", "p.Names, p.List)")
	both := strings.Replace(iperf("a", "b", 1, 5, `,"bidir":1`), `"sum_sent"`, `"sum_received_bidir_reverse":{"seconds":10,"bits_per_second":4},"sum_sent"`, 1)
	expect.Equal(t, fmt.Sprint(pairsOf(t, both).List), "[{0 1 5 0} {1 0 4 0}]", "pairsOf")
}

// What iperf3 3.12 printed: of -P 2 --bidir, of UDP, which has a target, and of a server that is not there.
func TestIperf3Printed(t *testing.T) {
	printed := func(name string) []byte {
		data := expect.Value(os.ReadFile("testdata/iperf3-3.12-" + name + ".json"))(t)
		return data
	}
	for name, want := range map[string]string{
		"bidirpar": "[node1 node2] [{0 1 2.828e+09 0} {1 0 6.551e+09 0}] 0",
		"udp":      "[node1 node2] [{0 1 5.006e+07 0}] 1",
	} {
		r := expect.Value(Read(printed(name), Options{}))(t)
		for i := range r.Pairs.List {
			x := &r.Pairs.List[i].Rate
			*x, _ = strconv.ParseFloat(fmt.Sprintf("%.3e", *x), 64)
		}
		expect.Equal(t, fmt.Sprint(r.Pairs.Names, r.Pairs.List, len(r.Notes)), want, "%s", name)
	}
	expect.Error(t, expect.Err(Read(printed("refused"), Options{})), "unable to connect to server: Connection refused")
}

// Of each process the first device is listed: two processes of two GPUs are four ranks.
func TestNCCLJSON(t *testing.T) {
	for text, ranks := range map[string]int{
		ncclJSON: 4,
		strings.Replace(ncclJSON, `{"rank":0,"hostname":"node1"},{"rank":2,"hostname":"node2"}`, `{"rank":0},{"rank":1},{"rank":2},{"rank":3}`, 1): 4,
		strings.Replace(strings.Replace(ncclJSON, `"ngpus":2`, `"ngpus":1`, 1), `"rank":2`, `"rank":1`, 1):                                         2,
		strings.Replace(strings.Replace(ncclJSON, `"version":3`, `"version":1`, 1), `"nccl_version"`, `"rccl_version"`, 1):                         4,
		rcclJSON:  4,
		rcclLines: 4,
	} {
		r, err := Read([]byte(text), Options{})
		expect.True(t, err == nil && r.Format == NCCL && r.Ranks == ranks && r.Bytes == int64(4096/ranks) && math.Abs(r.Seconds-12.5e-6) <= 1e-12,
			"%+v, %v, want %d ranks", r, err, ranks)
	}
}

// The time is the slowest rank's where -a 3 says so, which is in the report of -J alone.
func TestNCCLSlowest(t *testing.T) {
	for args, slowest := range map[string]bool{
		`"-b","8"`: false, `"-a","3"`: true, `"-a3","-b","8"`: true, `"--average","3"`: true, `"--average=3"`: true,
		`"-a","1"`: false, `"-a","3","-a","1"`: false, `"-b","3","-a"`: false,
	} {
		r, err := Read([]byte(strings.Replace(ncclJSON, `"-b","8"`, args, 1)), Options{})
		expect.True(t, err == nil && (r.Limit == "") == slowest, "%s: %+v, %v", args, r, err)
	}
}

func TestPairsRefused(t *testing.T) {
	cut := func(s, from, to string) string {
		t.Helper()
		expect.MustTrue(t, strings.Contains(s, from), "no %q in the sample", from)
		return strings.Replace(s, from, to, 1)
	}
	for _, x := range []struct{ name, text, format, want string }{
		{"mpigraph, cut", mpiGraph3[:strings.Index(mpiGraph3, "node3:2 from")], "", "2 rows of 3"},
		{"mpigraph, before the end", mpiGraph3[:strings.Index(mpiGraph3, "Recv\t")], "", "the run ended before"},
		{"mpigraph, twice", mpiGraph3 + mpiGraph3, "", "a second run"},
		{"mpigraph, a short row", cut(mpiGraph3, "13.000\t23.000\t0.000", "13.000\t23.000"), "", "2 rates of 3"},
		{"mpigraph, another row", cut(mpiGraph3, "node2:1 from", "node4:1 from"), "", "not of"},
		{"mpigraph, other tasks", cut(mpiGraph3, "Procs\t3", "Procs\t4"), "", "in a run of 4"},
		{"mpigraph, no number", cut(mpiGraph3, "13.000", "x"), "", "is not a number"},
		{"mpigraph, none", cut(mpiGraph3, "13.000", "0.000"), "", "no rate from node1 to node3"},
		{"nccl, another", cut(ncclJSON, "alltoall_perf", "broadcast_perf"), "", "alltoall_perf did not write it"},
		{"nccl, cut", ncclJSON[:100], NCCL, "not a report"},
		{"nccl, interrupted", cut(ncclJSON, "end_time", "x"), "", "the run ended before"},
		{"nccl, wrong", cut(ncclJSON, `"nwrong":0.0`, `"nwrong":2.0`), "", "2 wrong elements"},
		{"nccl, CPU time", cut(ncclJSON, `"time":12.5`, `"cpu_time":12.5`), "", "results[1] has no time"},
		{"nccl, no devices", cut(ncclJSON, "devices", "x"), "", "how many ranks"},
		{"nccl, other ranks", cut(ncclJSON, `"rank":2`, `"rank":5`), "", "has rank 5"},
		{"rccl, another", cut(rcclJSON, "AlltoAll", "AlltoAllv"), "", `result 1 is of "AlltoAllv"`},
		{"rccl, cut", rcclJSON[:len(rcclJSON)-3], "", "not a list of results"},
		{"rccl, a cut line", rcclLines[:len(rcclLines)-9], "", "result 2"},
		{"rccl, split", cut(rcclJSON, `"nodes":1, "ranks":2`, `"nodes":2, "ranks":4`), "", "2 communicators of 2 ranks"},
		{"rccl, other ranks", cut(rcclLines, `"gpus":4`, `"gpus":8`), "", "result 2: 4 ranks, after 8"},
		{"rccl, wrong", cut(rcclJSON, `"wrong":"0"`, `"wrong":"7"`), "", "7 wrong elements"},
		{"rccl, no time", cut(rcclLines, "1.000000", "0"), "", "result 1: 0 bytes in 0"},
		{"rccl, in place alone", cut(rcclJSON, `"inPlace":0`, `"inPlace":1`), "", "the run ended before"},
		{"rccl, two cycles", rcclLines + rcclLines, "", "more than one run"},
		{"iperf3, too fast", iperf("a", "b", 1, 1e300, ""), "", "more than evbench can measure"},
		{"iperf3, failed", `{"start":{"connecting_to":{}},"error":"unable to connect"}`, "", `iperf3 says: "unable to connect"`},
		{"iperf3, a server", cut(iperfTwo, "connecting_to", "accepted_connection"), "", "not of servers"},
		{"iperf3, cut", iperfTwo[:len(iperfTwo)-5], "", "document 3"},
		{"iperf3, no receiver", cut(iperfTwo, "sum_received", "x"), "", "sum_received"},
		{"iperf3, twice", iperfTwo + iperfTwo, "", "two results from node1 to node2"},
		{"iperf3, itself", iperf("a", "a", 1, 5, ""), "", "a sends to itself"},
		{"iperf3, nothing", iperf("a", "b", 1, 0, ""), "", "no rate"},
		{"iperf3, no end", iperfStream[:strings.Index(iperfStream, `{"event":"end"`)], "", "has no end"},
		{"iperf3, other JSON", `{"a":1}`, "iperf3", "not JSON of iperf3"},
	} {
		r, err := Read([]byte(x.text), Options{Format: x.format})
		expect.True(t, err != nil && strings.Contains(err.Error(), x.want), "%s: %+v, error %v, want %q", x.name, r, err, x.want)
	}
}
