package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// page serves the page with the state of now: it says something without its script, too.
func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	parts, _, err := s.draw()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate.Execute(w, viewOf(parts)) // the browser may be gone
}

// events sends a browser each part of the page that has changed, until the run ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	defer s.watching.Add(-1)
	if s.watching.Add(1) > mostWatching {
		http.Error(w, fmt.Sprintf("%d browsers follow this run already", mostWatching), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy before it
	if r.Method == http.MethodHead {
		return
	}
	out := stream{w, http.NewResponseController(w)}
	s.visiting.follows(r)
	sent := map[string]int{}
	for {
		changed := s.change()
		parts, last, err := s.draw()
		if err == nil {
			err = out.parts(parts, sent)
		}
		if err == nil && last {
			_ = out.event("end", nil) // it need not be there any more
			_ = out.control.Flush()
			return
		}
		if err == nil {
			err = s.next(r, out, changed)
		}
		if err != nil {
			return // the browser is gone, or comes back
		}
	}
}

// change is closed when the state is another than now.
func (s *Server) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

var errGone = errors.New("the browser is gone")

func (s *Server) next(r *http.Request, out stream, changed <-chan struct{}) error {
	early := time.NewTimer(pause)
	defer early.Stop()
	late := time.NewTicker(alive)
	defer late.Stop()
	for waiting := true; waiting; {
		select {
		case <-changed:
			waiting = false
		case <-late.C:
			if err := out.still(); err != nil {
				return err
			}
		case <-r.Context().Done():
			return errGone
		}
	}
	select {
	case <-early.C:
	case <-s.ending:
	case <-r.Context().Done():
		return errGone
	}
	return nil
}

// A stream is the server-sent events to one browser (HTML Living Standard, 9.2).
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s stream) parts(parts []part, sent map[string]int) error {
	for _, p := range parts {
		if sent[p.ID] == p.version {
			continue
		}
		if err := s.event("part", p); err != nil {
			return err
		}
		sent[p.ID] = p.version
	}
	return s.control.Flush()
}

func (s stream) event(name string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(patience)) // of what stands between
	_, err = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, text)
	return err
}

func (s stream) still() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprint(s.w, ":\n\n"); err != nil {
		return err
	}
	return s.control.Flush()
}
