package rdma

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evbench/barrier"
	"evbench/testing/expect"
	"evbench/transport"
	"evbench/transport/tcp"
)

func addrs(s ...string) (out []netip.Addr) {
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

func TestParsePort(t *testing.T) {
	for _, p := range []Port{
		{MTU: 4096, LID: 8, LMC: 2},
		{MTU: 1024, Addrs: addrs("10.0.0.1")},
		{MTU: 1024, Addrs: addrs("10.0.0.1", "10.1.0.1", "fd00::1")},
	} {
		got := expect.Value(ParsePort(p.String()))(t)
		expect.Equal(t, got, p, "%v", p)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "over another transport"}, {"mpi:3", "over another transport"}, {"roce 4096", "over another transport"},
		{"ib 4096 0 2", "LID 0"}, {"ib 4096 8 8", "LMC 8"}, {"ib 4096 -8 2", `"-8"`}, {"ib x 8 2", `"x"`},
		{"roce x 10.0.0.1", `MTU "x"`}, {"roce 4096 10.0.0", "10.0.0"},
	} {
		expect.Error(t, expect.Err(ParsePort(tt.text)), tt.want)
	}
}

// The LID or address of a path, and what a plan may not ask for.
func TestWay(t *testing.T) {
	ib, roce := Port{MTU: 4096, LID: 8, LMC: 2}, Port{MTU: 4096, Addrs: addrs("10.200.0.1", "10.0.0.1", "10.1.0.1")}
	for _, tt := range []struct {
		port   Port
		path   int
		offset int
		name   string
	}{
		{ib, transport.Single, 0, "the path of the tables"}, {ib, 0, 0, "spine0 (LID 8)"}, {ib, 3, 3, "spine3 (LID 11)"},
		{roce, transport.Single, 0, "the path of the tables"}, {roce, 0, 1, "spine0 (10.0.0.1)"}, {roce, 1, 2, "spine1 (10.1.0.1)"},
	} {
		w := way{port: tt.port, path: tt.path}
		expect.Equal(t, w.offset(), tt.offset, "%v, path %d", tt.port, tt.path)
		expect.Equal(t, w.String(), tt.name, "%v, path %d", tt.port, tt.path)
		expect.OK(t, tt.port.leads(tt.path))
	}
	for _, tt := range []struct {
		port Port
		path int
		want string
	}{{ib, 4, "LMC 2 gives 4 paths"}, {roce, 2, "no address"}} {
		expect.Error(t, tt.port.leads(tt.path), tt.want)
	}
}

// TestLabel: the kernel makes of a label the port that the plan has (rdma_flow_label_to_udp_sport).
func TestLabel(t *testing.T) {
	for _, port := range []int{0xc001, 50000, 0xffff} {
		label := way{udp: port}.label()
		expect.Equal(t, label&0x3fff^label>>14|0xc000, port, "the port of label %d", label)
		expect.True(t, label > 0 && label < 1<<20, "label %d", label)
	}
	expect.Equal(t, way{}.label(), 0, "no port")
	dir := t.TempDir()
	expect.True(t, !softRoCE(dir), "an adapter")
	expect.Must(t, os.WriteFile(filepath.Join(dir, "parent"), []byte("eth0\n"), 0o600))
	expect.True(t, softRoCE(dir), "soft-RoCE")
}

// TestPorts: a queue pair sends from the port of its path, to the address of the tables; a barrier's has none.
func TestPorts(t *testing.T) {
	f, _ := memFabric(2, 2)
	f.like.Ports, f.kind = true, barrier.Tournament
	for rank, e := range f.open(t, 50000+7) {
		ours := e.find[key{1 - rank, 50007, true}].way
		expect.Equal(t, fmt.Sprint(ours.udp, ours.path, ours.offset(), ours), fmt.Sprint(50007, transport.Single, 0, " UDP port 50007"), "rank %d", rank)
		for k, c := range e.find {
			expect.True(t, k.path != barrierPath || c.way.udp == 0, "%+v has %v", k, c.way)
		}
	}
	for _, port := range []int{0xc000, 0x10000, 7000} {
		g := Group{Peers: []Peer{{Port: f.devices[0].port()}, {Port: f.devices[1].port()}}, Need: []tcp.Path{{Peer: 1, Spine: port}}, Ports: true}
		expect.Error(t, g.check(f.devices[0].port()), "RoCE v2 has ports 49153 to 65535")
	}
}

// What cannot work is an error that names the server's rank, before anything is opened.
func TestGroupCheck(t *testing.T) {
	own, roce := Port{MTU: 4096, LID: 8, LMC: 2}, Port{MTU: 4096, Addrs: addrs("10.0.0.1")}
	for _, tt := range []struct {
		name string
		peer Port
		need []tcp.Path
		want string
	}{
		{"alike", Port{MTU: 4096, LID: 16, LMC: 2}, []tcp.Path{{Peer: 1, Spine: 3}}, ""},
		{"MTU", Port{MTU: 1024, LID: 16, LMC: 2}, nil, "connect rank 1: its RDMA port has an MTU of 1024 bytes, that of this server 4096"},
		{"LMC", Port{MTU: 4096, LID: 16, LMC: 1}, nil, "connect rank 1: its InfiniBand port has LMC 1, that of this server 2"},
		{"network", roce, nil, "connect rank 1: its RDMA port is on Ethernet, that of this server on InfiniBand"},
		{"path", Port{MTU: 4096, LID: 16, LMC: 2}, []tcp.Path{{Peer: 1, Spine: 4}}, "connect rank 1: the plan sends to it through spine4"},
		{"peer", Port{MTU: 4096, LID: 16, LMC: 2}, []tcp.Path{{Peer: 2, Spine: 0}}, "cannot open a path to rank 2"},
	} {
		g := Group{Peers: []Peer{{Port: own}, {Port: tt.peer}}, Need: tt.need}
		err := g.check(own)
		expect.False(t, (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want),
			"%s: %v, want %q", tt.name, err, tt.want)
	}
}

func TestChoose(t *testing.T) {
	gids := func(a ...string) map[netip.Addr]int {
		m := map[netip.Addr]int{}
		for i, x := range addrs(a...) {
			m[x] = 3 + i
		}
		return m
	}
	ib := func(n int) candidate {
		return candidate{device: "mlx5_0", number: n, active: true, port: Port{MTU: 4096, LID: 8 * n, LMC: 2}}
	}
	roce := candidate{device: "mlx5_1", number: 1, ethernet: true, active: true, port: Port{MTU: 1024}, gids: gids("10.0.0.1", "10.1.0.1")}
	down := ib(1)
	down.active = false
	for _, tt := range []struct {
		name  string
		data  string
		all   []candidate
		ipoib string
		want  string // the port, or part of the error
	}{
		{"by address", "10.0.0.1,10.1.0.1", []candidate{ib(1), roce}, "", "roce 1024 10.0.0.1 10.1.0.1"},
		{"the only InfiniBand port", "192.168.0.1", []candidate{ib(1), roce}, "", "ib 4096 8 2"},
		{"by IPoIB", "192.168.0.1", []candidate{ib(1), ib(2)}, "mlx5_0/2", "ib 4096 16 2"},
		{"several", "192.168.0.1", []candidate{ib(1), ib(2)}, "", "several InfiniBand ports, mlx5_0/1, mlx5_0/2"},
		{"no device", "192.168.0.1", nil, "", "no RDMA device is here"},
		{"other address", "192.168.0.1", []candidate{roce}, "", "no RDMA port has the address 192.168.0.1"},
		{"no address for a path", "10.0.0.1,10.2.0.1", []candidate{roce}, "", "mlx5_1/1 does not have the address 10.2.0.1"},
		{"down", "192.168.0.1", []candidate{down}, "", "mlx5_0/1 is not active"},
		{"a name", "node1", []candidate{roce}, "", "must be an IP address"},
	} {
		c, err := choose(strings.Split(tt.data, ","), tt.all, func(netip.Addr) string { return tt.ipoib })
		expect.False(t, err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && c.port.String() != tt.want,
			"%s: %v, %v, want %q", tt.name, c.port, err, tt.want)
	}
}

func TestPortOfInterface(t *testing.T) {
	expect.Equal(t, portOf("testdata/ib0"), "mlx5_3/2", "port")
	expect.Equal(t, portOf("testdata/none"), "", "port")
	expect.Equal(t, resent("testdata/port"), 9, "packets sent again")
}

func TestLockFailed(t *testing.T) {
	err := lockFailed(1<<20, 65536, syscall.ENOMEM)
	expect.Equal(t, err.Error(), "register 1048576 bytes with the RDMA device: cannot allocate memory: this process may lock 65536 bytes of memory; "+
		"raise that (ulimit -l, LimitMEMLOCK=, memlock in limits.conf)", "error")
	expect.Equal(t, lockFailed(1, 1<<64-1, syscall.EFAULT).Error(), "register 1 bytes with the RDMA device: bad address", "error")
}
