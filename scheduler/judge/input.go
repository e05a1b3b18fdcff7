package judge

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// An input counts the lines it has read.
type input struct {
	*bufio.Reader
	line int
}

func newInput(r io.Reader) (*input, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, zipError(err)
		}
		in = bufio.NewReaderSize(&zipped{z}, 1<<16)
	}
	return &input{Reader: in, line: 1}, nil
}

// zipped is gzip data whose errors name the fault.
type zipped struct{ z *gzip.Reader }

func (r *zipped) Read(p []byte) (int, error) {
	n, err := r.z.Read(p)
	return n, zipError(err)
}

func zipError(err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the gzip data ends too early: the file is cut off")
	}
	return fmt.Errorf("the gzip data is damaged: %w", err)
}

// readLine returns the next line with its end, valid until the next read. The
// last line may have no end; after it comes io.EOF.
func (in *input) readLine() ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxHeader {
			var more []byte
			more, err = in.ReadSlice('\n')
			line = append(line, more...)
		}
	}
	switch {
	case len(line) > maxHeader:
		return nil, in.wrong("longer than %d bytes", maxHeader)
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	}
	return nil, fmt.Errorf("read plan: after line %d: %w", in.line-1, err)
}

func (in *input) skipBlank() error {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return err
		}
		switch c {
		case '\n':
			in.line++
		case ' ', '\t', '\r':
		default:
			return in.UnreadByte()
		}
	}
}

func (in *input) wrong(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{in.line}, args...)...)
}

// digits reads a number of up to seven digits at b[i:]. It returns the number and its end: i when
// there is no digit.
func digits(b []byte, i int) (n int32, end int) {
	for end = i; end < len(b) && b[end]-'0' < 10 && end < i+7; end++ {
		n = n*10 + int32(b[end]-'0')
	}
	return n, end
}
