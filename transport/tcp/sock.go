package tcp

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// tune sets the socket options needed before connect or listen.
func (o *Options) tune(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("TCP_NODELAY: %w", err)
	}
	name := cmp.Or(o.congestion, "cubic")
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	if err != nil && o.congestion != "" {
		return fmt.Errorf("congestion control %q: %w", name, err)
	}
	return nil
}

func bound(fd, sockBuf int) error {
	if sockBuf == 0 {
		return nil
	}
	for _, opt := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, opt, sockBuf); err != nil {
			return fmt.Errorf("socket buffer of %d bytes: %w", sockBuf, err)
		}
	}
	return nil
}

// urgent gives a connection's packets priority over data in those queues of this machine's
// interfaces that support it. It is for tokens, barrier signals and acknowledgements, which a port
// or a link waits for.
func urgent(fd int) error {
	const interactive = 6 // TC_PRIO_INTERACTIVE
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PRIORITY, interactive); err != nil {
		return fmt.Errorf("priority: %w", err)
	}
	return nil
}

// in runs f in the network namespace for sockets.
func (o *Options) in(f func() error) error {
	if o.In == nil {
		return f()
	}
	return o.In(f)
}

func (o *Options) log(format string, args ...any) {
	if o.Log != nil {
		o.Log(format, args...)
	}
}

// Sockaddr parses "ip:port" and returns it with its address family.
func Sockaddr(addr string) (unix.Sockaddr, int, error) {
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, 0, fmt.Errorf("address %q: must be ip:port", addr)
	}
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}, unix.AF_INET, nil
	}
	six := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if i, err := net.InterfaceByName(a.Addr().Zone()); err == nil {
		six.ZoneId = uint32(i.Index)
	}
	return six, unix.AF_INET6, nil
}

// CheckFiles returns an error if this process may not open n more files than a process needs
// anyway. It raises the soft limit as far as the hard limit allows.
func CheckFiles(n int) error {
	const spare = 100
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if lim.Cur < lim.Max {
		lim.Cur = lim.Max
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return fmt.Errorf("limit of open files: %w", err)
		}
	}
	if need := uint64(n + spare); lim.Cur < need {
		return fmt.Errorf("this run needs %d open files in one process, the limit is %d: raise it (ulimit -Hn, LimitNOFILE=) or take fewer servers per process", need, lim.Cur)
	}
	return nil
}

// outOfFiles adds the cure to an error of the kernel.
func outOfFiles(err error) error {
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("%w: raise the limit of open files (ulimit -Hn, LimitNOFILE=) or take fewer servers per process", err)
	}
	return err
}

func again(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}
