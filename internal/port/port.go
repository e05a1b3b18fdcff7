// Package port answers: who may connect to a port?
//
// Anybody can connect. Accept keeps taking connections when one fails. With Proof both
// ends find out that the other one knows the secret of the run, the token, without
// sending it: each draws a nonce, and sends a number that only who knows the token can
// compute, over both nonces, its claim and its role. So a proof is good for one
// connection and one direction of it. The package owns no connection.
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

// acceptPause lets files be closed after the process ran out of them.
const acceptPause = 50 * time.Millisecond

// Accept hands over to take what accept returns, until the port is closed or quit
// is. Other errors pass: out of files or memory, or a peer that is gone again. They
// are told, and it goes on after a pause.
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

// Nonce draws a nonce.
func Nonce() (n [NonceSize]byte) {
	_, _ = rand.Read(n[:]) // it never fails
	return n
}

// Proof is what only who knows the token can say in a role: HMAC-SHA256 over the
// role and the parts, each with its length. No two roles may have the same name,
// else one side could send back what the other one has said.
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

// Proven reports whether proof is that of the token, in a time that does not depend
// on where they differ. Of a long proof the beginning is enough where that is all
// that was sent: at least 16 bytes.
func Proven(proof []byte, token, role string, parts ...[]byte) bool {
	want := Proof(token, role, parts...)
	return len(proof) >= 16 && len(proof) <= ProofSize && hmac.Equal(proof, want[:len(proof)])
}
