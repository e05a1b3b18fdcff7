package show

import (
	"crypto/rand"
	"strings"
	"unicode/utf8"
)

// begin begins a style in place of "\x1b[", which a Writer makes of it. No file can have it, so that no text of others
// sets a colour.
var begin = "\x1b" + rand.Text() + "["

// The styles of Paint.
const (
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// Paint sets the style of a text, "" none, for a Writer.
func Paint(s, text string) string {
	if s == "" {
		return text
	}
	return begin + s + "m" + text + begin + "0m"
}

// style cuts a style off the start of a text.
func style(text string) (s, rest string, ours bool) {
	if rest, ours = strings.CutPrefix(text, begin); ours {
		s, rest, ours = strings.Cut(rest, "m")
	}
	return s, rest, ours
}

// Screen returns what a Writer writes of a text.
func Screen(text string) string { return string((&Writer{}).show(text)) }

// Cut returns at most width characters of a line. Styles have no width and are all kept, so that every colour ends.
func Cut(line string, width int) string {
	var b strings.Builder
	for n := 0; line != ""; {
		if _, rest, ours := style(line); ours {
			b.WriteString(line[:len(line)-len(rest)])
			line = rest
			continue
		}
		_, size := utf8.DecodeRuneInString(line)
		if n++; n <= width {
			b.WriteString(line[:size])
		}
		line = line[size:]
	}
	return b.String()
}
