package opensm

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A hearing follows the log of the master OpenSM, which may change.
type hearing struct {
	s *Subnet
	m *Manager

	pid     int    // of OpenSM; 0 before the first
	guid    uint64 // of its port
	sure    bool   // it runs and is master, as far as known
	log     *tail  // nil: it cannot be followed
	asks    bool   // OpenSM must be asked to write its buffered log
	reopens bool
	said    string // last reported failure, to report it once
}

// hear finds OpenSM, and makes it write its buffered log. It reports whether this is a new OpenSM,
// or one after a gap.
func (h *hearing) hear(ctx context.Context) (another bool) {
	sm, err := h.m.process(h.guid)
	if err == nil && h.sure && sm.p.ID.PID == h.pid {
		if h.asks {
			_ = sm.flush(h.reopens) // if it has ended, the next call reports that
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

// follow follows the log of an OpenSM from now on, or continues the log of the one before.
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

// deaf reports that no log tells of link changes.
func (h *hearing) deaf() bool { return h.log == nil || !h.sure }

// lines returns new lines of the log. After a change of state ask again which one is master.
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
