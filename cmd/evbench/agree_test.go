package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// namesCommands are scenarios whose first command leaves the file "ran", and ends the run.
var namesCommands = map[string]struct{ text, asks string }{
	"inject": {
		`inject: {kind: command, down: "true", up: "true", probe: touch ran; exit 7}
cases: [{name: one, schedule: linear-shift, failures: [leaf0-spine1]}]`, "inject.probe: touch ran; exit 7",
	},
	"routes": {
		`fabric: {kind: hosts, routes: {kind: kernel, shell: ./touch}}
cases: [{name: one, schedule: linear-shift}]`, "fabric.routes.shell: ./touch",
	},
	"ssh": {
		`launch: {kind: ssh, hosts: "node[0-3]", config: config}
cases: [{name: one, schedule: linear-shift}]`, "launch.config: config",
	},
}

// A scenario may be another's: at a terminal its commands are shown, and run after a yes.
func TestCommandsAskedFor(t *testing.T) {
	for name, s := range namesCommands {
		for _, tt := range []struct {
			name, types string
			flags       []string
			asks, runs  bool
		}{
			{"refused", "\n", nil, true, false},
			{"end of input", "\x04", nil, true, false},
			{"agreed", "y\n", nil, true, true},
			{"yes", "", []string{"--yes"}, false, true},
		} {
			t.Run(name+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				commandScenario(t, dir, s.text)
				code, said := atTerminal(t, dir, tt.types, append([]string{"run", "a.yaml", "-o", "out"}, tt.flags...)...)
				expect.Equal(t, strings.Contains(said, s.asks) && strings.Contains(said, "Run them? [y/N]"), tt.asks, "asked:\n%s", said)
				expect.Equal(t, exists(t, dir, "ran"), tt.runs, "ran, after:\n%s", said)
				expect.True(t, tt.runs || code == exitUsage && !exists(t, dir, "out"), "ended with %d:\n%s", code, said)
			})
		}
	}
}

// Without a terminal nobody can answer: scripts go on as before. validate shows the commands.
func TestCommandsUnasked(t *testing.T) {
	for name, s := range namesCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			commandScenario(t, dir, s.text)
			_, out, said := output(t, dir, "validate", "a.yaml")
			expect.Contains(t, out+said, "runs commands as you: "+s.asks)
			expect.True(t, !exists(t, dir, "ran"), "validate ran a command")
			_, _, said = output(t, dir, "run", "a.yaml", "-o", "out")
			expect.True(t, exists(t, dir, "ran") && !strings.Contains(said, "[y/N]"), "run said:\n%s", said)
		})
	}
}

func commandScenario(t *testing.T, dir, text string) {
	t.Helper()
	if strings.Contains(text, "kind: ssh") {
		need.Programs(t, "ssh", "ssh")
	}
	if !strings.Contains(text, "fabric:") {
		text = "fabric: {kind: hosts}\n" + text
	}
	write(t, dir, "a.yaml", "topology: FT(2;2,2)\nevent: {fragment: 4KiB}\n"+text+"\n")
	write(t, dir, "config", "Host *\n  ProxyCommand touch ran\n")
	write(t, dir, "touch", "#!/bin/sh\ntouch ran\nexit 7\n")
	expect.Must(t, os.Chmod(dir+"/touch", 0o700))
}

// atTerminal runs evbench in the foreground of a terminal, at which a user types.
func atTerminal(t *testing.T, dir, types string, args ...string) (code int, said string) {
	t.Helper()
	master := expect.Value(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	defer master.Close()
	expect.Must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := expect.Value(unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN))(t)
	slave := expect.Value(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	cmd := exec.Command(expect.Value(os.Executable())(t), args...)
	cmd.Args[0], cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "evbench", dir, slave, slave, slave
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_RUNTIME_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	expect.Must(t, cmd.Start())
	slave.Close()
	_, err := master.WriteString(types)
	expect.Must(t, err)
	text, _ := io.ReadAll(master) // EIO: the terminal's last user has ended
	_ = cmd.Wait()                // its exit code says more
	return cmd.ProcessState.ExitCode(), string(text)
}
