package controller

import (
	"errors"
	"sync"
	"time"

	"evbench/controller/wire"
)

// pingEvery is the interval of pings to a worker.
const pingEvery = time.Second

// A member is a worker that has joined. Its control connection has one reader and one writer.
type member struct {
	hello wire.Hello
	conn  *wire.NetConn
	out   chan wire.Message
	over  chan struct{} // closed once the connection must end
	once  sync.Once
	why   error // set before over is closed
}

// outbox is how many messages may wait for a worker. A worker that does not read so many counts as
// dead and must not delay the others.
const outbox = 1024

var errDeaf = errors.New("does not read its control connection")

func newMember(h wire.Hello, c *wire.NetConn) *member {
	return &member{hello: h, conn: c, out: make(chan wire.Message, outbox), over: make(chan struct{})}
}

func (m *member) post(msg wire.Message) {
	select {
	case m.out <- msg:
	default:
		m.hangUp(errDeaf)
	}
}

// hangUp ends the connection; the first reason counts.
func (m *member) hangUp(why error) {
	m.once.Do(func() {
		m.why = why
		close(m.over)
		_ = m.conn.Close()
	})
}

// serve reads and writes until the connection ends and returns why.
func (m *member) serve(deliver func(*member, any)) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		m.write()
	}()
	for {
		msg, err := m.conn.Receive()
		if err != nil {
			m.hangUp(err)
			break
		}
		deliver(m, msg)
	}
	<-written
	return m.why
}

func (m *member) write() {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var msg wire.Message
		select {
		case <-m.over:
			return
		case msg = <-m.out:
		case <-ping.C:
			msg = wire.Ping{Sent: time.Now().UnixNano()}
		}
		if err := m.conn.Send(msg); err != nil {
			m.hangUp(err)
			return
		}
	}
}
