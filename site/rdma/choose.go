package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A candidate is an RDMA port of this machine.
type candidate struct {
	device   string
	number   int
	ethernet bool
	active   bool
	port     Port               // without Addrs
	gids     map[netip.Addr]int // of RoCE: the addresses, with their indexes
}

func (c candidate) String() string { return fmt.Sprintf("%s/%d", c.device, c.number) }

// choose returns the port with the first of a server's addresses: a RoCE address, else the address
// of an IPoIB interface (ipoib names its port, or ""). If there is only one InfiniBand port, any
// address selects it.
func choose(data []string, all []candidate, ipoib func(a netip.Addr) string) (candidate, error) {
	var addrs []netip.Addr
	for _, s := range data {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return candidate{}, fmt.Errorf("address %q: must be an IP address", s)
		}
		addrs = append(addrs, a.Unmap())
	}
	if len(all) == 0 {
		return candidate{}, errors.New("no RDMA device is here, or its driver is not loaded (ibv_devinfo shows them)")
	}
	c, err := find(addrs[0], all, ipoib)
	switch {
	case err != nil:
		return c, err
	case !c.active:
		return c, fmt.Errorf("RDMA port %v is not active: the cable is out, or on InfiniBand no subnet manager runs", c)
	case !c.ethernet:
		return c, nil
	}
	for _, a := range addrs {
		if _, has := c.gids[a]; !has {
			return c, fmt.Errorf("RDMA port %v does not have the address %v (RoCE v2), which is to be a path", c, a)
		}
	}
	c.port.Addrs = addrs
	return c, nil
}

func find(a netip.Addr, all []candidate, ipoib func(a netip.Addr) string) (candidate, error) {
	var ib []string
	var last candidate
	for _, c := range all {
		if _, has := c.gids[a]; has {
			return c, nil
		}
		if !c.ethernet {
			ib, last = append(ib, c.String()), c
		}
	}
	name := ipoib(a)
	for _, c := range all {
		if !c.ethernet && c.String() == name {
			return c, nil
		}
	}
	switch len(ib) {
	case 0:
		return last, fmt.Errorf("no RDMA port has the address %v, and none is InfiniBand", a)
	case 1:
		return last, nil
	}
	return last, fmt.Errorf("there are several InfiniBand ports, %s: take the address of the IPoIB interface of one, not %v", strings.Join(ib, ", "), a)
}

// portOf names the InfiniBand port of an interface, given its sysfs directory.
func portOf(dir string) string {
	found, _ := filepath.Glob(dir + "/device/infiniband/*")
	if len(found) != 1 {
		return ""
	}
	n, _ := strconv.Atoi(read(dir + "/dev_port"))
	return fmt.Sprintf("%s/%d", filepath.Base(found[0]), n+1)
}

// softRoCE reports whether a device, by its folder in /sys, is rdma_rxe's: they alone name the interface below.
func softRoCE(dir string) bool { return read(filepath.Join(dir, "parent")) != "" }

func read(name string) string {
	b, _ := os.ReadFile(name) // "": no such file
	return strings.TrimSpace(string(b))
}

// resentCounters are the driver counters of packets sent again, or of retransmissions started: of
// mlx5, and of soft-RoCE.
var resentCounters = []string{"local_ack_timeout_err", "packet_seq_err", "completer_retry_err"}

// resent adds them up for a port, given its sysfs directory.
func resent(dir string) (sum uint64) {
	for _, name := range resentCounters {
		n, _ := strconv.ParseUint(read(filepath.Join(dir, "hw_counters", name)), 10, 64)
		sum += n
	}
	return sum
}

// lockFailed says why memory could not be registered, and the cure; limit bounds locked memory.
func lockFailed(n int, limit uint64, err error) error {
	const unlimited = 1<<64 - 1
	if limit == unlimited {
		return fmt.Errorf("register %d bytes with the RDMA device: %w", n, err)
	}
	return fmt.Errorf("register %d bytes with the RDMA device: %w: this process may lock %d bytes of memory; "+
		"raise that (ulimit -l, LimitMEMLOCK=, memlock in limits.conf)", n, err, limit)
}
