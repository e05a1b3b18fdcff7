package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/lists"
)

// An Ask is the question to a host.
type Ask struct {
	Host string
	Args []string // of evbench host
}

// Check queries every host, and copies the binary to hosts that lack it and could run it. Reports
// come in the order of the questions; an unusable host is in its report and no error. Nothing is
// started.
func (s *SSH) Check(ctx context.Context, asks []Ask, w Needs) ([]Report, error) {
	reports := make([]Report, len(asks))
	s.ask(ctx, "checking", asks, lists.Range[int](len(asks)), reports)
	if need := missing(reports, w); len(need) > 0 {
		// Homes are often shared: the first copy may suffice.
		s.copyTo(ctx, asks, need[:1], reports)
		s.ask(ctx, "checking again", asks, need, reports)
		rest := slices.DeleteFunc(missing(reports, w), func(i int) bool { return i == need[0] })
		s.copyTo(ctx, asks, rest, reports)
		s.ask(ctx, "checking again", asks, rest, reports)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, i := range missing(reports, w) {
		reports[i].Err = "the binary was copied, but is not there"
	}
	return reports, nil
}

func missing(reports []Report, w Needs) []int {
	return lists.Filter(lists.Range[int](len(reports)), func(i int) bool { return reports[i].Answer == nil && reports[i].obstacle(w) == "" })
}

func (s *SSH) ask(ctx context.Context, step string, asks []Ask, which []int, reports []Report) {
	s.each(step, len(which), func(n int) {
		i := which[n]
		if old := reports[i]; old.Err == "" {
			reports[i] = s.probe(ctx, asks[i])
		}
	})
}

func (s *SSH) probe(ctx context.Context, a Ask) Report {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(s.answer, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	r := Report{Host: a.Host, FreeKiB: -1}
	cmd := s.command(ctx, a.Host, s.at.probe(a.Args))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		r.Err = err.Error()
		return r
	}
	talk := &conversation{ask: stdin, heard: func() { late.Reset(s.answer) }}
	cmd.Stdout = talk
	if err := cmd.Run(); err != nil {
		r.Err = why(ctx, a.Host, cmd, err)
		return r
	}
	r.Asked, r.Answered = talk.asked, talk.answered
	if err := r.read(talk.said.String()); err != nil {
		r.Err = err.Error()
	}
	return r
}

// A conversation reads the output of the probe, and asks for the clock when the probe is ready: it
// notes the time before it sends the request.
type conversation struct {
	ask             io.Writer
	heard           func()
	said            bytes.Buffer
	asked, answered time.Time
}

func (c *conversation) Write(p []byte) (int, error) {
	c.answered = time.Now()
	c.heard()
	if c.said.Len()+len(p) > 1<<20 {
		return 0, fmt.Errorf("it sends too much")
	}
	c.said.Write(p)
	if c.asked.IsZero() && bytes.Contains(c.said.Bytes(), []byte("\n"+probeReady+"\n")) {
		c.asked = time.Now()
		if _, err := c.ask.Write([]byte("\n")); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (r *Report) read(said string) error {
	_, said, ok := strings.Cut(said, probeBegin+"\n")
	if !ok {
		return fmt.Errorf("its shell does not run a command; it prints %.200q", said)
	}
	for {
		line, rest, ok := strings.Cut(said, "\n")
		switch {
		case !ok:
			return fmt.Errorf("the answer ends with %.200q", line)
		case strings.HasPrefix(line, probeSystem):
			r.System = line[len(probeSystem):]
		case strings.HasPrefix(line, probeSpace):
			r.FreeKiB = freeKiB(line)
		case line == probeCopy:
			return nil
		case line == probeReady:
			var a Answer
			if err := json.Unmarshal([]byte(rest), &a); err != nil {
				return fmt.Errorf("evbench host printed %.200q: %.300s", rest, err)
			}
			r.Answer = &a
			return nil
		}
		said = rest
	}
}

// freeKiB reads the last line of df -Pk: the number before the percentage. A file system without a
// size has no known limit.
func freeKiB(line string) int64 {
	words := strings.Fields(line)
	for i := len(words) - 1; i > 0; i-- {
		if strings.HasSuffix(words[i], "%") {
			if n, err := strconv.ParseUint(words[i-1], 10, 63); err == nil {
				return int64(n)
			}
		}
	}
	return -1
}

func (s *SSH) copyTo(ctx context.Context, asks []Ask, which []int, reports []Report) {
	s.each("copying evbench", len(which), func(n int) {
		i := which[n]
		if err := s.send(ctx, asks[i].Host); err != nil {
			reports[i].Err = err.Error()
		}
	})
}

func (s *SSH) send(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	cmd := s.command(ctx, host, s.at.receive(rand.Text()))
	cmd.Stdin = bytes.NewReader(s.binary)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("copying evbench: %s", why(ctx, host, cmd, err))
	}
	return nil
}
