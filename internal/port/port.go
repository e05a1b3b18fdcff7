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
	"net"
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
