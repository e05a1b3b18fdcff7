package opensm

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A hearing follows the log of the OpenSM that is master, whichever that is.
type hearing struct {
	s *Subnet
	m *Manager

	pid     int    // of OpenSM; 0 before the first
	guid    uint64 // of its port
	sure    bool   // it is there and master, as far as is known
	log     *tail  // nil: it cannot be followed
	asks    bool   // what OpenSM has buffered of it is asked for
	reopens bool
	said    string // why nothing is heard, to say it once
}

// hear finds OpenSM, and has it write what it has buffered of its log. It reports whether there is another one
// than before, or one again.
func (h *hearing) hear(ctx context.Context) (another bool) {
	sm, err := h.m.process(h.guid)
	if err == nil && h.sure && sm.p.ID.PID == h.pid {
		if h.asks {
			_ = sm.flush(h.reopens) // where it has ended, the next call says so
		}
		_ = sm.Close()
		return false
	}
	if err == nil {
		_ = sm.Close()
	}
	h.sure = false
	sm, guid, err := h.m.master(ctx)
	if err != nil {
		h.say("links that change are seen up to "+unheard.String()+" late, and no tables are loaded", err)
		return false
	}
	defer sm.Close()
	if another = h.pid != 0; another {
		h.s.tell(fmt.Sprintf("OpenSM is process %d, and master", sm.p.ID.PID), time.Time{}, nil)
	}
	h.pid, h.guid, h.sure = sm.p.ID.PID, guid, true
	if err := h.follow(sm); err != nil {
		h.say("OpenSM's log cannot be followed, so links that change are seen up to "+unheard.String()+" late", err)
		h.close()
		return another
	}
	h.said = ""
	return another
}

// follow follows the log of an OpenSM from now on, or further where the one before had it.
func (h *hearing) follow(sm *Process) error {
	name := sm.log(h.m.LogFile)
	reopens, advice, err := sm.logging(name)
	if err != nil {
		return err
	}
	if h.log == nil || h.log.name != name {
		log, err := follow(name)
		if err != nil {
			return err
		}
		h.close()
		h.log = log
	}
	h.asks, h.reopens = advice != "", reopens
	if h.asks {
		h.s.tell(fmt.Sprintf("OpenSM buffers its log, so links that change are seen up to %s late: %s", buffered, advice), time.Time{}, nil)
	}
	return sm.flush(reopens)
}

func (h *hearing) say(what string, err error) {
	if h.said != err.Error() {
		h.s.tell(what, time.Time{}, err)
	}
	h.said = err.Error()
}

// deaf reports that no log tells of links that change.
func (h *hearing) deaf() bool { return h.log == nil || !h.sure }

// lines returns what the log says. After a change of state it is to be asked who is master.
func (h *hearing) lines() ([]string, error) {
	if h.log == nil {
		return nil, nil
	}
	lines, err := h.log.lines()
	for _, s := range lines {
		h.sure = h.sure && !(strings.Contains(s, "-> Entering ") && strings.Contains(s, " state"))
	}
	return lines, err
}

func (h *hearing) close() {
	if h.log != nil {
		h.log.close()
		h.log = nil
	}
}
