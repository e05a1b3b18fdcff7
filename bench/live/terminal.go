package live

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"evbench/internal/printable"
)

// A Terminal takes lines that stay and, where there is a screen, a passing text below them,
// which is drawn anew whenever it changes. Several goroutines may use it.
type Terminal struct {
	To     io.Writer                  // for what stays
	Screen io.Writer                  // the terminal itself; nil: there is none
	Size   func() (columns, rows int) // of the screen; 0: not known
	Quiet  bool                       // only what is written by Write

	mu    sync.Mutex
	lines int // of the passing text, the cursor behind the last
}

// Live reports whether a passing text is shown.
func (t *Terminal) Live() bool { return t.Screen != nil && !t.Quiet }

// Pass shows a passing text in place of the last one. Its lines are cut to the width of
// the screen, and those that have no room are left out. A colour has to end where it begins: on one line.
func (t *Terminal) Pass(text string) {
	if !t.Live() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	columns, rows := 0, 0
	if t.Size != nil {
		columns, rows = t.Size()
	}
	if most := rows - 1; rows > 1 && len(lines) > most {
		lines = lines[:most]
	}
	var b strings.Builder
	b.WriteString(t.clearing())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if columns > 1 {
			line = cut(line, columns-1)
		}
		b.WriteString(line)
	}
	fmt.Fprint(t.Screen, b.String())
	t.lines = len(lines)
}

// Line shows something that stays.
func (t *Terminal) Line(text string) {
	if !t.Quiet {
		fmt.Fprintln(t, text)
	}
}

// Write writes what stays, also where it is quiet: what a log says.
func (t *Terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
	return t.To.Write(text)
}

// End removes the passing text.
func (t *Terminal) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

func (t *Terminal) end() {
	if t.lines > 0 {
		fmt.Fprint(t.Screen, t.clearing())
		t.lines = 0
	}
}

// clearing removes the passing text and leaves the cursor where it began.
func (t *Terminal) clearing() string {
	if t.lines > 1 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", t.lines-1)
	}
	return "\r\x1b[J"
}

// cut returns at most so many characters of a line, in which escape sequences have no
// width. All of them stay, so that a colour that began ends.
func cut(line string, width int) string {
	var b strings.Builder
	for n := 0; line != ""; {
		text, rest, more := strings.Cut(line, "\x1b[")
		for _, r := range text {
			if n++; n <= width {
				b.WriteRune(r)
			}
		}
		if !more {
			break
		}
		end := strings.IndexByte(rest, 'm') + 1
		b.WriteString("\x1b[" + rest[:end])
		line = rest[end:]
	}
	return b.String()
}

// Passing shows a passing text of one line, whoever wrote what is in it.
func (t *Terminal) Passing(format string, args ...any) {
	t.Pass(printable.Line(fmt.Sprintf(format, args...)))
}
