package workers

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"evbench/fabric/hosts/host"
)

// Addresses are how a worker says where it is reached: one address when routing tables
// choose the path, then one more for each spine, comma separated.
type Addresses []string

// ParseAddresses reads what String writes.
func ParseAddresses(s string) (Addresses, error) {
	a := Addresses(strings.Split(s, ","))
	first := ""
	for _, x := range a {
		_, port, err := net.SplitHostPort(x)
		if err != nil {
			return nil, fmt.Errorf("%q is not host:port", x)
		}
		if first == "" {
			first = port
		}
		if port != first {
			return nil, fmt.Errorf("%q: all addresses of one server have the same port, here %s", x, first)
		}
	}
	return a, nil
}

func (a Addresses) String() string { return strings.Join(a, ",") }

// Listen is where a server with these addresses listens: on its only one, or
// on all that the machine has.
func (a Addresses) Listen() string {
	if len(a) == 1 {
		return a[0]
	}
	ip, port, _ := net.SplitHostPort(a[0]) // ParseAddresses has checked it
	if strings.Contains(ip, ":") {
		return net.JoinHostPort("::", port)
	}
	return net.JoinHostPort("0.0.0.0", port)
}

// FindAddresses returns the wanted addresses of this machine with a port: the first
// for routing tables, further ones for a spine each.
func FindAddresses(f host.Facts, w host.Want, port int) (Addresses, error) {
	ips, err := f.Choose(w)
	if err != nil {
		return nil, err
	}
	var data Addresses
	for _, ip := range ips {
		data = append(data, net.JoinHostPort(ip.String(), strconv.Itoa(port)))
	}
	return data, nil
}

// at returns the addresses with the port of a listener: port 0 has become a
// number.
func (a Addresses) at(listener string) (Addresses, error) {
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
