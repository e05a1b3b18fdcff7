package tcp

import (
	"testing"

	"evbench/transport"
)

func TestPreface(t *testing.T) {
	good := preface{kind: kindData, group: 7, src: 3, dst: 4, path: 2, token: hash("secret")}
	if got, err := decode(good.encode(), hash("secret")); err != nil || got != good {
		t.Errorf("decode(encode(p)) = %+v, %v; want %+v", got, err, good)
	}
	for _, c := range []struct {
		name  string
		spoil func(b []byte)
		want  error
	}{
		{"magic", func(b []byte) { b[0] = 'G' }, stranger},
		{"version", func(b []byte) { b[8]++ }, badVersion},
		{"token", func(b []byte) { b[40]++ }, badToken},
		{"kind", func(b []byte) { b[10] = 2 }, badField},
		{"rank too large", func(b []byte) { b[19] = 0xff }, badField},
		{"rank to itself", func(b []byte) { b[20] = b[16] }, badField},
		{"path below -1", func(b []byte) { b[24], b[25], b[26], b[27] = 0xfe, 0xff, 0xff, 0xff }, badField},
		{"a barrier over a spine", func(b []byte) { b[10] = kindBarrier }, badField},
		{"padding", func(b []byte) { b[30] = 1 }, badField},
	} {
		b := good.encode()
		c.spoil(b)
		if _, err := decode(b, hash("secret")); err != c.want {
			t.Errorf("%s: decode() = %v, want %v", c.name, err, c.want)
		}
	}
}

func TestAnswer(t *testing.T) {
	if err := readAnswer(answer(accepted)); err != nil {
		t.Error(err)
	}
	for _, b := range [][]byte{answer(badToken), []byte("HTTP/1.1"), {'e', 'v', 'b', 'e', 'n', 'c', 9, 0}} {
		if readAnswer(b) == nil {
			t.Errorf("answer %q was taken", b)
		}
	}
}

func FuzzPreface(f *testing.F) {
	p := preface{group: 1, src: 2, dst: 3, path: transport.Single, token: hash("t")}
	f.Add(p.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != prefaceSize {
			return
		}
		copy(b[32:], p.token[:]) // else nothing gets past it
		if got, err := decode(b, p.token); err == nil && string(got.encode()) != string(b) {
			t.Errorf("decode(%x) = %+v, which is written differently", b, got)
		}
	})
}

func FuzzFrame(f *testing.F) {
	var b [frameSize]byte
	putFrame(&b, frameData, make([]byte, transport.HeadSize), 1000)
	f.Add(b[:], byte(frameData))
	f.Fuzz(func(t *testing.T, in []byte, kind byte) {
		var b, back [frameSize]byte
		copy(b[:], in)
		n, err := bodySize(&b, kind)
		if err != nil {
			return
		}
		if n < 0 || n > transport.MaxBody {
			t.Fatalf("a body of %d bytes was accepted", n)
		}
		if putFrame(&back, kind, b[8:], n); back != b {
			t.Errorf("frame %x is written as %x", b, back)
		}
	})
}
