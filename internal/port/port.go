// Package port authenticates connections to a port.
//
// Any host can connect. Accept continues when one accept fails. With Proof both ends verify that
// the other one knows the secret of the run, the token, without sending it. Each draws a nonce, and
// sends a number that needs the token to compute, over both nonces, its claim and its role. So a
// proof is valid for one connection and one direction. The package owns no connection.
package port

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

// acceptPause gives time to close files when the process has run out of them.
const acceptPause = 50 * time.Millisecond

// Accept passes accepted connections to take, until the port or quit is closed. Other errors are
// temporary: out of files or memory, or a peer that has gone. It reports them, and continues after
// a pause.
func Accept[C any](accept func() (C, error), quit <-chan struct{}, take func(C), tell func(error)) {
	for {
		c, err := accept()
		switch {
		case err == nil:
			take(c)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		tell(err)
		select {
		case <-time.After(acceptPause):
		case <-quit:
			return
		}
	}
}

const (
	// NonceSize is the bytes of a nonce: none is drawn twice.
	NonceSize = 16
	// ProofSize is the bytes of a proof.
	ProofSize = sha256.Size
)

func Nonce() (n [NonceSize]byte) {
	_, _ = rand.Read(n[:]) // it never fails
	return n
}

// Proof needs the token to compute: HMAC-SHA256 over the role and the parts, each with its length.
// Roles must have distinct names, or one side could send back the other's proof.
func Proof(token, role string, parts ...[]byte) (p [ProofSize]byte) {
	h := hmac.New(sha256.New, []byte(token))
	var n [8]byte
	said := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	said([]byte(role))
	for _, b := range parts {
		said(b)
	}
	h.Sum(p[:0])
	return p
}

// Proven reports whether proof is valid for the token, in a time that does not depend on the
// position of a difference. A shortened proof is enough: at least 16 bytes.
func Proven(proof []byte, token, role string, parts ...[]byte) bool {
	want := Proof(token, role, parts...)
	return len(proof) >= 16 && len(proof) <= ProofSize && hmac.Equal(proof, want[:len(proof)])
}

// A Stranger is a connection that has not identified itself.
type Stranger struct {
	Conn io.Closer
	From string // host, or "" if unknown
}

// From is the host of a connection.
func From(conn net.Conn) string {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // a path has none
	return host
}

// Strangers are in the order of their arrival.
type Strangers []Stranger

// maxGuests is how many there may be at a time.
const maxGuests = 1024

// Come adds a stranger. If there is no place it returns the one to drop.
func (gs *Strangers) Come(g Stranger) (gone Stranger, full bool) {
	if full = len(*gs) == maxGuests; full {
		gone, _ = gs.Go()
	}
	*gs = append(*gs, g)
	return gone, full
}

// Go returns the stranger to drop first, if any: of the host with the most places the oldest. A new
// one may still identify itself.
func (gs *Strangers) Go() (worst Stranger, found bool) {
	if len(*gs) == 0 {
		return Stranger{}, false
	}
	places := make(map[string]int)
	for _, g := range *gs {
		places[g.From]++
	}
	worst = slices.MaxFunc(*gs, func(a, b Stranger) int { return places[a.From] - places[b.From] })
	gs.Leave(worst.Conn)
	return worst, true
}

// Leave reports whether the stranger was still here.
func (gs *Strangers) Leave(conn io.Closer) bool {
	n := len(*gs)
	*gs = slices.DeleteFunc(*gs, func(g Stranger) bool { return g.Conn == conn })
	return len(*gs) < n
}
