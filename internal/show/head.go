package show

import (
	"bytes"
	"io"
)

// A Head passes on the first lines of what is written, for a terminal: at most Lines of them, each cut at
// Width bytes.
type Head struct {
	To           io.Writer
	Lines, Width int

	// Cut says that lines which were passed on are longer.
	Cut bool

	seen, column int
}

// Omitted is how many lines were not passed on.
func (h *Head) Omitted() int { return max(h.seen-h.Lines, 0) }

func (h *Head) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		if h.seen < h.Lines {
			shown := line[:min(len(line), max(h.Width-h.column, 0))]
			h.Cut = h.Cut || len(shown) < len(line)
			if ended {
				shown = append(bytes.Clone(shown), '\n')
			}
			if _, err := h.To.Write(shown); err != nil {
				return 0, err
			}
		}
		h.column += len(line)
		if ended {
			h.seen, h.column = h.seen+1, 0
		}
	}
	return len(p), nil
}
