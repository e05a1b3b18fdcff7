// Package echo answers: does a connection to another server come about, over how
// many routers does a packet come there, which is the one half way, and how soon
// is its answer back?
//
// Connections are those of TCP to where the other server takes event data. For
// the rest a server echoes small UDP packets at the same address and port, to
// those only who know the token; where UDP does not pass, hops and times stay
// unknown, and nothing else is lost. The package judges nothing.
package echo

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net"
	"sync"
)

// startTTL is what requests leave with; each router takes one away.
const startTTL = 64

// A packet is a tag that says who asks, a kind, the TTL that the request arrived
// with (0: not known), and a number.
const (
	tagSize    = 16
	kindAt     = tagSize
	ttlAt      = kindAt + 1
	numberAt   = ttlAt + 1
	packetSize = numberAt + 4
)

const (
	request = 1
	reply   = 2 // is not answered: two servers cannot keep each other busy
)

type packet [packetSize]byte

func newTag(token string) (tag [tagSize]byte) {
	sum := sha256.Sum256([]byte("evbench echo " + token))
	copy(tag[:], sum[:])
	return tag
}

func newPacket(tag [tagSize]byte, kind, ttl byte, number uint32) (p packet) {
	copy(p[:], tag[:])
	p[kindAt], p[ttlAt] = kind, ttl
	binary.BigEndian.PutUint32(p[numberAt:], number)
	return p
}

// parse returns what a packet of a kind says, if it is one.
func parse(b []byte, tag [tagSize]byte, kind byte) (ttl byte, number uint32, ok bool) {
	if len(b) != packetSize || [tagSize]byte(b[:tagSize]) != tag || b[kindAt] != kind {
		return 0, 0, false
	}
	return b[ttlAt], binary.BigEndian.Uint32(b[numberAt:]), true
}

// A Server echoes at some addresses.
type Server struct {
	conns []*net.UDPConn
	work  sync.WaitGroup
}

// Serve echoes at each address, "ip:port", until Close. Where that is not
// possible, as at an address that leads here only from outside, it does not:
// the error says which, and the Server is good for the others.
func Serve(addrs []string, token string) (*Server, error) {
	s := &Server{}
	var errs []error
	for _, a := range addrs {
		conn, err := listen(a)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.conns = append(s.conns, conn)
		s.work.Go(func() { serve(conn, newTag(token)) })
	}
	return s, errors.Join(errs...)
}

func listen(addr string) (*net.UDPConn, error) {
	to, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", to)
	if err != nil {
		return nil, err
	}
	if err := tellTTL(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func serve(conn *net.UDPConn, tag [tagSize]byte) {
	body, control := make([]byte, packetSize+1), make([]byte, controlSize)
	for {
		n, oobn, _, from, err := conn.ReadMsgUDPAddrPort(body, control)
		if err != nil {
			return // closed; or without echo from now on, which costs hops and times only
		}
		if _, number, ok := parse(body[:n], tag, request); ok {
			p := newPacket(tag, reply, ttlOf(control[:oobn]), number)
			_, _ = conn.WriteToUDPAddrPort(p[:], from) // who asked asks again
		}
	}
}

// Close stops echoing and returns when nothing of it runs any more.
func (s *Server) Close() error {
	var errs []error
	for _, c := range s.conns {
		errs = append(errs, c.Close())
	}
	s.work.Wait()
	return errors.Join(errs...)
}
