package open

import (
	"bytes"
	"errors"
	"io"
	"os"

	"evbench/internal/atomicfile"
)

const maxToken = 4 << 10

// ReadToken reads the secret of a run from a file or, "-", the first line of standard input.
func ReadToken(name string) (string, error) {
	read := func() ([]byte, error) { return atomicfile.Read(name, maxToken) }
	if name == "-" {
		read = func() ([]byte, error) { return firstLine(os.Stdin) }
	}
	b, err := read()
	return string(bytes.TrimSpace(b)), err
}

func firstLine(in io.Reader) ([]byte, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxToken; {
		n, err := in.Read(b)
		if n == 1 && b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if n == 1 || errors.Is(err, io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the first line of standard input is too long")
}
