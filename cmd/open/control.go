package open

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"evbench/controller/wire"
	"evbench/internal/atomicfile"
	"evbench/internal/trust"
	"evbench/site/host"
)

// A Control is the control connection of a run. Close cleans it up.
type Control struct {
	Address  string
	Listener net.Listener // listens already; nil: the controller opens it
	Token    string
	closing  func() error
}

func (c Control) Close() error {
	if c.closing == nil {
		return nil
	}
	return c.closing()
}

// LocalControl is a Unix socket in a directory of its own, with a token drawn for this run. Its
// path works across network namespaces.
func LocalControl() (Control, error) {
	var errs []error
	for _, tmp := range []string{os.TempDir(), "/tmp"} {
		dir, err := trust.TempDir(tmp)
		if err != nil {
			return Control{}, err
		}
		c := Control{Address: "unix:" + filepath.Join(dir, "control"), Token: rand.Text(), closing: func() error { return trust.RemoveTemp(dir) }}
		if err = wire.CheckAddress(c.Address); err == nil {
			return c, nil
		}
		errs = append(errs, err, c.Close()) // the name is too long for a socket
	}
	return Control{}, errors.Join(errs...)
}

func (r *Rank) Listen() (Control, error) {
	l, err := r.listen()
	if err != nil {
		return Control{}, fmt.Errorf("control port: %w", err)
	}
	return Control{Address: r.Control, Listener: l, Token: r.Token, closing: func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) { // if the run did not begin
			return err
		}
		return nil
	}}, nil
}

func (r *Rank) listen() (net.Listener, error) {
	if r.Carried() {
		return r.world.Listen()
	}
	here, err := host.Addresses()
	if err != nil {
		return nil, err
	}
	return wire.Listen(listenOn(r.Control, here, net.LookupHost))
}

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
