package foreign

import (
	"fmt"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// perftestOf is what a client prints.
func perftestOf(title, local, remote, unit string, rows ...string) string {
	return fmt.Sprintf(`---------------------------------------------------------------------------------------
                    %s
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Link type       : Ethernet
 GID index       : 3
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x2da6 PSN 0x38f9aa RKey 0x201200 VAddr 0x007f67c0644240
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:%s
 remote address: LID 0000 QPN 0x3606 PSN 0xf0086a RKey 0x200c00 VAddr 0x007f0a53d57240
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:%s
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[%[4]s]    BW average[%[4]s]   MsgRate[Mpps]
%[5]s
---------------------------------------------------------------------------------------
`, title, local, remote, unit, strings.Join(rows, "\n"))
}

func TestPerftest(t *testing.T) {
	write := perftestOf("RDMA_Write BW Test", "192:168:01:39", "192:168:01:06", "Gb/sec", " 65536      403504           0.00               42.31                0.080701")
	read := perftestOf("RDMA_Read BW Test", "192:168:01:39", "192:168:01:07", "MB/sec", " 2          5000           0.04            0.04            2.6", " 65536      5000             100.5               100.00 \t\t   2.641399")
	for _, tt := range []struct {
		name, text string
		o          Options
		want, err  string
	}{
		{"a mesh", write + read, Options{}, "192.168.1.39>192.168.1.6 42.31; 192.168.1.7>192.168.1.39 0.8389", ""},
		{"MiB", strings.Replace(read, "BW average[MB/sec]", "BW average[MiB/sec]", 1), Options{}, "192.168.1.7>192.168.1.39 0.8389", ""},
		{"names", write, Options{Addresses: map[string]string{"192.168.1.39": "node3", "192.168.1.6": "node1"}}, "node3>node1 42.31", ""},
		{"one size", read, Options{Size: 2}, "192.168.1.7>192.168.1.39 0.0003355", ""},
		{"another size", read, Options{Size: 4}, "", "has no result of that size"},
		{"cut", write[:strings.Index(write, " 65536")] + read, Options{}, "", "has no result"},
		{"a server's", "* Waiting for client to connect... *\n" + write, Options{}, "", "give the output of clients"},
		{"bidirectional", strings.Replace(write, "Write BW", "Write Bidirectional BW", 1), Options{}, "", "the sum of both directions"},
		{"InfiniBand", strings.ReplaceAll(write, " GID: ", " "), Options{}, "", "write a table of pairs"},
		{"IPv6", strings.ReplaceAll(write, "255:255:192", "00:01:192"), Options{}, "", "holds no IPv4 address"},
		{"packets", strings.Replace(write, "BW average[Gb/sec]", "BW average[x]", 1), Options{}, "", "no bandwidth in MB/sec"},
		{"a row", strings.Replace(write, "42.31", "x", 1), Options{}, "", "no row of a result"},
	} {
		r, err := Read([]byte(tt.text), tt.o)
		if tt.err != "" {
			expect.Error(t, err, tt.err)
			continue
		}
		expect.Must(t, err)
		var got []string
		for _, p := range r.Pairs.List {
			got = append(got, fmt.Sprintf("%s>%s %.4g", r.Pairs.Names[p.Src], r.Pairs.Names[p.Dst], p.Rate/1e9))
		}
		expect.Equal(t, strings.Join(got, "; "), tt.want, "%s", tt.name)
		expect.Equal(t, r.Format, "perftest", "%s", tt.name)
	}
}
