// Package live shows the state of a run on a terminal, in a browser, to Prometheus and to programs.
// It adds up the events of the run to a State, and shows only that. It reads no clock for that:
// events carry their times. A server is read-only: no request changes anything. It draws on
// request, and at most a few times a second.
package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"evbench/bench"
	"evbench/results"
)

const (
	// pause is the least time before a browser gets the next state.
	pause = 250 * time.Millisecond
	// alive is the interval of keep-alives on a connection without news.
	alive = 15 * time.Second
	// patience is how long a browser may take to send its request, and to read news.
	patience = 5 * time.Second
	// answering bounds an answer, from the request until the browser has it, which includes drawing
	// a large network.
	answering = 30 * time.Second
	// mostWatching is how many browsers may follow a run.
	mostWatching = 32
)

// A Server shows one run. The run calls Take and End, which do nothing without a server, nil;
// requests arrive in parallel.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan error // of http

	watching atomic.Int32
	visiting crowd

	mu      sync.Mutex
	state   State
	stale   map[string]bool // parts to redraw
	changed chan struct{}   // closed at each change
	over    bool            // the state is final
	note    string          // final message
	ending  chan struct{}   // closed at the end

	drawing sync.Mutex
	parts   []part
}

// Address completes a user's address for listening: "HOST:PORT", or ":PORT", which means this
// machine only. Port 0 takes a free one.
func Address(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%q is not an address: write :PORT for this machine alone, or HOST:PORT; 0.0.0.0:PORT is open to everyone", addr)
	}
	host = cmp.Or(host, "127.0.0.1")
	return net.JoinHostPort(host, port), nil
}

// Listen opens an address that Address returns.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Is4() {
		network = "tcp4" // "tcp" would turn 0.0.0.0 into all addresses of both versions
	}
	var l net.ListenConfig
	listener, err := l.Listen(ctx, network, addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("%w: take another port, or end the program that has it (ss -ltnp shows it)", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		err = fmt.Errorf("%w: no address of this machine (evbench host lists them)", err)
	case errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("%w: ports below 1024 are for root: take a higher one", err)
	}
	return listener, err
}

// Serve shows a run to clients of a listener, until End, which closes the listener. Irregular
// events are logged.
func Serve(listener net.Listener, log *slog.Logger) *Server {
	s := &Server{listener: listener, done: make(chan error, 1), stale: map[string]bool{}, changed: make(chan struct{}), ending: make(chan struct{})}
	s.visiting.last = map[net.Conn]int{}
	s.http = &http.Server{
		Handler: s.handler(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxHeaderBytes: 16 << 10,
		ReadTimeout: patience, WriteTimeout: answering, IdleTimeout: time.Minute,
		ConnState: s.visiting.moved, ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connection{}, conn)
		},
	}
	go func() { s.done <- s.http.Serve(listener) }()
	return s
}

func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Local reports whether the page is reachable only from this machine.
func (s *Server) Local() bool { return loopback(s.listener.Addr().String()) }

func loopback(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && at.Addr().IsLoopback()
}

// Take takes the next event of the run.
func (s *Server) Take(p bench.Progress) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range stale(p, s.state.Last.Case) {
		s.stale[id] = true
	}
	s.state.Take(p)
	s.tell()
}

// tell wakes the goroutines that wait for a change. The caller holds the lock.
func (s *Server) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// End sends every browser the last state with a note, and stops serving: the page then stays as it
// is. One call is enough.
func (s *Server) End(note string) error {
	if s == nil {
		return nil
	}
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
	if err != nil { // a browser does not read its data
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
		case s.Local() && !localName(r.Host): // a page of another site, whose name resolves to this machine
			http.Error(w, "this is served to this machine alone, under localhost or the address of the loopback", http.StatusMisdirectedRequest)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// localName reports whether a host, with its port, is a name of this machine only.
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

func (s *Server) api(write func(io.Writer, *State) error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = write(w, s.snapshot()) // the client may have gone
	}
}

const progressSchema = "evbench/progress/1"

// A progressDocument is the position of a run. Times are seconds.
type progressDocument struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
	Ended  bool   `json:"ended"`
	Stage  string `json:"stage"` // "": the run has not begun
	Case   string `json:"case,omitempty"`
	Round  int    `json:"round"`  // from 1
	Rounds int    `json:"rounds"` // 0: until the answer is resolved
	// The current slice is number Slice of Slices of the round, from 1.
	Slice       int     `json:"slice"`
	Slices      int     `json:"slices"`
	ElapsedSec  float64 `json:"elapsed_s"`  // of the measured part of the slice
	DurationSec float64 `json:"duration_s"` // of the measured part, as planned
	// EventsPerSec is the mean over servers in the slice so far, Interval in its last interval.
	EventsPerSec float64            `json:"events_per_s"`
	Interval     float64            `json:"interval_events_per_s"`
	TookSec      float64            `json:"took_s"`       // since the start of the run
	LeftSec      float64            `json:"left_s"`       // estimate
	AtMost       bool               `json:"left_at_most"` // the run may end sooner
	Dead         []string           `json:"dead"`         // links that are dead now
	Failovers    []failoverDocument `json:"failovers"`
	Load         *results.Buffers   `json:"load,omitempty"` // of the current slice, where a clock offers events
}

type failoverDocument struct {
	Case   string `json:"case"`
	Repeat int    `json:"repeat"`
	results.Failover
}

func writeProgress(w io.Writer, s *State) error {
	p := s.Last
	rate, _ := p.Event.(bench.Measuring)
	d := progressDocument{
		Schema: progressSchema, Ended: s.Ended, Stage: p.Stage(), Case: p.Case, Round: p.Round, Rounds: p.Rounds,
		ElapsedSec: rate.Elapsed.Seconds(), DurationSec: p.Duration.Seconds(), EventsPerSec: rate.EventsPerSec, Interval: rate.Interval, TookSec: s.Took().Seconds(),
		Dead: []string{}, Failovers: []failoverDocument{}, Load: rate.Buffers,
	}
	left, most := s.Left()
	d.LeftSec, d.AtMost = left.Seconds(), most
	if s.Manifest != nil {
		d.Name = s.Manifest.Name
	}
	if c := s.Case(p.Case); c != nil {
		now, dead := s.Plan(c)
		d.Slice, d.Slices, d.Dead = p.Index+1, p.Count, now.Tree.LinkNames(dead)
	}
	for _, f := range s.Failovers {
		d.Failovers = append(d.Failovers, failoverDocument{f.Case, f.Repeat, f})
	}
	return json.NewEncoder(w).Encode(d)
}

func writeSummary(w io.Writer, s *State) error {
	sum := s.Summary
	if sum.Schema == "" {
		sum = results.Summary{Schema: results.SummarySchema, Cases: []results.Case{}}
	}
	return sum.Write(w)
}

// writeManifest writes manifest.json as at the start of the run, or null before it.
func writeManifest(w io.Writer, s *State) error {
	if s.Manifest == nil {
		_, err := io.WriteString(w, "null\n")
		return err
	}
	return s.Manifest.Write(w)
}

// writeLinks writes the traffic of links so far, over all slices of each case, as repeat 0.
func writeLinks(w io.Writer, s *State) error {
	all := []results.LinkCount{}
	for _, c := range s.Cases {
		all = append(all, s.Links[c.Name]...)
	}
	return json.NewEncoder(w).Encode(struct {
		Schema string              `json:"schema"`
		Links  []results.LinkCount `json:"links"`
	}{"evbench/links/1", all})
}
