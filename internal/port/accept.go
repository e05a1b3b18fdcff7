// Package port answers: who may connect to a port?
//
// Anybody can connect. Accept keeps taking connections when one fails. With Proof both
// ends find out that the other one knows the secret of the run, the token, without
// sending it: each draws a nonce, and sends a number that only who knows the token can
// compute, over both nonces, its claim and its role. So a proof is good for one
// connection and one direction of it. The package owns no connection.
package port

import (
	"errors"
	"net"
	"time"
)

// acceptPause lets files be closed after the process ran out of them.
const acceptPause = 50 * time.Millisecond

// Accept hands over to take what accept returns, until the port is closed or quit
// is. Other errors pass: out of files or memory, or a peer that is gone again. They
// are told, and it goes on after a pause.
func Accept[C any](accept func() (C, error), quit <-chan struct{}, take func(C), tell func(error)) {
	for {
		c, err := accept()
		switch {
		case err == nil:
			take(c)
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		tell(err)
		select {
		case <-time.After(acceptPause):
		case <-quit:
			return
		}
	}
}
