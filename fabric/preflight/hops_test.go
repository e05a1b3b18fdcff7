package preflight

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/internal/expect"
)

// said is what the kernel hands over with a packet that came back.
func said(level, kind int32, origin, icmp byte, family uint16, addr ...byte) []byte {
	data := make([]byte, offenderAt+4)
	data[originAt], data[typeAt] = origin, icmp
	binary.NativeEndian.PutUint16(data[offenderAt:], family)
	if family == unix.AF_INET6 {
		data = append(data, make([]byte, offender6At-offender4At)...)
	}
	data = append(data, addr...)
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := unix.Cmsghdr{Level: level, Type: kind}
	h.SetLen(unix.CmsgLen(len(data)))
	if _, err := binary.Encode(b, binary.NativeEndian, h); err != nil {
		panic(err)
	}
	copy(b[unix.CmsgLen(0):], data)
	return b
}

func TestOffender(t *testing.T) {
	v6 := []byte{0xfd, 1, 14: 0, 15: 9}
	for _, tt := range []struct {
		name    string
		control []byte
		want    string
	}{
		{"nothing", nil, ""},
		{"no messages", []byte{1, 2, 3}, ""},
		{"a router", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, timeExceeded4, unix.AF_INET, 172, 16, 0, 3), "172.16.0.3"},
		{"a router of IPv6", said(unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.SO_EE_ORIGIN_ICMP6, timeExceeded6, unix.AF_INET6, v6...), "fd01::9"},
		{"unreachable", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, 3, unix.AF_INET, 172, 16, 0, 3), ""},
		{"this machine", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_LOCAL, timeExceeded4, unix.AF_INET, 172, 16, 0, 3), ""},
		{"a TTL", said(unix.IPPROTO_IP, unix.IP_TTL, unix.SO_EE_ORIGIN_ICMP, timeExceeded4, unix.AF_INET, 172, 16, 0, 3), ""},
		{"cut short", said(unix.IPPROTO_IPV6, unix.IPV6_RECVERR, unix.SO_EE_ORIGIN_ICMP6, timeExceeded6, unix.AF_INET6, 1, 2, 3, 4), ""},
		{"no address", said(unix.IPPROTO_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, timeExceeded4, unix.AF_INET), ""},
	} {
		expect.Equal(t, offender(tt.control), tt.want, "%s", tt.name)
	}
}

// On the way to this machine is no router: the packet arrives, and nobody says anything.
func TestRouterOfNone(t *testing.T) {
	a := dataPort(t, "127.0.0.1:0")
	echoAt(t, "secret", a)
	expect.Equal(t, router(t.Context(), a, "secret", 1), "", "router")
	expect.Equal(t, router(t.Context(), "no port", "secret", 1), "", "router")
}
