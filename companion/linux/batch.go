package linux

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"evbench/companion"
	"evbench/fabric/lab"
	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
)

// protocol marks routes of this program, for distinction: "ip route show proto 201".
const protocol = 201

// Limits of the addresses.
const (
	maxLeaves = 256
	maxPaths  = 200
)

func room(t topology.Wires) bool { return t.Leaves() <= maxLeaves && t.Paths() <= maxPaths }

// A Batch is the configuration of each node, with a file for each Linux switch and each server.
//
// As in the lab, the address of a server chooses the path: 10.<path>.<leaf>.<slot+1>, and
// 10.200.<leaf>.<slot+1> for routing tables. Cables between switches have two addresses each from
// 172.16.0.0/12 upwards, and every leaf is 169.254.0.1 to its servers. An interface is named after
// its far end.
type Batch struct {
	plan   *plan.Plan
	tree   *topology.Tree
	addr   lab.Addresses
	routes companion.Routes
}

// ifaceRE is the valid names of files and interfaces.
var ifaceRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)

// NewBatch returns the files of a plan. If names in its tree are invalid for interfaces, default
// names replace all.
func NewBatch(p *plan.Plan) (*Batch, error) {
	t := p.Tree
	switch {
	case !room(t.Wires):
		return nil, fmt.Errorf("%s has %d leaves and %d paths between them; its addresses 10.<path>.<leaf>.<slot+1> have room for %d and %d",
			t.Notation(), t.Leaves(), t.Paths(), maxLeaves, maxPaths)
	case p.Routing == routing.Adaptive:
		return nil, companion.ErrAdaptive
	case p.Routing == routing.Spray:
		return nil, fmt.Errorf("routing spray: ip -batch sets routes, and packets are sprayed by a packet filter; take ecmp or another routing")
	}
	own := *p
	if n := t.Names(); n != nil && slices.ContainsFunc(n.Switches, func(s string) bool { return !ifaceRE.MatchString(s) }) {
		own.Tree = t.Named(nil)
	}
	b := &Batch{plan: &own, tree: own.Tree, addr: lab.Addresses{Tree: t}}
	var err error
	b.routes, err = companion.Compute(&own, b.addr)
	return b, err
}

func (b *Batch) nodes() int { return len(b.routes) }

func (b *Batch) Name(n companion.Node) string { return companion.NodeName(&b.tree.Live, n) }

type address struct {
	iface  string
	prefix netip.Prefix
	note   string
}

var gateway = netip.AddrFrom4([4]byte{169, 254, 0, 1})

func (b *Batch) addresses(n companion.Node) []address {
	t := b.tree
	var out []address
	if r := int(n) - t.Switches(); r >= 0 {
		leaf := t.SwitchName(t.Leaf(r))
		out = append(out, address{leaf, netip.PrefixFrom(b.addr.Server(r, companion.Single), 32), "tables"})
		for path := range t.Paths() {
			note := t.PathName(path)
			out = append(out, address{leaf, netip.PrefixFrom(b.addr.Server(r, path), 32), note})
		}
		return out
	}
	for port := range t.SwitchPorts(int(n)) {
		iface := companion.PeerName(&t.Live, n, companion.Port(port))
		if l, upper, ok := t.LinkAt(int(n), port); ok {
			out = append(out, address{iface, netip.PrefixFrom(b.addr.Cable(l, upper), 31), "cable"})
		} else if port < t.ServersOn(int(n)) {
			out = append(out, address{iface, netip.PrefixFrom(gateway, 32), "gateway"})
		}
	}
	return out
}

// Switches maps an address to the switch that owns it, for all cables between switches: with these
// they answer probes for the routers on the way. It is empty for a tree with more cables than
// addresses.
func Switches(t *topology.Tree) map[string]string {
	out := map[string]string{}
	if !room(t.Wires) {
		return out
	}
	b := &Batch{tree: t, addr: lab.Addresses{Tree: t}}
	for n := range t.Switches() {
		for _, a := range b.addresses(companion.Node(n)) {
			if a.prefix.Addr() != gateway {
				out[a.prefix.Addr().String()] = b.Name(companion.Node(n))
			}
		}
	}
	return out
}

// writeNode writes the file of one node, for "ip -force -batch FILE". It sets addresses and routes,
// which does not disturb correct ones, and deletes the routes to stale, the prefixes set by an
// earlier file. The routes of a dead link are in no file, so -force continues where an interface is
// down.
func (b *Batch) writeNode(w io.Writer, n companion.Node, stale []netip.Prefix) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s, plan %s\n# ip -force -batch FILE\n", b.Name(n), b.plan.Hash())
	for _, a := range b.addresses(n) {
		fmt.Fprintf(out, "address replace %s dev %s\n", a.prefix, a.iface)
	}
	for _, r := range b.routes[n].Routes {
		fmt.Fprintln(out, b.route(n, r))
	}
	for _, p := range stale {
		if _, ok := slices.BinarySearchFunc(b.routes[n].Routes, companion.Route{Prefix: p}, companion.CompareRoutes); !ok {
			fmt.Fprintf(out, "route del %s proto %d\n", p, protocol)
		}
	}
	return out.Flush()
}

const replace = "route replace "

func (b *Batch) route(n companion.Node, r companion.Route) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s%s proto %d", replace, r.Prefix, protocol)
	if r.Source.IsValid() {
		fmt.Fprintf(&s, " src %s", r.Source)
	}
	for _, p := range r.Via {
		if len(r.Via) > 1 {
			s.WriteString(" nexthop")
		}
		s.WriteString(b.hop(n, p))
	}
	return s.String()
}

func (b *Batch) hop(n companion.Node, p companion.Port) string {
	iface := companion.PeerName(&b.tree.Live, n, p)
	l, upper, ok := b.tree.LinkAt(int(n), int(p))
	switch {
	case int(n) >= b.tree.Switches():
		return fmt.Sprintf(" via %s dev %s onlink", gateway, iface)
	case ok:
		return fmt.Sprintf(" via %s dev %s", b.addr.Cable(l, !upper), iface)
	default:
		return fmt.Sprintf(" dev %s scope link", iface)
	}
}

// WriteAddresses writes the address plan: node, interface, address and its purpose: a cable, a
// gateway, or the path to a server.
func (b *Batch) WriteAddresses(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# addresses of %s, %d servers: node interface address path\n", b.tree.Notation(), b.tree.Servers())
	// Policy 1 takes the hash that the socket of a sender on the same machine drew, not the ports of the packet.
	fmt.Fprintln(out, "# on all switches: sysctl net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 "+
		"net.ipv4.fib_multipath_hash_policy=3 net.ipv4.fib_multipath_hash_fields=0x37")
	for i := range b.routes {
		n := companion.Node(i)
		for _, a := range b.addresses(n) {
			fmt.Fprintf(out, "%s %s %s %s\n", b.Name(n), a.iface, a.prefix, a.note)
		}
	}
	return out.Flush()
}

const addressFile = "addresses.txt"

// Write writes addresses.txt and a file NODE.batch for every node into a directory, and returns how
// many: all or none. A new file deletes the routes set by the existing file of an earlier plan and
// not by this one. An unreadable existing file is a *StaleError.
func (b *Batch) Write(dir string) (int, error) {
	files := []atomicfile.File{{Name: filepath.Join(dir, addressFile), Write: b.WriteAddresses}}
	for i := range b.nodes() {
		n := companion.Node(i)
		name := filepath.Join(dir, b.Name(n)+".batch")
		stale, err := earlier(name)
		if err != nil {
			return 0, &StaleError{err}
		}
		files = append(files, atomicfile.File{Name: name, Write: func(w io.Writer) error { return b.writeNode(w, n, stale) }})
	}
	if err := atomicfile.WriteAll(files...); err != nil {
		return 0, err
	}
	return len(files), nil
}

// OfTables returns the commands for forwarding tables of an engine.
func OfTables(t *routing.Tables, engine string) (*Batch, error) {
	return NewBatch(&plan.Plan{Tree: t.Tree, Tables: t, Routing: engine})
}

func (b *Batch) WriteNodes(w io.Writer) error {
	for n := range b.nodes() {
		if err := b.writeNode(w, companion.Node(n), nil); err != nil {
			return err
		}
	}
	return nil
}

// WriteFRR writes a configuration of FRR for each switch, one after the other, for "vtysh -f" there: the addresses of its
// interfaces, and static routes. Servers take theirs from WriteNodes.
func (b *Batch) WriteFRR(w io.Writer) error {
	out := bufio.NewWriter(w)
	for n := range companion.Node(b.tree.Switches()) {
		fmt.Fprintf(out, "! %s, plan %s\n", b.Name(n), b.plan.Hash())
		for _, a := range b.addresses(n) {
			fmt.Fprintf(out, "interface %s\n ip address %s\nexit\n", a.iface, a.prefix)
		}
		for _, r := range b.routes[n].Routes {
			for _, p := range r.Via {
				iface := companion.PeerName(&b.tree.Live, n, p)
				if l, upper, ok := b.tree.LinkAt(int(n), int(p)); ok {
					iface = fmt.Sprint(b.addr.Cable(l, !upper), " ", iface)
				}
				fmt.Fprintf(out, "ip route %s %s\n", r.Prefix, iface)
			}
		}
	}
	return out.Flush()
}

// A StaleError says why the file of an earlier plan cannot be read.
type StaleError struct{ err error }

func (e *StaleError) Error() string { return e.err.Error() }

func (e *StaleError) Unwrap() error { return e.err }

// earlier returns the prefixes that a file sets and deletes: whether the file was used is unknown.
func earlier(name string) ([]netip.Prefix, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := prefixes(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// prefixes returns the prefixes of the routes that a batch file sets or deletes, sorted, each once.
func prefixes(r io.Reader) ([]netip.Prefix, error) {
	var out []netip.Prefix
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		f := strings.Fields(in.Text())
		if len(f) < 3 || f[0] != "route" || f[1] != "replace" && f[1] != "del" {
			continue
		}
		p, err := netip.ParsePrefix(f[2])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out), in.Err()
}
