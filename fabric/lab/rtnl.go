package lab

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A conn uses rtnetlink in one namespace. This package builds the requests that the netlink library
// does not offer in one piece: a veth pair with the index, address and GSO size of both ends, and a
// token bucket with its burst in bytes.
type conn struct {
	raw    map[int]*nl.SocketHandle
	handle *netlink.Handle
	// many is for Batch and List only: while a link is taken down, its node answers on raw, which
	// must not delay changes of routes.
	many *nl.SocketHandle
}

func dial() (*conn, error) {
	s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	many, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		s.Close()
		many.Close()
		return nil, fmt.Errorf("open netlink socket: %w", err)
	}
	return &conn{map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}, h, &nl.SocketHandle{Socket: many}}, nil
}

func (c *conn) close() {
	c.raw[unix.NETLINK_ROUTE].Close()
	c.many.Close()
	c.handle.Close()
}

func (c *conn) do(kind uint16, flags uint16, data ...nl.NetlinkRequestData) error {
	req := &nl.NetlinkRequest{
		NlMsghdr: unix.NlMsghdr{Len: unix.SizeofNlMsghdr, Type: kind, Flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | flags},
		Sockets:  c.raw,
	}
	for _, d := range data {
		req.AddData(d)
	}
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

// addCable creates both ends of a cable, down; ns is the namespace of its far end. The near end is
// in the namespace of c.
func (c *conn) addCable(w cable, ns, mtu int, s shape) error {
	near, far := w.ends[0], w.ends[1]
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(near.index)
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("veth"))
	peer := info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(nl.VETH_INFO_PEER, nil)
	nl.NewIfInfomsgChild(peer, unix.AF_UNSPEC).Index = int32(far.index)
	for _, a := range endAttributes(far, mtu, s) {
		peer.AddRtAttr(int(a.Type), a.Data)
	}
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(ns)))

	data := []nl.NetlinkRequestData{msg}
	for _, a := range endAttributes(near, mtu, s) {
		data = append(data, a)
	}
	return c.do(unix.RTM_NEWLINK, create, append(data, info)...)
}

// packets of one priority may wait at a port of a server: enough to make bytes the limit.
const packets = 10_000

func endAttributes(e end, mtu int, s shape) []*nl.RtAttr {
	out := []*nl.RtAttr{
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.name)),
		nl.NewRtAttr(unix.IFLA_ADDRESS, e.mac),
		nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(mtu))),
		nl.NewRtAttr(unix.IFLA_TXQLEN, nl.Uint32Attr(packets)),
		nl.NewRtAttr(unix.IFLA_GSO_MAX_SIZE, nl.Uint32Attr(s.gsoMax)),
	}
	if s.gsoSeg > 0 {
		out = append(out, nl.NewRtAttr(unix.IFLA_GSO_MAX_SEGS, nl.Uint32Attr(s.gsoSeg)))
	}
	return out
}

// addBucket puts a token bucket at the root of an interface. If it is up this waits for a grace
// period of the kernel; if it is down it does not.
func (c *conn) addBucket(index int, s shape) error {
	msg := &nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(index), Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	opt := nl.TcTbfQopt{Limit: s.limit}
	opt.Rate.Rate = uint32(min(s.rate, 1<<32-1))
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_TBF_PARMS, opt.Serialize())
	options.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(s.burst))
	if s.rate >= 1<<32 {
		options.AddRtAttr(nl.TCA_TBF_RATE64, nl.Uint64Attr(s.rate))
	}
	return c.do(unix.RTM_NEWQDISC, create, msg, nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("tbf")), options)
}

// addPriorities lets urgent packets, by SO_PRIORITY, overtake others in the bucket.
func (c *conn) addPriorities(index int) error {
	msg := &nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(index), Handle: netlink.MakeHandle(2, 0), Parent: netlink.MakeHandle(1, 1)}
	return c.do(unix.RTM_NEWQDISC, create, msg, nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("pfifo_fast")))
}

func (c *conn) setUp(index int, up bool) error {
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(index)
	msg.Change = unix.IFF_UP
	if up {
		msg.Flags = unix.IFF_UP
	}
	return c.do(unix.RTM_NEWLINK, 0, msg)
}

func (c *conn) addAddress(index int, a netip.Addr) error {
	msg := nl.NewIfAddrmsg(unix.AF_INET)
	msg.Index, msg.Prefixlen = uint32(index), 32
	return c.do(unix.RTM_NEWADDR, create, msg,
		nl.NewRtAttr(unix.IFA_LOCAL, a.AsSlice()), nl.NewRtAttr(unix.IFA_ADDRESS, a.AsSlice()))
}

// setNeighbour sets the MAC of a gateway permanently: no ARP, and no limit on the number of
// entries, which does not count permanent ones.
func (c *conn) setNeighbour(index int, gateway netip.Addr, mac net.HardwareAddr) error {
	return c.handle.NeighSet(&netlink.Neigh{
		LinkIndex: index, Family: unix.AF_INET, State: netlink.NUD_PERMANENT,
		IP: gateway.AsSlice(), HardwareAddr: mac,
	})
}
