package ports

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/fabric/lab"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/frrtest"
	"evbench/topology"
)

// TestRouters: switches are real routers, which learn their routes by BGP. While the connections of a plan are open a cable
// dies. The routers withdraw it; what is then sent on these connections arrives, the ports are asked about again, those
// that have moved are known, and the plan over the new paths is valid and leaves the cable out.
func TestRouters(t *testing.T) {
	n := start(t, topology.Options{Ports: 2, Leaves: 3, Spines: 2}, routing.ECMP, lab.HashHeaders)
	for sw := range n.tree.Switches() {
		frrtest.Start(t, n.Lab, lab.Node(sw), n.bgp(sw), "bgpd", "staticd")
	}
	n.settle(t)
	before, old := n.planned(t, 3)
	open := n.connect(t, old)

	dead := topology.Link{Leaf: 0, Spine: 1}
	expect.Must(t, n.SetLinks(t.Context(), []topology.Link{dead}, false))
	n.settle(t, dead)
	for _, c := range open {
		expect.Must(t, expect.Err(c.Write([]byte{7})))
		expect.Must(t, expect.Err(io.ReadFull(c, make([]byte, 1))))
	}
	after, _ := n.planned(t, 4)
	cable := n.cable(dead)
	crosses := func(r Row) bool {
		return slices.ContainsFunc(r.Hops, func(h Hop) bool { return slices.Contains(cable, h.String()) })
	}
	for _, r := range after.Rows {
		expect.False(t, crosses(r), "%v crosses the dead cable", r)
	}
	crossed := slices.DeleteFunc(slices.Clone(before.Rows), func(r Row) bool { return !crosses(r) })
	expect.True(t, len(crossed) > 0, "no port led over the cable that died")
	for i, way := range n.walk(t, crossed, TCP, 7000) { // answers of old and new routes for one port
		expect.True(t, fmt.Sprint(crossed[i].Hops) != way, "%v still goes there", crossed[i])
	}
}

// bgp is the configuration of a switch: a leaf has a number of its own and announces its servers; all spines have one, so
// that no way passes two of them.
func (n network) bgp(sw int) string {
	var b strings.Builder
	fmt.Fprintln(&b, "frr defaults datacenter")
	as, peers, own := 65000, "", ""
	if sw < n.tree.Leaves() {
		as = 65001 + sw
		own = fmt.Sprintf("  network %s\n", n.Addresses().Leaf(sw, -1))
	}
	for port, p := range n.Ports(lab.Node(sw)) {
		l, upper, ok := n.tree.LinkAt(sw, port)
		switch {
		case ok:
			fmt.Fprintf(&b, "interface %s\n ip address %s/31\nexit\n", p.Name, n.Addresses().Cable(l, upper))
			peers += fmt.Sprintf(" neighbor %s remote-as external\n", n.Addresses().Cable(l, !upper))
		case port < n.tree.ServersOn(sw):
			fmt.Fprintf(&b, "ip route %s/32 169.254.0.%d %s onlink\n", n.Addr(n.tree.First(sw)+port, -1), port+1, p.Name)
		}
	}
	fmt.Fprintf(&b, "router bgp %d\n bgp router-id 10.255.0.%d\n no bgp ebgp-requires-policy\n no bgp network import-check\n bgp bestpath as-path multipath-relax\n%s", as, sw+1, peers)
	fmt.Fprintf(&b, " address-family ipv4 unicast\n%s", own)
	return b.String()
}

// settle waits until each leaf has the next hops to the others that are alive.
func (n network) settle(t *testing.T, dead ...topology.Link) {
	t.Helper()
	for a := range n.tree.Leaves() {
		want := 0
		for b := range n.tree.Leaves() {
			for s := range n.tree.Spines() {
				if a != b && !slices.Contains(dead, topology.Link{Leaf: a, Spine: s}) && !slices.Contains(dead, topology.Link{Leaf: b, Spine: s}) {
					want++
				}
			}
		}
		for strings.Count(n.command(t, lab.Node(a), "ip", "route", "show", "proto", "bgp"), " via ") != want {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// planned asks for all paths and plans over them; the judge finds the plan valid.
func (n network) planned(t *testing.T, seed uint64) (*Paths, *Plan) {
	t.Helper()
	s, err := Run(t.Context(), n.hosts, 7000, Options{Ports: 2, Seed: seed}, n.ask)
	expect.Must(t, err)
	f := s.Fields("")
	expect.MustTrue(t, f.Missing+f.Sprayed == 0 && len(s.Failed) == 0, "%+v", f)
	s.Paths.Time = time.Unix(1, 0)
	p := expect.Value(NewExchange(&s.Paths, Roles{}))(t).Plan(0)
	var text bytes.Buffer
	expect.Must(t, p.Write(&text))
	r, err := check(t, text.String(), &s.Paths)
	expect.True(t, err == nil && r.Valid && len(r.Notes) == 0, "%s", offences(r, err))
	return &s.Paths, p
}

// cable is the addresses of both ends of a cable.
func (n network) cable(l topology.Link) []string {
	return []string{n.Addresses().Cable(l, false).String(), n.Addresses().Cable(l, true).String()}
}

// connect opens a connection from each port of a plan, whose other end sends back what comes.
func (n network) connect(t *testing.T, p *Plan) (open []net.Conn) {
	t.Helper()
	for rank, h := range n.hosts {
		var l net.Listener
		expect.Must(t, n.Do(rank, func() (err error) { l, err = net.Listen("tcp4", h.Addr.String()+":7000"); return err }))
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
			}
		}()
	}
	p.x.Each(func(src, dst int) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: n.hosts[src].Addr.AsSlice(), Port: p.port(src*p.x.Hosts + dst)}}
		d.Control = func(_, _ string, c syscall.RawConn) (err error) {
			_ = c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) })
			return err
		}
		expect.Must(t, n.Do(src, func() error {
			c, err := d.DialContext(t.Context(), "tcp4", n.hosts[dst].Addr.String()+":7000")
			open = append(open, c)
			return err
		}))
	})
	t.Cleanup(func() {
		for _, c := range open {
			_ = c.Close()
		}
	})
	return open
}
