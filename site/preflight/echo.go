package preflight

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"evbench/internal/lists"
	"evbench/internal/port"
)

// startTTL is the initial TTL of requests; each router decrements it.
const startTTL = 64

// A packet is a kind, the TTL with which the request arrived (0: not known), a number, a nonce of
// the requester, and the beginning of a proof, over all that, that the sender knows the token. A
// reply has the nonce of its request, so a recorded reply is useless.
const (
	ttlAt      = 1
	numberAt   = ttlAt + 1
	nonceAt    = numberAt + 4
	proofAt    = nonceAt + port.NonceSize
	packetSize = proofAt + proofSize
	proofSize  = 16
)

const (
	request = 1
	reply   = 2 // is not answered: two servers cannot keep each other busy
)

const role = "evbench echo"

type (
	packet [packetSize]byte
	nonce  = [port.NonceSize]byte
)

func newPacket(token string, kind, ttl byte, number uint32, n nonce) (p packet) {
	p[0], p[ttlAt] = kind, ttl
	binary.BigEndian.PutUint32(p[numberAt:], number)
	copy(p[nonceAt:], n[:])
	proof := port.Proof(token, role, p[:proofAt])
	copy(p[proofAt:], proof[:])
	return p
}

// A heard packet comes from a sender that knows the token.
type heard struct {
	ttl    byte
	number uint32
	nonce  nonce
}

func parse(b []byte, token string, kind byte) (h heard, ok bool) {
	if len(b) != packetSize || b[0] != kind || !port.Proven(b[proofAt:], token, role, b[:proofAt]) {
		return h, false
	}
	return heard{b[ttlAt], binary.BigEndian.Uint32(b[numberAt:]), nonce(b[nonceAt:])}, true
}

// An Echo answers small UDP packets of senders with the token, at the addresses where a server
// takes event data. Without it only hops and times stay unknown.
type Echo struct {
	conns []*net.UDPConn
	work  sync.WaitGroup
}

// Listen echoes at each address, "ip:port", until Close. At some addresses that is impossible, as
// at one that is reachable only from outside: the error names them, and the Echo serves the others.
func Listen(addrs []string, token string) (*Echo, error) {
	s := &Echo{}
	var errs []error
	for _, a := range addrs {
		conn, err := listen(a)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.conns = append(s.conns, conn)
		s.work.Go(func() { serve(conn, token) })
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

func serve(conn *net.UDPConn, token string) {
	body, control := make([]byte, packetSize+1), make([]byte, controlSize)
	for {
		n, oobn, _, from, err := conn.ReadMsgUDPAddrPort(body, control)
		if err != nil {
			return // closed; or a failure, which costs only hops and times
		}
		if h, ok := parse(body[:n], token, request); ok {
			p := newPacket(token, reply, ttlOf(control[:oobn]), h.number, h.nonce)
			_, _ = conn.WriteToUDPAddrPort(p[:], from) // the requester asks again
		}
	}
}

// Close stops echoing and waits for its goroutines.
func (s *Echo) Close() error {
	errs := lists.Map(s.conns, func(c *net.UDPConn) error { return c.Close() })
	s.work.Wait()
	return errors.Join(errs...)
}
