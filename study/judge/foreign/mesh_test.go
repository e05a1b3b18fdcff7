package foreign

import (
	"fmt"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// clusterKit4 is bandwidth.txt of four hosts, of which one is slow; two figures touch.
const clusterKit4 = `Bandwidth
Rank:                0       1       2       3
   0 (node1 ):      0.0332928.0332900.1166450.2
   1 (node2 ): 332928.0     0.0332801.5166450.0
   2 (node10): 332900.1332801.5     0.0166449.9
   3 (node4 ): 166450.2166450.0166449.9     0.0

Minimum bandwidth: 166449.9 MB/s between node10 and node4
Maximum bandwidth: 332928.0 MB/s between node1 and node2
Average bandwidth: 249663.3 MB/s
`

func TestClusterKit(t *testing.T) {
	r := expect.Value(Read([]byte(clusterKit4), Options{}))(t)
	expect.Equal(t, fmt.Sprintln(r.Format, r.Pairs.Names, len(r.Pairs.List), r.Pairs.List[0], r.Pairs.Both, r.Pairs.Relative), "clusterkit [node1 node2 node10 node4] 6 {0 1 2.663424e+12 0} true true\n", "read")
	for _, x := range []struct{ name, from, to, want string }{
		{"cut", "   3 (node4 ): 166450.2166450.0166449.9     0.0\n", "", "3 rows of 4 ranks"},
		{"no end", "Minimum", "x", "the run ended before"},
		{"another least", "Minimum bandwidth: 166449.9", "Minimum bandwidth: 166440.0", "not of one run"},
		{"rows that differ", "332928.0     0.0", "332927.0     0.0", "node1 and node2 have different figures"},
		{"a short row", "332900.1332801.5     0.0166449.9", "332900.1332801.5     0.0", `line 5: "2 (node10): 332900.1332801.5     0.0" is not rank 2 with 4 figures`},
		{"two decimals", "0.0332928.0332900.1166450.2", "0.0 332928.05 332900.1166450.2", "figures of one decimal"},
		{"a host twice", "(node2 )", "(node1 )", "node1 has several ranks"},
		{"twice", "Minimum", clusterKit4 + "Minimum", "a second matrix"},
		{"latencies", "Minimum bandwidth: 166449.9 MB/s", "Minimum latency: 1.80 usec", "give bandwidth.txt"},
		{"a unit", "166449.9 MB/s", "166449.9 x/s", "no rate with a unit"},
	} {
		expect.Error(t, expect.Err(Read([]byte(strings.Replace(clusterKit4, x.from, x.to, 1)), Options{})), x.want)
	}
	quick := strings.NewReplacer("332928.0", "     0.0", "166449.9 ", "     0.0 ", "166449.9\n", "     0.0\n", "Minimum bandwidth: 166449.9", "Minimum bandwidth: 166450.0").Replace(clusterKit4)
	expect.Equal(t, len(expect.Value(Read([]byte(quick), Options{}))(t).Pairs.List), 4, "pairs that were not measured are left out")
}

// sendrecvOf is what sendrecv_perf of two ranks prints.
func sendrecvOf(a, b, usec string) string {
	return strings.NewReplacer("@a", a, "@b", b, "@t", usec).Replace(`# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  100 on @a device  0 [0x07] NVIDIA H100
#  Rank  1 Group  0 Pid  100 on @b device  0 [0x07] NVIDIA H100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    30.00   34.95   34.95      0    30.10   34.84   34.84    N/A
   134217728      33554432     float     sum      -1   @t   48.80   48.80      0   2751.0   48.79   48.79    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 41.8
#
`)
}

// Runs of sendrecv_perf of two hosts each, one after another, are a mesh; a ring of more is none.
func TestSendrecv(t *testing.T) {
	const start = "# Collective test starting: sendrecv_perf\n"
	mesh := start + sendrecvOf("node1", "node2", "2750.0") + start + sendrecvOf("node1", "node3", "5500.0")
	for _, x := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"newer", mesh, Options{}, "[node1 node2 node3] [{0 1 3.9045e+11 0} {0 2 1.9523e+11 1}]"},
		{"older", strings.ReplaceAll(mesh, start, ""), Options{Format: "nccl-sendrecv"}, "[node1 node2 node3] [{0 1 3.9045e+11 0} {0 2 1.9523e+11 1}]"},
		{"a size", mesh, Options{Size: 1 << 20}, "[node1 node2 node3] [{0 1 2.7962e+11 0} {0 2 2.7962e+11 1}]"},
	} {
		r := expect.Value(Read([]byte(x.text), x.o))(t)
		var rows []string
		for _, p := range r.Pairs.List {
			rows = append(rows, fmt.Sprintf("{%d %d %.5g %d}", p.Src, p.Dst, p.Rate, p.Group))
		}
		expect.Equal(t, fmt.Sprint(r.Pairs.Names, " ", rows), x.want, "%s", x.name)
		expect.True(t, r.Pairs.Both && !r.Pairs.Relative, "%s: %+v", x.name, r.Pairs)
	}
	third := "#  Rank  1 Group  0 Pid  100 on node2 device  0 [0x07] NVIDIA H100\n"
	for _, x := range []struct{ name, from, to, want string }{
		{"a ring", third, third + strings.Replace(third, "Rank  1", "Rank  2", 1), "run 1 of sendrecv_perf: 3 ranks send around a ring"},
		{"one host", "on node2", "on node1", "run 1 of sendrecv_perf: its two ranks are not on two hosts"},
		{"cut", "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 41.8\n", "", "the run ended before that"},
		{"another operation", "    sum ", "   prod ", "redop prod and root -1 are not those of sendrecv_perf"},
		{"JSON", mesh, `{"nccl_version":22809,"args":["sendrecv_perf"]}`, "not its JSON"},
		{"a pair twice", "node3", "node2", "two results from node1 to node2"},
	} {
		expect.Error(t, expect.Err(Read([]byte(strings.Replace(mesh, x.from, x.to, 1)), Options{})), x.want)
	}
}
