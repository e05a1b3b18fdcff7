package wire

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"time"
)

// TLS encrypts a control connection. It needs no trusted certificate: the listener makes one when
// it begins to listen, and no peer verifies it. The proofs of the handshake authenticate both ends.
// They cover keys that only the two ends of this connection have: a man in the middle has other
// keys towards either side, so the proof of one side is worthless to the other.

// bindingLabel names those keys: see RFC 5705.
const bindingLabel = "EXPORTER-evbench-control"

// binding is a value that only the two ends of the connection know; empty without TLS.
func (c *NetConn) binding() ([]byte, error) {
	t, ok := c.c.(*tls.Conn)
	if !ok {
		return nil, nil
	}
	if err := t.Handshake(); err != nil {
		return nil, err
	}
	s := t.ConnectionState()
	return s.ExportKeyingMaterial(bindingLabel, nil, 32)
}

func encrypted(l net.Listener) (net.Listener, error) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	// These are the times of RFC 5280 for a certificate without end: clocks of a cluster may be
	// wrong.
	name := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	certificate, err := x509.CreateCertificate(nil, name, name, public, key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return tls.NewListener(tlsListener{l}, &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}), nil
}

func encrypt(ctx context.Context, c net.Conn) (net.Conn, error) {
	t := tls.Client(c, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the proofs of the handshake authenticate both ends
	})
	if err := t.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("TLS with %s: %w", c.RemoteAddr(), err)
	}
	return t, nil
}

// A tlsListener has an address with the prefix for TLS.
type tlsListener struct{ net.Listener }

func (l tlsListener) Addr() net.Addr { return tlsAddr{l.Listener.Addr()} }

type tlsAddr struct{ net.Addr }

func (tlsAddr) Network() string { return "tls" }
