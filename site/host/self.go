package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Self describes this machine, with evbench of a version. connection is ssh's description of the
// connection (SSH_CONNECTION). Without a want, it chooses the address that ssh connected to.
func Self(version string, want Want, connection string) (Answer, error) {
	a := Answer{
		Schema: HostSchema, Version: version, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Addresses: []string{}, Ports: []Port{},
	}
	// Client address and port, server address and port.
	if f := strings.Fields(connection); len(f) == 4 {
		a.ReachedFrom, a.ReachedAt = f[0], f[2]
	}
	var err error
	if a.Facts, err = Read(); err != nil {
		return a, err
	}
	if want == (Want{}) {
		if a.ReachedAt != "" {
			a.Addresses = append(a.Addresses, a.ReachedAt)
		}
		return a, nil
	}
	if want.Addresses != "" {
		a.Addresses = strings.Split(want.Addresses, ",")
		return a, nil
	}
	addrs, err := a.Facts.Choose(want)
	if err != nil {
		a.AddressError = err.Error()
	}
	for _, x := range addrs {
		a.Addresses = append(a.Addresses, x.String())
	}
	return a, nil
}

// TryPorts tries to open ports at the addresses, or at all of the machine.
func TryPorts(addresses []string, port, count int) []Port {
	if len(addresses) == 0 {
		addresses = []string{""}
	}
	var out []Port
	for n := range count {
		p := Port{Port: port + n, Free: true}
		for _, a := range addresses {
			if err := tryPort(net.JoinHostPort(a, strconv.Itoa(p.Port))); err != nil {
				p.Free, p.Error = false, err.Error()
			}
		}
		out = append(out, p)
	}
	return out
}

func tryPort(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l.Close()
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("%s: no address of this machine", addr)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return errors.New("in use")
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}

// Reach returns the address of this machine at which hosts reach a controller. Candidates are the
// addresses from which hosts saw the question come: the first that is an address here and not
// loopback, else a loopback one if all hosts are this machine. It is "" otherwise: behind a jump
// host or a translated address.
func Reach(reports []Report, here []string) string {
	loopback := ""
	for _, r := range reports {
		if r.Answer == nil {
			continue
		}
		from := r.Answer.ReachedFrom
		switch {
		case isLoopback(from):
			loopback = from
		case slices.Contains(here, from):
			return from
		default:
			return ""
		}
	}
	return loopback
}

func isLoopback(addr string) bool {
	a, err := netip.ParseAddr(addr)
	return err == nil && a.Unmap().IsLoopback()
}
