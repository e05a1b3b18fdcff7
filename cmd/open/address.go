package open

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evbench/controller/wire"
	"evbench/internal/lists"
	"evbench/site/host"
)

// Addresses are how a worker is reached: one address for when routing tables choose the path, then
// one more for each spine, comma separated.
type Addresses []string

// ParseAddresses parses the form of String.
func ParseAddresses(s string) (Addresses, error) {
	a := Addresses(strings.Split(s, ","))
	first := ""
	for _, x := range a {
		_, port, err := net.SplitHostPort(x)
		if err != nil {
			return nil, fmt.Errorf("%q is not host:port", x)
		}
		first = cmp.Or(first, port)
		if port != first {
			return nil, fmt.Errorf("%q: all addresses of one server have the same port, here %s", x, first)
		}
	}
	return a, nil
}

func (a Addresses) String() string { return strings.Join(a, ",") }

// Listen is where a server with these addresses listens: on its only one, or on all of the machine.
func (a Addresses) Listen() string {
	if len(a) == 1 {
		return a[0]
	}
	ip, port, _ := net.SplitHostPort(a[0]) // valid after ParseAddresses
	if strings.Contains(ip, ":") {
		return net.JoinHostPort("::", port)
	}
	return net.JoinHostPort("0.0.0.0", port)
}

// A Choice is the user's flags of evbench worker about its addresses, "" if not set.
type Choice struct {
	Data               string // addresses with ports
	Interface, Network string // take the addresses of this machine there, with Port
	Port               int    // 0: a free one
	PortSet            bool   // set by the user, not a default
	Controller         string // selects the address on the way to it, if only Port was set
}

// Addresses returns the given addresses, or the ones found on this machine.
func (c Choice) Addresses(f host.Facts) (Addresses, error) {
	given := slices.DeleteFunc([]string{c.Data, c.Interface, c.Network}, func(s string) bool { return s == "" })
	switch {
	case len(given) > 1:
		return nil, errors.New("--data, --interface and --network: give one of them; each states the address of this server")
	case len(given) == 0 && !c.PortSet:
		return nil, errors.New("--data is missing: where other servers reach this one, such as 10.0.0.17:7000; " +
			"--interface, --network or --data-port find the address on this machine")
	case c.Data != "" && c.PortSet:
		return nil, errors.New("--data-port: the addresses of --data have a port")
	case c.Data != "":
		data, err := ParseAddresses(c.Data)
		if err != nil {
			err = fmt.Errorf("--data: %w", err)
		}
		return data, err
	case c.Port < 0 || c.Port > 65535:
		return nil, fmt.Errorf("--data-port %d: must be 0..65535", c.Port)
	}
	w, err := c.want()
	if err != nil {
		return nil, err
	}
	data, err := FindAddresses(f, w, c.Port)
	if err != nil {
		flag := map[bool]string{c.Interface != "": "--interface", c.Network != "": "--network"}[true]
		return nil, fmt.Errorf("%s: %w", cmp.Or(flag, "--data-port"), err)
	}
	return data, nil
}

func (c Choice) want() (host.Want, error) {
	if c.Interface != "" || c.Network != "" {
		return host.ReadWant(c.Interface, c.Network, "")
	}
	kind, addr, err := wire.SplitAddress(c.Controller)
	if err != nil {
		return host.Want{}, fmt.Errorf("--controller: %w", err)
	}
	if kind == "unix" {
		return host.Want{}, errors.New("--data-port: alone it takes the address that leads to the controller, which is on this machine: give --interface or --network")
	}
	return host.Want{Toward: addr}, nil
}

// FindAddresses returns the selected addresses of this machine with a port: the first for routing
// tables, each further one for a spine.
func FindAddresses(f host.Facts, w host.Want, port int) (Addresses, error) {
	ips, err := f.Choose(w)
	return lists.Map(ips, func(ip netip.Addr) string { return net.JoinHostPort(ip.String(), strconv.Itoa(port)) }), err
}

// At returns the addresses with the port of a listener.
func (a Addresses) At(listener string) (Addresses, error) {
	_, port, err := net.SplitHostPort(listener)
	if err != nil {
		return nil, err
	}
	var out Addresses
	for _, x := range a {
		ip, _, err := net.SplitHostPort(x)
		if err != nil {
			return nil, err
		}
		out = append(out, net.JoinHostPort(ip, port))
	}
	return out, nil
}
