package mpi

import (
	"bytes"
	"errors"
	"testing"

	"evbench/testing/expect"
)

func written(f frame) []byte {
	h := f.head()
	return append(h[:], f.body...)
}

func TestFrame(t *testing.T) {
	for _, f := range []frame{
		{kind: frameOpen, from: 7}, {kind: frameAccept, to: 7, from: 9}, {kind: frameData, to: 7, from: 1<<32 - 1, n: 3, body: []byte("abc")},
		{kind: frameWindow, to: 1, from: 2, n: window}, {kind: frameEnd, to: 1},
	} {
		got, err := parseFrame(written(f))
		expect.True(t, err == nil && got.kind == f.kind && got.to == f.to && got.from == f.from && got.n == f.n && bytes.Equal(got.body, f.body),
			"%+v became %+v, %v", f, got, err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "half a head": make([]byte, frameHead-1), "no such kind": written(frame{kind: frameEnd + 1}),
		"a window that cannot be": written(frame{kind: frameWindow, n: window + 1}), "a window below 0": written(frame{kind: frameWindow, n: -1}),
		"less than announced": written(frame{kind: frameData, n: 4, body: []byte("abc")}), "more": written(frame{kind: frameData, body: []byte("abc")}),
		"a body where none belongs": written(frame{kind: frameOpen, body: []byte("abc")}),
	} {
		if f, err := parseFrame(b); !errors.Is(err, errFrame) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(written(frame{kind: frameData, to: 7, from: 9, n: 3, body: []byte("abc")}))
	f.Add(written(frame{kind: frameWindow, to: 7, from: 9, n: 100}))
	f.Add(make([]byte, frameHead-1))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseFrame(b)
		if err != nil {
			return
		}
		expect.True(t, got.n >= 0 && got.n <= window, "%d bytes", got.n)
		if !bytes.Equal(written(got), b) {
			t.Errorf("%x is written as %x", b, written(got))
		}
	})
}
