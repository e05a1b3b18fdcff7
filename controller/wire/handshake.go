package wire

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"evbench/internal/port"
)

// The handshake of a worker and a controller: the controller sends a Challenge, the worker a Hello
// that proves that it knows the token, the controller a Welcome that proves the same. The worker
// proves itself first: the controller proves nothing to an unproved peer.

// The roles of proofs on control connections.
const (
	roleWorker     = "evbench control: worker"
	roleController = "evbench control: controller"
)

// Errors of the handshake. All but ErrToken and ErrRefused may vanish on a retry: a connection
// dropped because of too many others may succeed the next time.
var (
	ErrToken   = errors.New("wrong token")
	ErrRefused = errors.New("controller refused")
)

// Introduce is the worker's part. It returns when the controller at the other end has welcomed the
// worker and has proved that it belongs to the run. Introduce fills in Nonce and Proof of the
// Hello.
func (c *NetConn) Introduce(token string, h Hello) error {
	c.setLimit(MaxHello)
	challenge, err := answer[Challenge](c)
	if err != nil {
		return err
	}
	h.Nonce = newNonce()
	m, err := c.meeting(challenge.Nonce, h)
	if err != nil {
		return err
	}
	h.Proof = m.proof(token, roleWorker)
	if err := c.Send(h); err != nil {
		return c.refusal(err)
	}
	welcome, err := answer[Welcome](c)
	if err != nil {
		return err
	}
	if !m.proven(welcome.Proof, token, roleController) {
		return fmt.Errorf("the controller does not know the secret of this run: %w", ErrToken)
	}
	c.setLimit(MaxFrame)
	return nil
}

func answer[M any](c *NetConn) (m M, err error) {
	got, err := c.Receive()
	if err != nil {
		return m, err
	}
	switch got := got.(type) {
	case M:
		return got, nil
	case Refused:
		return m, fmt.Errorf("%w: %s", ErrRefused, got.Reason)
	}
	return m, fmt.Errorf("%T in the place of %T: %w", got, m, ErrFrame)
}

// refusal returns why the other side has closed the connection, if it has sent a reason.
func (c *NetConn) refusal(err error) error {
	if _, said := answer[Refused](c); errors.Is(said, ErrRefused) {
		return said
	}
	return err
}

// Examine is the controller's part up to the Hello: it challenges the peer and returns its Hello,
// with the Welcome to send if it may join. A peer with a wrong token or another version gets the
// reason.
func (c *NetConn) Examine(token string) (h Hello, w Welcome, err error) {
	c.setLimit(MaxHello)
	nonce := newNonce()
	if err := c.Send(Challenge{nonce}); err != nil {
		return h, w, err
	}
	got, err := c.Receive()
	if errors.Is(err, ErrVersion) {
		_ = c.Send(Refused{Reason: err.Error()}) // a courtesy; the connection ends anyway
	}
	if err != nil {
		return h, w, err
	}
	h, ok := got.(Hello)
	if !ok {
		return h, w, fmt.Errorf("began with %T, not with a hello: %w", got, ErrFrame)
	}
	m, err := c.meeting(nonce, h)
	if err == nil && !m.proven(h.Proof, token, roleWorker) {
		err = ErrToken
	}
	if err != nil {
		_ = c.Send(Refused{Reason: err.Error()})
		return h, w, err
	}
	c.setLimit(MaxFrame)
	return h, Welcome{m.proof(token, roleController)}, nil
}

// A meeting is the data that both proofs cover: the version, both nonces, the claimed position, and
// the binding of the connection, if there is one.
type meeting [][]byte

func (c *NetConn) meeting(challenge string, h Hello) (meeting, error) {
	ours, err := readNonce(challenge)
	if err != nil {
		return nil, err
	}
	theirs, err := readNonce(h.Nonce)
	if err != nil {
		return nil, err
	}
	binding, err := c.binding()
	if err != nil {
		return nil, err
	}
	server := binary.BigEndian.AppendUint64(nil, uint64(h.Server))
	return meeting{{Version}, ours, theirs, server, binding}, nil
}

func (m meeting) proof(token, role string) string {
	p := port.Proof(token, role, m...)
	return hex.EncodeToString(p[:])
}

func (m meeting) proven(proof, token, role string) bool {
	p, err := hex.DecodeString(proof)
	return err == nil && len(p) == port.ProofSize && port.Proven(p, token, role, m...)
}

func newNonce() string {
	n := port.Nonce()
	return hex.EncodeToString(n[:])
}

func readNonce(s string) ([]byte, error) {
	n, err := hex.DecodeString(s)
	if err != nil || len(n) != port.NonceSize {
		return nil, fmt.Errorf("a nonce of %d characters, want %d hexadecimal digits: %w", len(s), 2*port.NonceSize, ErrFrame)
	}
	return n, nil
}
