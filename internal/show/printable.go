package show

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
