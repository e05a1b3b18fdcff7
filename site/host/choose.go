package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/hostlist"
	"evbench/internal/lists"
)

// A Want selects the addresses of a machine for others to use. Exactly one field is set.
type Want struct {
	Interface string       // all addresses of this interface
	Network   netip.Prefix // all addresses in this network
	Toward    string       // the one address with the route there
	Addresses string       // these, separated by commas
}

// ReadWant reads a selection of addresses: of an interface, in a network, or the one with the route
// to a host, with or without a port.
func ReadWant(iface, network, toward string) (w Want, err error) {
	if _, _, err := net.SplitHostPort(toward); toward != "" && err != nil {
		toward = net.JoinHostPort(toward, "9") // any port has the same route
	}
	w = Want{Interface: iface, Toward: toward}
	switch {
	case iface != "" && network != "" || toward != "" && iface+network != "":
		err = errors.New("--interface, --network and --toward: give one of them, each chooses the address")
	case network != "":
		if w.Network, err = netip.ParsePrefix(network); err != nil {
			err = fmt.Errorf("--network: %q: write a network, such as 10.1.0.0/16", network)
		}
	}
	return w, err
}

// Choose returns the selected addresses, in the order of the interfaces and of the addresses on
// them, without link-local ones. For an interface with addresses of both families it returns those
// of IPv4, so that all servers of a run use the same family. Its errors list the candidates.
func (f Facts) Choose(w Want) ([]netip.Addr, error) { return f.choose(w, sourceTo) }

func (f Facts) choose(w Want, source func(to string) (netip.Addr, error)) ([]netip.Addr, error) {
	switch {
	case w.Interface != "":
		return f.ofInterface(w.Interface)
	case w.Network.IsValid():
		return f.ofNetwork(w.Network)
	}
	a, err := source(w.Toward)
	if err != nil {
		return nil, fmt.Errorf("no address of this machine leads to %s: %w; there are %s", w.Toward, err, f.list())
	}
	return []netip.Addr{a}, nil
}

func (f Facts) ofInterface(name string) ([]netip.Addr, error) {
	for _, i := range f.Interfaces {
		if i.Name != name {
			continue
		}
		if !i.Up {
			return nil, fmt.Errorf("interface %s is down; there are %s", name, f.list())
		}
		if out := oneFamily(i.usable()); len(out) > 0 {
			return out, nil
		}
		return nil, fmt.Errorf("interface %s has no address; there are %s", name, f.list())
	}
	return nil, fmt.Errorf("no interface %q; there are %s", name, f.list())
}

func (f Facts) ofNetwork(n netip.Prefix) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, i := range f.Interfaces {
		if i.Up {
			out = append(out, lists.Filter(i.usable(), n.Contains)...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no address in %s; there are %s", n, f.list())
	}
	return out, nil
}

func (i Interface) usable() []netip.Addr {
	var out []netip.Addr
	for _, p := range i.Addrs {
		if a := p.Addr().Unmap(); !a.IsLinkLocalUnicast() {
			out = append(out, a)
		}
	}
	return out
}

func oneFamily(all []netip.Addr) []netip.Addr {
	if v4 := slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !a.Is4() }); len(v4) > 0 {
		return v4
	}
	return all
}

// list names all interfaces with their addresses, "eth0 (10.0.0.1), lo (127.0.0.1)".
func (f Facts) list() string {
	var all []string
	for _, i := range f.Interfaces {
		has := lists.Map(i.usable(), netip.Addr.String)
		switch {
		case !i.Up:
			has = []string{"down"}
		case len(has) == 0:
			has = []string{"no address"}
		}
		all = append(all, fmt.Sprintf("%s (%s)", i.Name, strings.Join(has, ", ")))
	}
	if len(all) == 0 {
		return "no interfaces"
	}
	return strings.Join(all, ", ")
}

// sourceTo asks the routing tables for the source address towards another one; UDP sends nothing
// for that.
func sourceTo(to string) (netip.Addr, error) {
	conn, err := net.Dial("udp", to)
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone(""), nil
}

// Of returns the interface with an address, or a zero one.
func (f Facts) Of(a netip.Addr) Interface {
	for _, i := range f.Interfaces {
		for _, p := range i.Addrs {
			if p.Addr().Unmap() == a.Unmap() {
				return i
			}
		}
	}
	return Interface{}
}

func Addresses() ([]string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var here []string
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			here = append(here, n.IP.String())
		}
	}
	return here, nil
}

const maxCPU = 1023

// parseCPUs reads a list of processors in the form of taskset, "0-15,32", and returns them rising,
// each once.
func parseCPUs(list string) ([]int, error) {
	numbers, err := hostlist.Expand("[" + list + "]")
	var out []int
	for _, s := range numbers {
		n, err := strconv.Atoi(s)
		if err != nil || n > maxCPU {
			return nil, fmt.Errorf("%.60q: processor %s: the highest is %d", list, s, maxCPU)
		}
		out = append(out, n)
	}
	if err != nil || len(out) == 0 {
		return nil, fmt.Errorf("%.60q is not a list of processors, such as 0-15,32", list)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Networks are the IPv4 networks of interfaces that are up, other than loopback, each once.
func (f Facts) Networks() (out []netip.Prefix) {
	for _, i := range f.Interfaces {
		for _, a := range i.Addrs {
			if n := a.Masked(); i.Up && a.Addr().Is4() && !a.Addr().IsLoopback() && !a.Addr().IsLinkLocalUnicast() && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}
