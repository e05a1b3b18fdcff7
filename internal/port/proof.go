package port

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

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
