package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Writer shows everything written to it as Text does. Several goroutines may use it.
type Writer struct {
	To   io.Writer
	Most int // bytes of a line before a cut; 0: unlimited

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
	return !slices.ContainsFunc(p, func(c byte) bool { return (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' })
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
		if style, _, ours := style(text[at:]); ours {
			out = fmt.Appendf(out, "\x1b[%sm", style)
			at += len(begin) + len(style) + 1
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

// Most bounds a foreign text, from a file or a connection: an error, a reason, a name.
const Most = 16 << 10

// tail is the space for the note about a cut: "… (N more bytes)".
const tail = 40

// Text returns foreign text for people: with its control characters as escapes such as \x1b, except
// for ends of lines and tabs, so that it does not move the cursor, set colours or reorder its
// surroundings, and with at most most bytes, 40 or more. Applied to its own result, Text changes
// nothing.
func Text(s string, most int) string { return escaped(s, most, "\n\t") }

// Line is Text for a single line, of Most bytes.
func Line(s string) string { return escaped(s, Most, "") }

func escaped(s string, most int, keep string) string {
	if len(s) <= most && strings.IndexFunc(s, suspect) < 0 {
		return s
	}
	var out []byte
	fits, read := 0, 0 // the length left if the rest has to be cut
	for at := 0; at < len(s); {
		if len(out) <= most-tail {
			fits, read = len(out), at
		}
		r, n := utf8.DecodeRuneInString(s[at:])
		out = appendShown(out, s[at:at+n], r, keep)
		if len(out) > most {
			return string(out[:fits]) + more(len(s)-read)
		}
		at += n
	}
	return string(out)
}

func more(bytes int) string { return fmt.Sprintf("… (%d more bytes)", bytes) }

// suspect reports whether a character may have to be shown as an escape.
func suspect(r rune) bool { return hidden(r) || r == utf8.RuneError }

// hidden reports whether a character controls a terminal rather than being visible: controls, those
// of the direction of writing, and ends of lines beside \n.
func hidden(r rune) bool {
	if r >= ' ' && r < 0x7f {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// appendShown appends the character r with the given bytes. Escapes from \u007f on mean the same in
// JSON.
func appendShown(out []byte, bytes string, r rune, keep string) []byte {
	switch {
	case strings.ContainsRune(keep, r):
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Appendf(out, `\x%02x`, bytes[0])
	case r == '\n':
		return append(out, `\n`...)
	case r == '\t':
		return append(out, `\t`...)
	case r < ' ':
		return fmt.Appendf(out, `\x%02x`, r)
	case hidden(r):
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return append(out, bytes...)
}
