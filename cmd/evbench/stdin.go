package main

import (
	"context"
	"errors"
	"io"
	"os"
)

// maxToken bounds a secret.
const maxToken = 4 << 10

// firstLineOfStdin reads a line from standard input and nothing behind it.
func firstLineOfStdin() ([]byte, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxToken; {
		n, err := os.Stdin.Read(b)
		if n == 1 && b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if n == 1 {
			return line, nil
		}
		if errors.Is(err, io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the first line of standard input is too long")
}

// errStdinEnded is why a worker ends whose launcher has let it go.
var errStdinEnded = errors.New("standard input has ended")

// endWithStdin returns a context that ends when standard input does. Whoever
// reads it waits in the kernel, which cannot be called off: it ends with the
// program.
func endWithStdin(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel(errStdinEnded)
	}()
	return ctx, func() { cancel(nil) }
}
