package plan

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"evbench/scheduler"
)

// maxZipped bounds a plan in JSON that is unpacked from gzip: one of 4,096 servers
// has 320 MB. A small file could else unpack to maxJSON.
const maxZipped = 1 << 29

// Read reads a plan file, in text, compact or JSON form (its first byte is "{"),
// packed with gzip or not, into the plan that it was written from: the same tree,
// messages, bound and hash. Tables, paths and figures are computed anew. What the
// form does not carry stays empty: the two text forms have neither weights of a
// bound nor an objective.
//
// It takes only complete plans: every pair of servers meets exactly once, no
// server sends or receives twice in a phase, pinned messages have live links of
// their own, the spines of other routings are those of their tables, and the
// phases, the unreachable leaves and the hash are what the header says. Anything
// else is an error that names the line and the reason. (verify.Read also reads
// plans that are wrong, and its judge says all that is.)
func Read(r io.Reader) (*Plan, error) { return ReadAtMost(r, math.MaxInt) }

// ReadAtMost is Read for at most so many messages. Reading takes up to 100 bytes for
// each; a small file can stand for many.
func ReadAtMost(r io.Reader, messages int) (*Plan, error) {
	in, text, err := unpacked(bufio.NewReaderSize(r, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	c, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("empty: a plan file starts with \"# evbench plan 1\" or \"{\"")
	case err != nil:
		return nil, fmt.Errorf("read plan: %w", err)
	}
	d := &draft{room: messages}
	if c == '{' {
		err = d.readJSON(in, text)
	} else {
		err = d.readText(in)
	}
	if err != nil {
		return nil, err
	}
	return d.plan()
}

// unpacked returns what a gzip file holds, or else the file as it is; and how many
// bytes of JSON are read of it.
func unpacked(in *bufio.Reader) (*bufio.Reader, int64, error) {
	if magic, _ := in.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return in, maxJSON, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, 0, unpackError(err)
	}
	return bufio.NewReaderSize(&unpacker{z}, 1<<16), maxZipped, nil
}

// An unpacker says what is wrong with gzip data.
type unpacker struct{ *gzip.Reader }

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	return n, unpackError(err)
}

func unpackError(err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the gzip data ends too early: the file is cut off")
	}
	return fmt.Errorf("the gzip data is damaged: %w", err)
}

// firstByte returns the first byte that is not blank, without taking it. It
// keeps newlines, which count as lines.
func firstByte(in *bufio.Reader) (byte, error) {
	for i := 1; ; i++ {
		b, err := in.Peek(i)
		if len(b) < i {
			return 0, err
		}
		if c := b[i-1]; !strings.ContainsRune(" \t\r\n", rune(c)) {
			return c, nil
		}
	}
}

// bounded finds how many messages are held of a plan for the stated fabric, before the
// first is: a few more than it has, so that the error can name one that is too many.
func (d *draft) bounded() error {
	var p Plan
	if err := d.tree(&p); err != nil {
		return err
	}
	n := p.Tree.Servers()
	d.most = n*(n-1) + 1<<16
	return nil
}

// add holds a message. It doubles the memory for them, up to what a plan needs.
func (d *draft) add(m scheduler.Message) error {
	n := len(d.messages)
	switch {
	case n >= d.most:
		return fmt.Errorf("more than %d messages, which is more than there are pairs of servers: %s", d.most, judgeIt)
	case n >= d.room:
		return fmt.Errorf("more than %d messages: there is no room for more", d.room)
	case n == cap(d.messages):
		d.messages = slices.Grow(d.messages, min(max(1024, n), d.most-n))
	}
	d.messages = append(d.messages, m)
	return nil
}
