package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"evbench/internal/parallel"
	"evbench/internal/proc"
)

// Limits on parallel work and on durations.
const (
	atOnce         = 64               // runs of ssh
	connectTimeout = 10               // seconds
	answerTimeout  = 60 * time.Second // of a host, between two outputs
	copyTimeout    = 5 * time.Minute  // of a copy
	endTimeout     = 5 * time.Second  // of a worker after the request to end
)

// SSH is the OpenSSH client on this machine with the settings common to all hosts.
type SSH struct {
	User   string // "": as ssh decides
	Port   int    // 0: as ssh decides
	Config string // file for ssh -F; "": ssh's own
	// Progress is called with the number of hosts that have finished a step; nil is allowed. Calls
	// come one at a time.
	Progress func(step string, done, all int)

	binary []byte
	at     remote
	answer time.Duration // answerTimeout, less in tests
}

// NewSSH returns a client that copies this binary into a directory of each host.
func NewSSH(binary []byte, dir string) (*SSH, error) {
	dir, err := remoteDir(dir)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(binary)
	return &SSH{binary: binary, at: remote{dir: dir, sum: hex.EncodeToString(sum[:])}, answer: answerTimeout}, nil
}

// options are given to every ssh: they disable questions to a person, and settings of the user that
// let one ssh disturb another.
func (s *SSH) options() []string {
	o := []string{
		"-T", "-x", "-o", "BatchMode=yes", "-o", fmt.Sprintf("ConnectTimeout=%d", connectTimeout), "-o", "LogLevel=ERROR",
		"-o", "ControlMaster=no", "-o", "ClearAllForwardings=yes", "-o", "ForwardAgent=no", "-o", "RemoteCommand=none",
		"-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4",
	}
	if s.Config != "" {
		o = append(o, "-F", s.Config)
	}
	if s.User != "" {
		o = append(o, "-l", s.User)
	}
	if s.Port != 0 {
		o = append(o, "-p", strconv.Itoa(s.Port))
	}
	return o
}

// command is a script on a host. It has a process group of its own, since a Ctrl-C at the terminal
// is for this process, which ends all scripts in order. When ctx ends the group is killed: ssh may
// have a command of its own for the connection.
func (s *SSH) command(ctx context.Context, host, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "ssh", append(s.options(), "--", host, inShell(script))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = endTimeout
	cmd.Stderr = &proc.Tail{}
	return cmd
}

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// why says why a command on a host failed, without the host's name, so that hosts with the same
// failure are listed together.
func why(ctx context.Context, host string, cmd *exec.Cmd, err error) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return "no answer in time"
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "ssh is not installed on this machine"
	}
	said := cmd.Stderr.(*proc.Tail).String()
	if said == "" {
		return err.Error()
	}
	return withoutHost(said, host) + remedy(said)
}

// remedy is what helps against what ssh says, "" where that says it.
func remedy(said string) string {
	switch {
	case strings.Contains(said, "IDENTIFICATION HAS CHANGED"):
		return " (if the host was installed anew: ssh-keygen -R HOST)"
	case strings.Contains(said, "Host key verification failed"):
		return " (say once that its key is right: ssh HOST, or ssh-keyscan HOST >> ~/.ssh/known_hosts)"
	case strings.Contains(said, "Permission denied"):
		return " (put your key there: ssh-copy-id HOST)"
	}
	return ""
}

func withoutHost(said, host string) string {
	words := strings.Split(said, " ")
	for i, w := range words {
		if i > 0 && words[i-1] == "host" && i+1 < len(words) && words[i+1] == "port" {
			words[i] = "…"
		}
		if strings.Trim(w, ":,.;\r\n") == host {
			words[i] = strings.Replace(w, host, "…", 1)
		}
		if user, _, ok := strings.Cut(w, "@"); ok && i == 0 && strings.HasSuffix(w, ":") {
			words[i] = user + "@…:"
		}
	}
	return strings.ReplaceAll(strings.Join(words, " "), "\r", "")
}

// each does something for n hosts, many at a time, and reports progress.
func (s *SSH) each(step string, n int, do func(i int)) {
	if n == 0 {
		return
	}
	var mu sync.Mutex
	done := 0
	tell := func(more int) {
		mu.Lock()
		defer mu.Unlock()
		if done += more; s.Progress != nil {
			s.Progress(step, done, n)
		}
	}
	tell(0)
	parallel.Each(atOnce, n, func(_, i int) {
		do(i)
		tell(1)
	})
}
