package tcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"evbench/transport"
)

const (
	magic   = "evbench\n"
	version = 1

	kindData    = 0
	kindBarrier = 1

	maxRank  = 1 << 20
	maxSpine = 1 << 16
)

// A preface is the first thing on a connection. On the wire, little endian:
//
//	0  magic        8 bytes
//	8  version      2
//	10 kind         1: data or barrier
//	11 zero         1
//	12 group        4
//	16 src, dst     4 each
//	24 path         4: spine, or -1
//	28 zero         4
//	32 SHA-256 of the token
type preface struct {
	kind     byte
	group    uint32
	src, dst int
	path     int
	token    [sha256.Size]byte
}

const prefaceSize = 32 + sha256.Size

func hash(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

func (p *preface) encode() []byte {
	b := make([]byte, prefaceSize)
	copy(b, magic)
	le := binary.LittleEndian
	le.PutUint16(b[8:], version)
	b[10] = p.kind
	le.PutUint32(b[12:], p.group)
	le.PutUint32(b[16:], uint32(p.src))
	le.PutUint32(b[20:], uint32(p.dst))
	le.PutUint32(b[24:], uint32(int32(p.path)))
	copy(b[32:], p.token[:])
	return b
}

// A refusal is why a connection is not taken; it is also what the one who
// opened it is told.
type refusal byte

const (
	accepted refusal = iota
	badVersion
	badToken
	badField
	over
	twice
	stranger // is told nothing
)

func (r refusal) Error() string {
	switch r {
	case accepted:
		return "accepted"
	case badVersion:
		return "other protocol version"
	case badToken:
		return "wrong token"
	case badField:
		return "preface out of range"
	case over:
		return "its group of endpoints is over"
	case twice:
		return "the connection exists already"
	}
	return "not a connection of this protocol"
}

// decode reads a preface of prefaceSize bytes and compares its token, in a time
// that does not depend on where they differ.
func decode(b []byte, token [sha256.Size]byte) (preface, error) {
	var p preface
	le := binary.LittleEndian
	switch {
	case string(b[:8]) != magic:
		return p, stranger
	case le.Uint16(b[8:]) != version:
		return p, badVersion
	}
	copy(p.token[:], b[32:])
	if subtle.ConstantTimeCompare(p.token[:], token[:]) != 1 {
		return p, badToken
	}
	p.kind, p.group = b[10], le.Uint32(b[12:])
	src, dst := le.Uint32(b[16:]), le.Uint32(b[20:])
	p.src, p.dst, p.path = int(src), int(dst), int(int32(le.Uint32(b[24:])))
	if p.kind > kindBarrier || b[11] != 0 || le.Uint32(b[28:]) != 0 || src >= maxRank || dst >= maxRank || src == dst ||
		p.path < transport.Single || p.path > maxSpine || p.kind == kindBarrier && p.path != transport.Single {
		return p, badField
	}
	return p, nil
}

// An answer to a preface: the first six bytes of the magic, the version, and
// the refusal.
const answerSize = 8

func answer(r refusal) []byte { return append([]byte(magic[:6]), version, byte(r)) }

func readAnswer(b []byte) error {
	switch {
	case string(b[:6]) != magic[:6]:
		return errors.New("who answers there is no endpoint")
	case b[6] != version:
		return badVersion
	case b[7] != byte(accepted):
		return fmt.Errorf("refused: %w", refusal(b[7]))
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

var errFrame = errors.New("bytes that are no frame of this protocol")

// bodySize returns the length of the body behind a frame's head.
func bodySize(b *[frameSize]byte, kind byte) (int, error) {
	n := binary.LittleEndian.Uint32(b[4:])
	if b[0] != frameMark || b[1] != kind || b[2] != 0 || b[3] != 0 || n > transport.MaxBody || kind == frameRequest && n > 0 {
		return 0, errFrame
	}
	return int(n), nil
}
