package tcp

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
	"evbench/transport"
)

// freePort is one that nobody has now.
func freePort(t *testing.T) int {
	t.Helper()
	l := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	expect.Must(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port
}

// Connections leave from the ports of the plan, which the next group has at once; a port of somebody else is named.
func TestPorts(t *testing.T) {
	ls := []*Listener{listen(t, Options{}), listen(t, Options{})}
	port := []int{freePort(t), freePort(t)}
	groups := func(id uint32) (a, b Group) {
		a, b = pair(id, ls...)
		a.Ports, b.Ports = true, true
		a.Need, b.Need = []Path{{1, port[0]}}, []Path{{0, port[1]}}
		return a, b
	}
	for id := range uint32(3) {
		a, b := groups(id)
		e, f := connect(t, ls[0], a), connect(t, ls[1], b)
		carries(t, e, f, port[0])
		carries(t, f, e, port[1])
		from := expect.Value(unix.Getsockname(e.find[key{1, port[0], true}].fd))(t).(*unix.SockaddrInet4)
		expect.Equal(t, netip.AddrPortFrom(netip.AddrFrom4(from.Addr), uint16(from.Port)).String(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port[0])).String(), "source")
		expect.Must(t, e.Close())
		expect.Must(t, f.Close())
	}
	taken := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	a, _ := groups(9)
	a.Need = []Path{{1, taken.Addr().(*net.TCPAddr).Port}}
	_, err := ls[0].Connect(t.Context(), a)
	expect.True(t, err != nil && strings.Contains(err.Error(), "bind to "+taken.Addr().String()+": address already in use"), "%v", err)
}

// TestTranslated: a connection whose header somebody changes on the way is refused by name.
func TestTranslated(t *testing.T) {
	ls := []*Listener{listen(t, Options{}), listen(t, Options{})}
	nat := expect.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer nat.Close()
	var halves sync.WaitGroup
	defer halves.Wait()
	halves.Go(func() {
		in, err := nat.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", ls[1].Addr())
		if err != nil {
			_ = in.Close()
			return
		}
		for _, ends := range [][2]net.Conn{{in, out}, {out, in}} {
			halves.Go(func() { _, _ = io.Copy(ends[0], ends[1]); _ = ends[0].Close() })
		}
	})
	a, b := pair(1, ls...)
	a.Ports, b.Ports, b.Need = true, true, nil
	a.Need, a.Peers = []Path{{1, freePort(t)}}, []Peer{a.Peers[0], {[]string{nat.Addr().String()}}}
	connect(t, ls[0], a)
	f, err := ls[1].Connect(t.Context(), b)
	if err == nil { // it came before the connection
		defer f.Close()
		_, err = f.Poll(t.Context(), make([]transport.Op, 1))
	}
	expect.Error(t, err, "accept rank 0: its connection comes from 127.0.0.1:")
	expect.Error(t, err, fmt.Sprintf(" and left from 127.0.0.1:%d: ", a.Need[0].Spine))
	expect.Error(t, err, "headers are changed on the way (NAT)")
}
