package preflight

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"evbench/controller/wire"
)

// The parts of the kernel's report on a lost packet: the detector (origin) and the cause (type),
// then the address of the reporter. See struct sock_extended_err of ip(7).
const (
	originAt      = 4
	typeAt        = 5
	offenderAt    = 16 // a sockaddr
	offender4At   = offenderAt + 4
	offender6At   = offenderAt + 8
	offender6End  = offender6At + 16
	timeExceeded4 = 11
	timeExceeded6 = 3
)

// router returns the address that the router n steps on the way to an address uses for itself, or
// "": a connection whose packets may pass n-1 routers only makes the n-th one report their expiry.
func router(ctx context.Context, addr string, n int) string {
	for range maxSilent {
		if seen := Trace(ctx, nil, []wire.Trail{{To: addr, First: n, Last: n}}, 0)[0]; len(seen.Hops) > 0 && seen.Hops[0] != "" {
			return seen.Hops[0]
		}
	}
	return ""
}

// offender returns, from the control data of a socket's error queue, the sender of a report that a packet has expired on the way; "" for another
// report.
func offender(control []byte) string {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return ""
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if !v4 && !v6 || len(m.Data) < offender4At+4 {
			continue
		}
		family := binary.NativeEndian.Uint16(m.Data[offenderAt:])
		switch origin, kind := m.Data[originAt], m.Data[typeAt]; {
		case origin == unix.SO_EE_ORIGIN_ICMP && kind == timeExceeded4 && family == unix.AF_INET:
			return netip.AddrFrom4([4]byte(m.Data[offender4At:])).String()
		case origin == unix.SO_EE_ORIGIN_ICMP6 && kind == timeExceeded6 && family == unix.AF_INET6 && len(m.Data) >= offender6End:
			return netip.AddrFrom16([16]byte(m.Data[offender6At:])).String()
		}
	}
	return ""
}

// controlSize holds the one control message asked for.
var controlSize = unix.CmsgSpace(4)

// sendTTL sets the TTL of the packets of a socket to a value known to the peer.
func sendTTL(_, _ string, c syscall.RawConn) error {
	return control(c, unix.IP_TTL, unix.IPV6_UNICAST_HOPS, startTTL)
}

// tellTTL makes the kernel report the TTL of every arriving packet.
func tellTTL(conn *net.UDPConn) error {
	c, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return control(c, unix.IP_RECVTTL, unix.IPV6_RECVHOPLIMIT, 1)
}

func control(c syscall.RawConn, four, six, value int) (err error) {
	if failed := c.Control(func(fd uintptr) { err = set(int(fd), four, six, value) }); failed != nil {
		return failed
	}
	return err
}

// set sets an option of IPv4 or IPv6; a socket of IPv6 may accept both.
func set(fd, four, six, value int) error {
	err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, four, value)
	if six := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, six, value); err != nil && six != nil {
		return errors.Join(err, six)
	}
	return nil
}

// ttlOf reads the TTL from the control data of a packet; 0 if it is missing.
func ttlOf(control []byte) byte {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_TTL
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_HOPLIMIT
		if (v4 || v6) && len(m.Data) >= 4 {
			return m.Data[0] | m.Data[3] // an int of 1..255, in either byte order
		}
	}
	return 0
}
