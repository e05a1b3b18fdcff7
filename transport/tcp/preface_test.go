package tcp

import (
	"bytes"
	"errors"
	"testing"

	"evbench/internal/port"
	"evbench/testing/expect"
	"evbench/transport"
)

// A speech is what is said at the beginning of a connection.
type speech struct {
	greeting, preface, answer []byte
	theirs                    nonce // of who listens
	own                       proof // of who listens
}

// speak has one side with one token and one with another say it.
func speak(t testing.TB, p preface, dialler, listener string) (s speech, err error) {
	t.Helper()
	s.theirs = port.Nonce()
	s.greeting = greeting(s.theirs)
	n := expect.Value(readGreeting(s.greeting))(t)
	s.preface = p.encode(dialler, n, port.Nonce())
	got, own, err := decode(s.preface, listener, s.theirs)
	expect.False(t, err == nil && got != p, "decode(encode(p)) = %+v; want %+v", got, p)
	s.own, s.answer = own, answer(accepted, own)
	return s, err
}

func TestPreface(t *testing.T) {
	good := preface{kind: kindData, group: 7, src: 3, dst: 4, path: 2}
	s := expect.Value(speak(t, good, "secret", "secret"))(t)
	if _, err := speak(t, good, "secret", "Secret"); err != badToken {
		t.Errorf("another token: %v", err)
	}
	for _, c := range []struct {
		name  string
		spoil func(b []byte)
		want  error
	}{
		{"magic", func(b []byte) { b[0] = 'G' }, stranger},
		{"version", func(b []byte) { b[8]++ }, badVersion},
		{"another rank than was proved", func(b []byte) { b[16]++ }, badToken},
		{"nonce", func(b []byte) { b[40]++ }, badToken},
		{"proof", func(b []byte) { b[60]++ }, badToken},
	} {
		b := bytes.Clone(s.preface)
		c.spoil(b)
		if _, _, err := decode(b, "secret", s.theirs); err != c.want {
			t.Errorf("%s: decode() = %v, want %v", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(b []byte)
	}{
		{"kind", func(b []byte) { b[10] = 2 }},
		{"rank too large", func(b []byte) { b[19] = 0xff }},
		{"rank to itself", func(b []byte) { b[20] = b[16] }},
		{"path below -1", func(b []byte) { b[24], b[25], b[26], b[27] = 0xfe, 0xff, 0xff, 0xff }},
		{"a barrier over a spine", func(b []byte) { b[10] = kindBarrier }},
		{"padding", func(b []byte) { b[30] = 1 }},
	} {
		b := bytes.Clone(s.preface)
		c.spoil(b)
		prove(b, "secret", s.theirs)
		if _, _, err := decode(b, "secret", s.theirs); err != badField {
			t.Errorf("%s: decode() = %v, want %v", c.name, err, badField)
		}
	}
}

// prove makes the proof of a preface right.
func prove(b []byte, token string, theirs nonce) {
	own := port.Proof(token, roleDialler, theirs[:], b[:prefaceSize-port.ProofSize])
	copy(b[prefaceSize-port.ProofSize:], own[:])
}

// What opened one connection opens no other, and what one side has said is no answer of the other.
func TestNothingIsReplayed(t *testing.T) {
	s := expect.Value(speak(t, preface{src: 3, dst: 4, path: 2}, "secret", "secret"))(t)
	if _, _, err := decode(s.preface, "secret", port.Nonce()); err != badToken {
		t.Errorf("the preface of another connection: %v", err)
	}
	expect.OK(t, readAnswer(s.answer, "secret", s.theirs, s.preface))
	own := proof(s.preface[prefaceSize-port.ProofSize:])
	for name, b := range map[string][]byte{"what was said": answer(accepted, own), "nothing": answer(accepted, proof{})} {
		if err := readAnswer(b, "secret", s.theirs, s.preface); !errors.Is(err, badToken) {
			t.Errorf("%s as an answer: %v", name, err)
		}
	}
	expect.Is(t, readAnswer(s.answer, "secret", port.Nonce(), s.preface), badToken)
	expect.True(t, !bytes.Contains(append(s.preface, s.answer...), []byte("secret")), "the token was sent")
}

func TestAnswer(t *testing.T) {
	s := expect.Value(speak(t, preface{src: 1}, "t", "t"))(t)
	for _, b := range [][]byte{answer(badToken, s.own), []byte("HTTP/1.1"), {'e', 'v', 'b', 'e', 'n', 'c', 9, 0}} {
		b = append(b, make([]byte, answerSize)...)[:answerSize]
		expect.True(t, readAnswer(b, "t", s.theirs, s.preface) != nil, "answer %q was taken", b)
	}
	for _, b := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n.....", "evbench\n\x01.......................", "evbench\n\x02\x01......................"} {
		expect.True(t, expect.Err(readGreeting([]byte(b)[:greetingSize])) != nil, "greeting %q was taken", b)
	}
}

func FuzzPreface(f *testing.F) {
	p := preface{group: 1, src: 2, dst: 3, path: transport.Single}
	f.Add(p.encode("t", nonce{1}, nonce{2}), true)
	f.Add(p.encode("t", nonce{1}, nonce{2}), false)
	f.Fuzz(func(t *testing.T, b []byte, proven bool) {
		if len(b) != prefaceSize {
			return
		}
		if proven { // else nothing gets past it
			prove(b, "t", nonce{1})
		}
		got, _, err := decode(b, "t", nonce{1})
		expect.False(t, err == nil && string(got.encode("t", nonce{1}, nonce(b[fieldsSize:]))) != string(b),
			"decode(%x) = %+v, which is written differently", b, got)
	})
}

// FuzzAnswers is the other side: what who connects hears.
func FuzzAnswers(f *testing.F) {
	p := preface{group: 1, src: 2, dst: 3, path: transport.Single}
	s := expect.Value(speak(f, p, "t", "t"))(f)
	f.Add(s.greeting, s.answer)
	f.Fuzz(func(t *testing.T, greeting, answer []byte) {
		if len(greeting) != greetingSize || len(answer) != answerSize {
			return
		}
		n, err := readGreeting(greeting)
		if err != nil {
			return
		}
		said := p.encode("t", n, port.Nonce())
		expect.True(t, readAnswer(answer, "t", n, said) != nil, "an answer to another nonce was taken: %x", answer)
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
		expect.MustTrue(t, n >= 0 && n <= transport.MaxBody, "a body of %d bytes was accepted", n)
		if putFrame(&back, kind, b[8:], n); back != b {
			t.Errorf("frame %x is written as %x", b, back)
		}
	})
}
