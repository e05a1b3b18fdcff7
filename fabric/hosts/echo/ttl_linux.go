package echo

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// controlSize holds the one control message asked for.
var controlSize = unix.CmsgSpace(4)

// sendTTL has the packets of a socket leave with a TTL that the other side
// knows.
func sendTTL(_, _ string, c syscall.RawConn) error {
	return either(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, startTTL) },
		func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, startTTL) })
}

// tellTTL has the kernel tell the TTL of every packet that arrives.
func tellTTL(conn *net.UDPConn) error {
	c, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return either(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTTL, 1) },
		func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1) })
}

// either sets an option of IPv4 or IPv6; a socket of IPv6 may take both.
func either(c syscall.RawConn, v4, v6 func(fd int) error) error {
	var err4, err6 error
	if err := c.Control(func(fd uintptr) { err4, err6 = v4(int(fd)), v6(int(fd)) }); err != nil {
		return err
	}
	if err4 != nil && err6 != nil {
		return errors.Join(err4, err6)
	}
	return nil
}

// ttlOf reads the TTL from what came with a packet; 0: it does not say.
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
