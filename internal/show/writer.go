package show

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Writer shows everything written to it as Text does. Several goroutines may use it.
type Writer struct {
	To   io.Writer
	Pass []string // our own sequences that stay unchanged, such as colours
	Most int      // bytes of a line before a cut; 0: unlimited

	mu   sync.Mutex
	rest []byte // start of a character
	long int    // bytes of this line so far
	left int    // bytes of it that were cut
}

// Write implements io.Writer. A character may come in several pieces.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Most == 0 && len(w.rest) == 0 && plain(p) {
		return w.To.Write(p)
	}
	text := append(w.rest, p...)
	end := len(text) - partial(text)
	out := w.show(string(text[:end]))
	w.rest = append([]byte(nil), text[end:]...)
	if _, err := w.To.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the rest: the start of an incomplete character, and the note about a cut last line.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.cut(w.show(string(w.rest)))
	w.rest = nil
	if len(out) == 0 {
		return nil
	}
	_, err := w.To.Write(out)
	return err
}

// plain reports whether there are only visible ASCII characters, ends of lines and tabs.
func plain(p []byte) bool {
	for _, c := range p {
		if (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// partial is how many bytes at the end are an incomplete character.
func partial(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (w *Writer) show(text string) (out []byte) {
	for at := 0; at < len(text); {
		if own := w.own(text[at:]); own > 0 {
			out = append(out, text[at:at+own]...)
			at += own
			continue
		}
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == '\n' {
			out = append(w.cut(out), '\n')
		} else {
			out = w.add(out, text[at:at+n], r)
		}
		at += n
	}
	return out
}

// own is the length of one of our own sequences at the start of a text.
func (w *Writer) own(text string) int {
	for _, s := range w.Pass {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}

// add appends one character, if the line has room for it.
func (w *Writer) add(out []byte, bytes string, r rune) []byte {
	with := appendShown(out, bytes, r, "\t")
	if w.long += len(with) - len(out); w.Most > 0 && (w.left > 0 || w.long > w.Most) {
		w.left += len(bytes)
		return out
	}
	return with
}

// cut ends a line.
func (w *Writer) cut(out []byte) []byte {
	if w.left > 0 {
		out = append(out, more(w.left)...)
	}
	w.long, w.left = 0, 0
	return out
}
