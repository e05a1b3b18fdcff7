// Package live answers: where does a run stand, and how is it watched on a terminal, from a browser, by
// Prometheus and by programs? The events of the run are added up to a State, which is all that is shown.
// It reads no clock for that: events carry their times. A server only reads: no request changes anything. It draws
// when somebody looks, and not more often than a few times in a second.
package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evbench/bench"
)

const (
	// pause is how long a browser waits for the next state at least.
	pause = 250 * time.Millisecond
	// alive is how often a connection without news shows that it lives.
	alive = 15 * time.Second
	// patience is how long a browser may take for its request, and for news.
	patience = 5 * time.Second
	// answering is how long an answer may take, from the request until the browser has it:
	// figures of a large network are drawn for it.
	answering = 30 * time.Second
	// mostWatching is how many browsers may follow a run.
	mostWatching = 32
)

// A Server shows one run. Take and End are for the run; requests come beside it.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan error // of http

	watching atomic.Int32
	visiting crowd

	mu      sync.Mutex
	state   State
	stale   map[string]bool // parts that have to be drawn anew
	changed chan struct{}   // closed at each change
	over    bool            // nothing changes any more
	note    string          // what is said in the end
	ending  chan struct{}   // closed in the end

	drawing sync.Mutex
	parts   []part
}

// Address is where to listen for an address of a user: "HOST:PORT", or ":PORT", which is on
// this machine alone. Port 0 is any that is free.
func Address(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%q is no address: write :PORT for this machine alone, or HOST:PORT; 0.0.0.0:PORT is open to all who reach it", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Listen opens an address that Address returns.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Is4() {
		network = "tcp4" // of 0.0.0.0 "tcp" makes all addresses of both versions
	}
	var l net.ListenConfig
	return l.Listen(ctx, network, addr)
}

// Serve shows a run to who connects to a listener, until End, which closes it. What is odd
// is logged.
func Serve(listener net.Listener, log *slog.Logger) *Server {
	s := &Server{listener: listener, done: make(chan error, 1), stale: map[string]bool{}, changed: make(chan struct{}), ending: make(chan struct{})}
	s.visiting.last = map[net.Conn]int{}
	s.http = &http.Server{
		Handler: s.handler(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxHeaderBytes: 16 << 10,
		ReadTimeout: patience, WriteTimeout: answering, IdleTimeout: time.Minute,
		ConnState: s.visiting.moved, ConnContext: withConnection,
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s
}

// URL is where a browser finds the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Local reports whether only this machine reaches it.
func (s *Server) Local() bool { return loopback(s.listener.Addr().String()) }

func loopback(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && at.Addr().IsLoopback()
}

// Take takes the next event of the run.
func (s *Server) Take(p bench.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range stale(p, s.state.Last.Case) {
		s.stale[id] = true
	}
	s.state.Take(p)
	s.tell()
}

// tell wakes who waits for a change. It is called under the lock.
func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// End shows every browser the last state with a note, and stops serving: the page then
// stays as it is. Once is enough.
func (s *Server) End(note string) error {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return nil
	}
	s.state.Ended, s.over, s.note = true, true, note
	s.stale[partWhere] = true
	close(s.ending)
	s.tell()
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil { // a browser does not take what it is sent
		err = s.http.Close()
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func (s *Server) snapshot() *State {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := s.state
	return &copied
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.page)
	mux.HandleFunc("/events", s.events)
	mux.Handle("/metrics", s.metrics())
	mux.HandleFunc("/api/progress", s.api(writeProgress))
	mux.HandleFunc("/api/summary", s.api(writeSummary))
	mux.HandleFunc("/api/manifest", s.api(writeManifest))
	mux.HandleFunc("/api/links", s.api(writeLinks))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD: nothing can be changed here", http.StatusMethodNotAllowed)
		case s.Local() && !localName(r.Host): // a page of somebody else, whose name leads here
			http.Error(w, "this is served to this machine alone, under localhost or the address of the loopback", http.StatusMisdirectedRequest)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// localName reports whether a host, with its port, is a name of this machine alone.
func localName(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	at, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil && at.IsLoopback()
}
