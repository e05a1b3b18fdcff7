package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/unit"
)

const threadNamespace = "/proc/thread-self/ns/net"

func openNamespace() (int, error) {
	fd, err := unix.Open(threadNamespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", threadNamespace, err)
	}
	return fd, nil
}

// onThread runs f on a thread of its own that may change its namespace, and waits for it.
// Afterwards the thread returns to home. If it cannot, it is discarded: a goroutine that ends
// locked ends its thread.
func onThread(home int, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := f()
		if back := unix.Setns(home, unix.CLONE_NEWNET); back == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return <-done
}

func enter(home, ns int, f func() error) error {
	return onThread(home, func() error {
		if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter namespace: %w", err)
		}
		return f()
	})
}

// Inside returns a function that runs others inside the namespace with a path, such as one held by
// another process of the user (Descriptor), like Lab.In. The namespace stays until leave.
func Inside(path string) (in func(f func() error) error, leave func() error, err error) {
	home, err := openNamespace()
	if err != nil {
		return nil, nil, err
	}
	ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open namespace %s: %w", path, err), unix.Close(home))
	}
	return func(f func() error) error { return enter(home, ns, f) },
		func() error { return errors.Join(unix.Close(ns), unix.Close(home)) }, nil
}

func unshare() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("create network namespace: %w", err)
	}
	return nil
}

type sysctl struct{ key, value string }

// Both "all" and "default": the kernel combines the first with each interface's own value, which
// starts as a copy of the second.
var (
	everySysctls = []sysctl{
		{"ipv6/conf/all/disable_ipv6", "1"},
		{"ipv6/conf/default/disable_ipv6", "1"},
		{"ipv4/conf/all/rp_filter", "0"},
		{"ipv4/conf/default/rp_filter", "0"},
	}
	// ignore_routes_with_linkdown stays off, the default: until the companion has replaced the
	// routes over a lost link, packets on it are dropped and counted there instead of vanishing in
	// the IP layer. icmp_ratelimit 0: each attempt on a dead path gets an answer, not one a second.
	// icmp_errors_use_inbound_ifaddr: a packet whose TTL ends here is answered from the interface by
	// which it came, as hardware does, and so names a cable.
	switchSysctls = []sysctl{
		{"ipv4/ip_forward", "1"},
		{"ipv4/conf/all/send_redirects", "0"},
		{"ipv4/conf/default/send_redirects", "0"},
		{"ipv4/icmp_ratelimit", "0"},
		{"ipv4/icmp_errors_use_inbound_ifaddr", "1"},
		{"ipv4/conf/all/ignore_routes_with_linkdown", "0"},
		{"ipv4/conf/default/ignore_routes_with_linkdown", "0"},
	}
	// tcp_rto_max_ms bounds how late a sender notices that its dead path is back: by default it may
	// be as long as the path was dead. Kernels before 6.15 have no such setting. The usual 15
	// minutes then have more, but shorter, retries.
	serverSysctls = []sysctl{
		{"ipv4/tcp_slow_start_after_idle", "0"},
		{"ipv4/tcp_no_metrics_save", "1"},
		{rtoMaxKey, "4000"},
		{"ipv4/tcp_retries2", "255"},
	}
)

// settings are how a switch chooses among several next hops. Policy 3 reads the fields 0x37 of each
// packet: addresses, protocol and ports, as hardware does. Policy 1 would take the hash that the
// sender's socket drew, if the packet never left this machine: the same five-tuple then goes several
// ways. Each switch has a seed of its own, always the same, except HashAlike: switches of one kind with
// default settings send all that they have in common one way. Kernels before 6.11 have one seed.
func (h Hash) settings(n Node) []sysctl {
	if h == HashAddresses {
		return []sysctl{{"ipv4/fib_multipath_hash_policy", "0"}}
	}
	seed := 1
	if h == HashHeaders {
		seed += int(n)
	}
	return []sysctl{
		{"ipv4/fib_multipath_hash_policy", "3"},
		{"ipv4/fib_multipath_hash_fields", "0x37"},
		{hashSeedKey, strconv.Itoa(seed)},
	}
}

// rtoMin is a server's shortest retransmission time-out. When all others begin to send to it at
// once, the queues fill before TCP has adapted, and waiting segments would be sent twice. The
// time-out allows for 64 KiB from each server in one queue, between the kernel's 200 ms and a
// second. Kernels before 6.11 have no such setting; they do send some twice.
func rtoMin(servers int, rate unit.Rate) sysctl {
	d := 200 * time.Millisecond
	if rate > 0 {
		queue := float64(servers-1) * (64 << 10) * 8 / float64(rate)
		d = min(max(d, time.Duration(queue*float64(time.Second))), time.Second)
	}
	return sysctl{rtoMinKey, strconv.FormatInt(d.Microseconds(), 10)}
}

const (
	rtoMinKey = "ipv4/tcp_rto_min_us"
	rtoMaxKey = "ipv4/tcp_rto_max_ms"

	hashSeedKey = "ipv4/fib_multipath_hash_seed"
)

// set writes settings of the calling thread's namespace. A kernel without IPv6 has no IPv6 settings
// to switch off.
func set(settings []sysctl) error {
	for _, s := range settings {
		err := os.WriteFile("/proc/sys/net/"+s.key, []byte(s.value), 0)
		if os.IsNotExist(err) && (strings.HasPrefix(s.key, "ipv6/") || s.key == rtoMinKey || s.key == rtoMaxKey || s.key == hashSeedKey) {
			continue
		}
		if err != nil {
			return fmt.Errorf("sysctl net.%s=%s: %w", strings.ReplaceAll(s.key, "/", "."), s.value, err)
		}
	}
	return nil
}
