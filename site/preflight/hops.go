package preflight

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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
// "": a packet that may pass n-1 routers only makes the n-th one report its expiry. It needs no
// privilege, unlike traceroute with a socket for ICMP.
func router(ctx context.Context, addr, token string, n int) string {
	d := net.Dialer{Timeout: connectTime, Control: func(_, _ string, c syscall.RawConn) error { return shortLived(c, n) }}
	conn, err := d.DialContext(ctx, "udp", addr)
	if err != nil {
		return ""
	}
	defer conn.Close()
	raw, err := conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		return ""
	}
	for try := range uint32(maxSilent) {
		if ctx.Err() != nil {
			return ""
		}
		p := newPacket(token, reply, 0, try, nonce{}) // if it arrives it gets no answer
		_, _ = conn.Write(p[:])                       // returns the error of an earlier packet, which is read below
		if err := conn.SetReadDeadline(time.Now().Add(pingTime)); err != nil {
			return ""
		}
		if at := complaint(raw); at != "" {
			return at
		}
	}
	return ""
}

// shortLived lets the packets of a socket pass only n-1 routers, and makes the kernel keep the
// routers' reports.
func shortLived(c syscall.RawConn, n int) error {
	return either(c, func(fd int) error {
		return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, n), unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 1))
	}, func(fd int) error {
		return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, n), unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1))
	})
}

// complaint waits for a router's report that a packet has expired, until the deadline of the
// socket, and returns its address.
func complaint(raw syscall.RawConn) (at string) {
	body, control := make([]byte, packetSize), make([]byte, 512)
	_ = raw.Read(func(fd uintptr) (done bool) { // an error is the deadline
		for at == "" {
			_, n, _, _, err := unix.Recvmsg(int(fd), body, control, unix.MSG_ERRQUEUE)
			if err != nil {
				return err != unix.EAGAIN
			}
			at = offender(control[:n])
		}
		return true
	})
	return at
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
	return either(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, startTTL) },
		func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, startTTL) })
}

// tellTTL makes the kernel report the TTL of every arriving packet.
func tellTTL(conn *net.UDPConn) error {
	c, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	return either(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTTL, 1) },
		func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1) })
}

// either sets an option of IPv4 or IPv6; a socket of IPv6 may accept both.
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
