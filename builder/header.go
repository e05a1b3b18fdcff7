// Package builder checks that a fragment is the right one, and that an event is complete. It owns
// the header sent before every fragment, the payload of a fragment (derived from its event and
// source, so that a swapped fragment is detected) and the Assembler, a state machine that judges
// each arrival.
//
// The package uses no socket and reads no clock: time is a time.Duration since any fixed moment.
// Sizes are bytes; sources and destinations are ranks.
package builder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// HeaderSize is the length of a Header on the wire.
const HeaderSize = 40

// A Kind tells a fragment, a request and a token apart.
type Kind uint8

// The kinds of message that carry a Header.
const (
	Data    Kind = 1 // Size bytes of payload follow
	Request Kind = 2 // asks Source for its fragment; no payload follows
	// Token says that Source has received what Dest waits for. It allows Dest to start fragment
	// number Size of its fragments in the window of exchange Event. No payload follows.
	Token Kind = 3
)

// A Header says which fragment a message carries, asks for or lets start.
type Header struct {
	Kind         Kind
	Epoch        uint32 // of the plan under which it was sent
	Event        uint64
	Source, Dest uint32 // ranks: the owner of the fragment, the builder of the event
	Size         uint64 // bytes of payload; for a Token see Token
	Sum          uint32 // CRC-32C of the payload
}

// ErrHeader reports 40 bytes that are not a valid header.
var ErrHeader = errors.New("bad fragment header")

const (
	magic         = 0x4556 // "EV"
	headerVersion = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the CRC-32C of a payload.
func Checksum(payload []byte) uint32 { return crc32.Checksum(payload, castagnoli) }

// Append appends the wire form of h to b. All numbers are big-endian. The last four bytes are the
// CRC-32C of those before, which include the payload's CRC: one checksum covers header and payload.
func (h Header) Append(b []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, magic)
	b = append(b, headerVersion, byte(h.Kind))
	b = binary.BigEndian.AppendUint32(b, h.Epoch)
	b = binary.BigEndian.AppendUint64(b, h.Event)
	b = binary.BigEndian.AppendUint32(b, h.Source)
	b = binary.BigEndian.AppendUint32(b, h.Dest)
	b = binary.BigEndian.AppendUint64(b, h.Size)
	b = binary.BigEndian.AppendUint32(b, h.Sum)
	return binary.BigEndian.AppendUint32(b, Checksum(b[start:]))
}

// Parse reads a header. For a wrong checksum it returns ErrHeader itself, unwrapped: Parse runs in
// the measured loop and allocates nothing.
func Parse(b []byte) (Header, error) {
	if len(b) != HeaderSize {
		return Header{}, fmt.Errorf("%w: %d bytes, want %d", ErrHeader, len(b), HeaderSize)
	}
	if binary.BigEndian.Uint32(b[36:]) != Checksum(b[:36]) {
		return Header{}, ErrHeader
	}
	if binary.BigEndian.Uint16(b) != magic || b[2] != headerVersion {
		return Header{}, fmt.Errorf("%w: begins %x, want %04x%02x", ErrHeader, b[:3], magic, headerVersion)
	}
	h := Header{
		Kind:   Kind(b[3]),
		Epoch:  binary.BigEndian.Uint32(b[4:]),
		Event:  binary.BigEndian.Uint64(b[8:]),
		Source: binary.BigEndian.Uint32(b[16:]),
		Dest:   binary.BigEndian.Uint32(b[20:]),
		Size:   binary.BigEndian.Uint64(b[24:]),
		Sum:    binary.BigEndian.Uint32(b[32:]),
	}
	if h.Kind != Data && h.Kind != Request && h.Kind != Token {
		return Header{}, fmt.Errorf("%w: kind %d", ErrHeader, h.Kind)
	}
	return h, nil
}
