package ports

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/companion/linux"
	"evbench/controller/wire"
	"evbench/fabric/lab"
	"evbench/plan"
	"evbench/routing"
	"evbench/site/preflight"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestMain(m *testing.M) {
	if lab.Helper() {
		return
	}
	code, done, err := lab.Enter()
	switch {
	case err != nil:
		os.Exit(need.Main(err))
	case done:
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A network is a lab with routes of an engine, and its servers as hosts.
type network struct {
	*lab.Lab
	tree  *topology.Tree
	hosts []Host
}

func start(t *testing.T, o topology.Options, engine string, hash lab.Hash, dead ...topology.Link) network {
	t.Helper()
	tree := topologytest.Without(t, o, dead...)
	l := expect.Value(lab.Start(t.Context(), lab.Options{Tree: tree, Hash: hash}))(t)
	t.Cleanup(func() { expect.OK(t, l.Close()) })
	p := expect.Value(plan.Build(tree, plan.Options{Routing: engine}))(t)
	expect.Must(t, expect.Err(companion.Install(t.Context(), linux.NewTarget(l), p, l.Addresses())))
	n := network{Lab: l, tree: tree}
	for r := range tree.Servers() {
		n.hosts = append(n.hosts, Host{tree.ServerName(r), l.Addr(r, companion.Single)})
	}
	return n
}

// ask has all servers follow their trails at once.
func (n network) ask(ctx context.Context, trails [][]wire.Trail, gap time.Duration) ([][]wire.Seen, error) {
	out := make([][]wire.Seen, len(trails))
	var wg sync.WaitGroup
	for rank := range trails {
		wg.Go(func() {
			out[rank] = preflight.Trace(ctx, func(f func() error) error { return n.Do(rank, f) }, trails[rank], gap)
		})
	}
	wg.Wait()
	return out, nil
}

// command prints what a command prints on a node.
func (n network) command(t *testing.T, on lab.Node, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Stdout, c.Stderr = &out, &out
	expect.Must(t, n.StartCommand(on, c))
	err := c.Wait()
	expect.True(t, err == nil, "%v: %v: %s", args, err, out.String())
	return out.String()
}

// What probes see is what each switch says that it does with the same header.
func TestPathsAgreeWithSwitches(t *testing.T) {
	for name, o := range map[string]topology.Options{"two levels": {Ports: 4, Leaves: 4}, "three levels": {Ports: 2, Leaves: 2, Pods: 2}} {
		t.Run(name, func(t *testing.T) {
			n := start(t, o, routing.ECMP, lab.HashHeaders, topology.Link{Leaf: 0, Spine: 1})
			s, err := Run(t.Context(), n.hosts, 7000, Options{Ports: 2, Seed: 3, Both: true}, n.ask)
			expect.Must(t, err)
			f := s.Fields("")
			expect.True(t, f.Missing+f.Sprayed == 0 && len(s.Failed) == 0 && f.Known > 0, "%+v", f)
			rows := slices.DeleteFunc(slices.Clone(s.Paths.Rows), func(r Row) bool { return r.Port == None })
			for i, way := range n.walk(t, rows, TCP, 7000) {
				expect.Equal(t, fmt.Sprint(rows[i].Hops), way, "%v", rows[i])
			}
		})
	}
}

// Of RoCE v2 likewise, by UDP, also where a destination takes the datagrams without a word, as adapters do.
func TestRoCEPathsAgreeWithSwitches(t *testing.T) {
	n := start(t, topology.Options{Ports: 2, Leaves: 3}, routing.ECMP, lab.HashHeaders)
	var taker net.PacketConn
	expect.Must(t, n.Do(5, func() (err error) {
		taker, err = net.ListenPacket("udp4", fmt.Sprintf("%s:%d", n.hosts[5].Addr, RoCEPort))
		return err
	}))
	defer taker.Close()
	s, err := Run(t.Context(), n.hosts, RoCEPort, Options{Ports: 2, Seed: 3, Protocol: RoCE}, n.ask)
	expect.Must(t, err)
	f := s.Fields("")
	expect.True(t, f.Missing+f.Sprayed == 0 && len(s.Failed) == 0 && f.Known == 48 && f.Near == 6, "%+v", f)
	rows := slices.DeleteFunc(slices.Clone(s.Paths.Rows), func(r Row) bool { return r.Port == None })
	for i, way := range n.walk(t, rows, "udp", RoCEPort) {
		expect.True(t, rows[i].Port > rocePorts && rows[i].Port <= 0xffff, "%v", rows[i])
		expect.Equal(t, fmt.Sprint(rows[i].Hops), way, "%v", rows[i])
	}
}

// walk asks the switches for the next hops of headers, each once for all that are at it, and returns for each the addresses of the interfaces
// on its way: a process for each header and switch was most of what the tests take.
func (n network) walk(t *testing.T, rows []Row, protocol string, port int) []string {
	t.Helper()
	at, from, ways, batch := make([]int, len(rows)), make([]string, len(rows)), make([][]string, len(rows)), filepath.Join(t.TempDir(), "batch")
	for i, r := range rows {
		at[i], from[i] = n.tree.Leaf(r.Src), n.Name(n.Server(r.Src))
	}
	for {
		asked, left := make([][]int, n.tree.Switches()), 0
		for i, r := range rows {
			if at[i] != n.tree.Leaf(r.Dst) {
				asked[at[i]] = append(asked[at[i]], i)
				left++
			}
		}
		if left == 0 {
			break
		}
		for sw, of := range asked {
			if of == nil {
				continue
			}
			var text bytes.Buffer
			for _, i := range of {
				sport, dport := rows[i].Port, port
				if sport < 0 {
					sport, dport = port, -sport
				}
				fmt.Fprintln(&text, "route get", n.hosts[rows[i].Dst].Addr, "from", n.hosts[rows[i].Src].Addr, "iif", from[i], "ipproto", protocol, "sport", sport, "dport", dport)
			}
			expect.Must(t, os.WriteFile(batch, text.Bytes(), 0o600))
			said := strings.Split(n.command(t, lab.Node(sw), "ip", "-oneline", "-batch", batch), "\n")
			expect.MustTrue(t, len(said) == len(of)+1, "%d answers to %d questions: %q", len(said)-1, len(of), said)
			for k, i := range of {
				_, rest, _ := strings.Cut(said[k], " dev ")
				next, address := n.behind(t, sw, strings.Fields(rest)[0])
				ways[i] = append(ways[i], address)
				from[i], at[i] = n.Name(lab.Node(sw)), next
			}
		}
	}
	out := make([]string, len(rows))
	for i, way := range ways {
		out[i] = fmt.Sprint(way)
	}
	return out
}

// behind returns the switch that an interface of a switch leads to, and the address there.
func (n network) behind(t *testing.T, sw int, iface string) (next int, address string) {
	t.Helper()
	for port, p := range n.Ports(lab.Node(sw)) {
		if l, upper, ok := n.tree.LinkAt(sw, port); ok && p.Name == iface {
			low, high := n.tree.Ends(l)
			if upper {
				return low.Switch, n.Addresses().Cable(l, !upper).String()
			}
			return high.Switch, n.Addresses().Cable(l, !upper).String()
		}
	}
	t.Fatalf("switch %s sends to %s", n.Name(lab.Node(sw)), iface)
	return 0, ""
}

// Switches that spray are noticed, a switch that does not answer is unknown, and a port that a program listens on is
// left to it.
//
//gate:race
func TestOddNetworks(t *testing.T) {
	n := start(t, topology.Options{Ports: 2, Leaves: 2}, routing.Spray, lab.HashHeaders)
	s, err := Run(t.Context(), n.hosts, 7000, Options{Ports: 2, Seed: 3}, n.ask)
	expect.Must(t, err)
	expect.True(t, s.Fields("").Sprayed > 4, "%d ports of 16 are sprayed", s.Fields("").Sprayed)

	n = start(t, topology.Options{Ports: 2, Leaves: 2}, routing.ECMP, lab.HashHeaders)
	var l net.Listener
	expect.Must(t, n.Do(0, func() (err error) { l, err = net.Listen("tcp4", n.hosts[0].Addr.String()+":20007"); return err }))
	defer l.Close()
	trail := func(port int) []wire.Trail {
		return []wire.Trail{{From: n.hosts[0].Addr.String(), To: netip.AddrPortFrom(n.hosts[3].Addr, 7000).String(), Port: port, First: 2, Last: 9}}
	}
	seen := expect.Value(n.ask(t.Context(), [][]wire.Trail{trail(20007)}, 0))(t)[0][0]
	expect.Equal(t, fmt.Sprint(seen), "{[] false true }", "a port in use")
	for spine := range n.tree.Spines() {
		expect.Must(t, n.In(lab.Node(n.tree.Leaves()+spine), func() error { return os.WriteFile("/proc/sys/net/ipv4/icmp_ratemask", []byte("2048"), 0) }))
		expect.Must(t, n.In(lab.Node(n.tree.Leaves()+spine), func() error { return os.WriteFile("/proc/sys/net/ipv4/icmp_ratelimit", []byte("60000"), 0) }))
	}
	for range 8 { // Linux answers six at once
		seen = expect.Value(n.ask(t.Context(), [][]wire.Trail{trail(20008)}, 0))(t)[0][0]
	}
	expect.True(t, len(seen.Hops) == 2 && seen.Hops[0] == "" && seen.Hops[1] != "" && seen.Reached, "a silent spine: %+v", seen)
}

// TestQuotations: a switch quotes the header that it has got, and the kernel gives its answer to the socket that has that header. Where
// somebody on the way (NAT) has written another, the switch stays unknown: its path is not taken for one of the port.
//
//gate:race
func TestQuotations(t *testing.T) {
	n := start(t, topology.Options{Ports: 1, Leaves: 2}, routing.ECMP, lab.HashHeaders)
	from, to := n.hosts[0].Addr, n.hosts[1].Addr
	n.command(t, 0, "ip", "route", "replace", "blackhole", to.String())
	var raw int
	expect.Must(t, n.In(0, func() (err error) {
		raw, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		return err
	}))
	defer unix.Close(raw)
	const port = 50001
	sent := quotation(from, to, port, RoCEPort)
	for _, test := range []struct {
		name   string
		quoted []byte
		heard  bool
	}{
		{"as sent", sent, true},
		{"another source address", quotation(netip.MustParseAddr("10.9.9.9"), to, port, RoCEPort), false},
		{"another source port", quotation(from, to, port+1, RoCEPort), false},
		{"another destination", quotation(from, netip.MustParseAddr("10.9.9.9"), port, RoCEPort), false},
		{"another destination port", quotation(from, to, port, RoCEPort+1), false},
	} {
		over, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				if err := unix.Sendto(raw, test.quoted, 0, &unix.SockaddrInet4{Addr: from.As4()}); err != nil {
					ended <- err
					return
				}
				select {
				case <-over:
					ended <- nil
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		}()
		trails := [][]wire.Trail{{{From: from.String(), To: netip.AddrPortFrom(to, RoCEPort).String(), Port: port, First: 2, Last: 2, UDP: true}}}
		seen := expect.Value(n.ask(t.Context(), trails, 0))(t)[0][0]
		close(over)
		expect.OK(t, <-ended)
		expect.True(t, len(seen.Hops) == 1 && (seen.Hops[0] != "") == test.heard && !seen.Reached, "%s: %+v", test.name, seen)
	}
}

// quotation is what a switch says of a datagram that it has dropped as its TTL was over.
func quotation(src, dst netip.Addr, sport, dport uint16) []byte {
	b := []byte{11, 0, 0, 0, 0, 0, 0, 0, 0x45, 0, 0, 44, 0, 0, 0, 0, 1, unix.IPPROTO_UDP, 0, 0}
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, sport), dport)
	b = append(b, 0, 24, 0, 0)
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum+sum>>16))
	return b
}

// Over IPv6 it is the same: server0, leaf0, spine0, leaf1, server1.
func TestIPv6(t *testing.T) {
	n := start(t, topology.Options{Ports: 1, Leaves: 2}, routing.ECMP, lab.HashHeaders)
	way := []lab.Node{n.Server(0), 0, 2, 1, n.Server(1)}
	for _, at := range way {
		expect.Must(t, n.In(at, func() error {
			for _, s := range []string{"all/disable_ipv6 0", "default/disable_ipv6 0", "all/forwarding 1", "default/accept_dad 0", "all/accept_dad 0"} {
				key, value, _ := strings.Cut(s, " ")
				if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+key, []byte(value), 0); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	for i := 0; i+1 < len(way); i++ {
		a, b := way[i], way[i+1]
		n.command(t, a, "ip", "-6", "addr", "add", fmt.Sprintf("fd00:%d::1/64", i+1), "dev", n.Name(b), "nodad")
		n.command(t, b, "ip", "-6", "addr", "add", fmt.Sprintf("fd00:%d::2/64", i+1), "dev", n.Name(a), "nodad")
	}
	for i, at := range way {
		for net := 1; net < len(way); net++ {
			switch {
			case net > i+1:
				n.command(t, at, "ip", "-6", "route", "add", fmt.Sprintf("fd00:%d::/64", net), "via", fmt.Sprintf("fd00:%d::2", i+1))
			case net < i:
				n.command(t, at, "ip", "-6", "route", "add", fmt.Sprintf("fd00:%d::/64", net), "via", fmt.Sprintf("fd00:%d::1", i))
			}
		}
	}
	trails := [][]wire.Trail{{{From: "fd00:1::1", To: "[fd00:4::2]:7000", Port: 20011, First: 2, Last: 9}}}
	var seen wire.Seen
	for try := 0; try < 20 && !seen.Reached; try++ { // until neighbours have found each other
		seen = expect.Value(n.ask(t.Context(), trails, time.Millisecond))(t)[0][0]
	}
	expect.Equal(t, fmt.Sprintf("%+v", seen), "{Hops:[fd00:2::2 fd00:3::2] Reached:true InUse:false Err:}", "over IPv6")
}
