package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"evbench/internal/port"
	"evbench/transport"
)

const (
	magic   = "evbench\n"
	version = 2

	kindData    = 0
	kindBarrier = 1

	maxRank  = 1 << 20
	maxSpine = 1 << 16
)

// A connection begins with three messages: the listener's greeting, the dialler's preface, and the
// listener's answer. Preface and answer prove the token over both nonces and the dialler's claimed
// identity, so that a replay opens no other connection.

// The roles of proofs on data connections.
const (
	roleDialler  = "evbench data: who connects"
	roleListener = "evbench data: who listens"
)

type (
	nonce = [port.NonceSize]byte
	proof = [port.ProofSize]byte
)

// A greeting is the magic, the version in 2 bytes, 6 zero bytes and a nonce.
const greetingSize = 16 + port.NonceSize

func greeting(n nonce) []byte {
	b := append(make([]byte, 0, greetingSize), magic...)
	b = append(b, version, 0, 0, 0, 0, 0, 0, 0)
	return append(b, n[:]...)
}

func readGreeting(b []byte) (n nonce, err error) {
	switch {
	case string(b[:8]) != magic:
		return n, errors.New("the program that answers there is not an evbench endpoint")
	case b[8] != version || b[9] != 0:
		return n, badVersion
	}
	return nonce(b[16:]), nil
}

// A preface identifies the dialler. On the wire, little endian:
//
//	0  magic        8 bytes
//	8  version      2
//	10 kind         1: data or barrier
//	11 zero         1
//	12 group        4
//	16 src, dst     4 each
//	24 path         4: spine, or -1
//	28 zero         4
//	32 nonce
//	48 proof
type preface struct {
	kind     byte
	group    uint32
	src, dst int
	path     int
}

const (
	fieldsSize  = 32
	prefaceSize = fieldsSize + port.NonceSize + port.ProofSize
)

func (p *preface) fields() []byte {
	b := make([]byte, fieldsSize)
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint16(b[8:], version)
	b[10] = p.kind
	le.PutUint32(b[12:], p.group)
	le.PutUint32(b[16:], uint32(p.src))
	le.PutUint32(b[20:], uint32(p.dst))
	le.PutUint32(b[24:], uint32(int32(p.path)))
	return b
}

func (p *preface) encode(token string, theirs, ours nonce) []byte {
	b := append(p.fields(), ours[:]...)
	own := port.Proof(token, roleDialler, theirs[:], b)
	return append(b, own[:]...)
}

// A refusal is why a connection is not accepted; the dialler gets it too.
type refusal byte

const (
	accepted refusal = iota
	badVersion
	badToken
	badField
	over
	twice
	stranger // gets no answer
)

func (r refusal) Error() string {
	said := [...]string{
		accepted: "accepted", badVersion: "other protocol version", badToken: "wrong token", badField: "preface out of range",
		over: "its group of endpoints is over", twice: "the connection exists already", stranger: "not a connection of this protocol",
	}
	return said[min(r, stranger)]
}

// decode reads a preface of prefaceSize bytes, which answers a greeting with nonce ours, and
// returns the proof for the answer.
func decode(b []byte, token string, ours nonce) (p preface, own proof, err error) {
	le := binary.LittleEndian
	said := b[:fieldsSize+port.NonceSize]
	switch {
	case string(b[:8]) != magic:
		return p, own, stranger
	case le.Uint16(b[8:]) != version:
		return p, own, badVersion
	case !port.Proven(b[len(said):prefaceSize], token, roleDialler, ours[:], said):
		return p, own, badToken
	}
	p.kind, p.group = b[10], le.Uint32(b[12:])
	src, dst := le.Uint32(b[16:]), le.Uint32(b[20:])
	p.src, p.dst, p.path = int(src), int(dst), int(int32(le.Uint32(b[24:])))
	if p.kind > kindBarrier || b[11] != 0 || le.Uint32(b[28:]) != 0 || src >= maxRank || dst >= maxRank || src == dst ||
		p.path < transport.Single || p.path > maxSpine || p.kind == kindBarrier && p.path != transport.Single {
		return p, own, badField
	}
	return p, port.Proof(token, roleListener, ours[:], said), nil
}

// An answer to a preface: the first six bytes of the magic, the version, the refusal, and the proof
// of a listener that accepts.
const answerSize = 8 + port.ProofSize

func answer(r refusal, own proof) []byte {
	return append(append([]byte(magic[:6]), version, byte(r)), own[:]...)
}

// readAnswer reads the answer to the preface said, sent after a greeting with nonce theirs.
func readAnswer(b []byte, token string, theirs nonce, said []byte) error {
	switch {
	case string(b[:6]) != magic[:6]:
		return errors.New("the program that answers there is not an evbench endpoint")
	case b[6] != version:
		return badVersion
	case b[7] != byte(accepted):
		return fmt.Errorf("refused: %w", refusal(b[7]))
	case !port.Proven(b[8:answerSize], token, roleListener, theirs[:], said[:fieldsSize+port.NonceSize]):
		return fmt.Errorf("the program that answers there does not know the secret of this run: %w", badToken)
	}
	return nil
}

// A frame is a message on a connection: the mark, the kind (data or request),
// two zero bytes, the length of the body in 4 bytes, little endian, the Head of
// the Op, and the body.
const (
	frameMark    = 0xeb
	frameData    = 0
	frameRequest = 1
	frameSize    = 8 + transport.HeadSize
)

func putFrame(b *[frameSize]byte, kind byte, head []byte, body int) {
	b[0], b[1], b[2], b[3] = frameMark, kind, 0, 0
	binary.LittleEndian.PutUint32(b[4:], uint32(body))
	copy(b[8:], head)
}

var errFrame = errors.New("the bytes are not a frame of this protocol")

// bodySize returns the length of the body after a frame's head.
func bodySize(b *[frameSize]byte, kind byte) (int, error) {
	n := binary.LittleEndian.Uint32(b[4:])
	if b[0] != frameMark || b[1] != kind || b[2] != 0 || b[3] != 0 || n > transport.MaxBody || kind == frameRequest && n > 0 {
		return 0, errFrame
	}
	return int(n), nil
}
