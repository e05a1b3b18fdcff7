package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Version of the protocol. Both sides must have the same.
const Version = 19

const (
	// headLen is the bytes before a body: length (4, of the bytes after it), version (1), type (1).
	headLen = 6

	// MaxFrame bounds the bytes of a frame after the handshake: the row and the peers of 4,096
	// servers need far fewer.
	MaxFrame = 32 << 20
	// MaxHello bounds the frame of an unauthenticated peer: an address for each spine fits.
	MaxHello = 16 << 10
)

// Errors of Decode and Read.
var (
	ErrVersion = errors.New("other protocol version")
	ErrFrame   = errors.New("not a frame of this protocol")
)

// A Message is one of the structs of this package, by value.
type Message any

// types lists the messages; the index is the number on the wire. Append only.
var types = []reflect.Type{
	1:  reflect.TypeFor[Hello](),
	2:  reflect.TypeFor[Welcome](),
	3:  reflect.TypeFor[Refused](),
	4:  reflect.TypeFor[Configure](),
	5:  reflect.TypeFor[Ready](),
	6:  reflect.TypeFor[Grant](),
	7:  reflect.TypeFor[Measure](),
	8:  reflect.TypeFor[PlanUpdate](),
	9:  reflect.TypeFor[Updated](),
	10: reflect.TypeFor[Assign](),
	11: reflect.TypeFor[Completed](),
	12: reflect.TypeFor[Progress](),
	13: reflect.TypeFor[Samples](),
	14: reflect.TypeFor[Abort](),
	15: reflect.TypeFor[Finished](),
	16: reflect.TypeFor[Error](),
	17: reflect.TypeFor[Ping](),
	18: reflect.TypeFor[Pong](),
	19: reflect.TypeFor[Quit](),
	20: reflect.TypeFor[Finish](),
	21: reflect.TypeFor[Release](),
	22: reflect.TypeFor[Probe](),
	23: reflect.TypeFor[Probed](),
	24: reflect.TypeFor[Hold](),
	25: reflect.TypeFor[Held](),
	26: reflect.TypeFor[Challenge](),
	27: reflect.TypeFor[Patience](),
	28: reflect.TypeFor[Window](),
	29: reflect.TypeFor[Trace](),
	30: reflect.TypeFor[Traced](),
}

var numbers = func() map[reflect.Type]byte {
	m := make(map[reflect.Type]byte)
	for i, t := range types {
		if t != nil {
			m[t] = byte(i)
		}
	}
	return m
}()

// Append appends the frame of m to b. It panics if m is not a message.
func Append(b []byte, m Message) ([]byte, error) {
	kind, ok := numbers[reflect.TypeOf(m)]
	if !ok {
		panic(fmt.Sprintf("wire: %T is not a message", m))
	}
	body, err := json.Marshal(m)
	if err != nil {
		return b, fmt.Errorf("encode %T: %w", m, err)
	}
	if len(body)+2 > MaxFrame {
		return b, fmt.Errorf("encode %T: %d bytes, at most %d", m, len(body), MaxFrame-2)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+2))
	b = append(b, Version, kind)
	return append(b, body...), nil
}

// Read reads one frame of at most limit bytes from r. It returns io.EOF when r ends before the
// first byte. Its memory grows with the bytes received, not with the length that a stranger claims.
func Read(r io.Reader, limit int) (Message, error) {
	var head [headLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	switch {
	case head[4] != Version:
		return nil, fmt.Errorf("version %d, want %d: %w", head[4], Version, ErrVersion)
	case n < 2 || int64(n) > int64(limit):
		return nil, fmt.Errorf("length %d, want 2..%d: %w", n, limit, ErrFrame)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(n)-2); err != nil {
		return nil, fmt.Errorf("body of %d bytes: %w", n-2, unexpected(err))
	}
	return decode(head[5], body.Bytes())
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func decode(kind byte, body []byte) (Message, error) {
	if int(kind) >= len(types) || types[kind] == nil {
		return nil, fmt.Errorf("type %d: %w", kind, ErrFrame)
	}
	v := reflect.New(types[kind])
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v.Interface()); err != nil {
		return nil, fmt.Errorf("%s: %w: %v", types[kind].Name(), ErrFrame, err)
	}
	if d.More() {
		return nil, fmt.Errorf("%s: %w: more than one value", types[kind].Name(), ErrFrame)
	}
	if m, ok := v.Interface().(texted); ok {
		for _, s := range m.texts() {
			*s = cut(*s)
		}
	}
	return v.Elem().Interface(), nil
}
