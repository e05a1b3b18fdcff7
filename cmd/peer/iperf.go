package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
)

// errNotListening is the end of a server that may have no port of its own.
var errNotListening = errors.New("iperf3's server did not start")

// runIperf runs iperf3 on a port that is drawn until its server has one; iperf3 takes none
// that the system gives. Systems give clients none below 32768.
func (t *tools) runIperf(ctx context.Context, s side, milliseconds int) (out reading, err error) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return reading{}, leftOut{"iperf3 is not installed"}
	}
	for range 10 {
		if out, err = t.iperf(ctx, s, milliseconds, strconv.Itoa(10000+rand.IntN(20000))); !errors.Is(err, errNotListening) {
			break
		}
	}
	return out, err
}

// iperf runs iperf3's server for one test, and its client.
func (t *tools) iperf(ctx context.Context, s side, milliseconds int, port string) (out reading, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := t.command(ctx, "iperf3", "--server", "--one-off", "--forceflush", "--bind", "127.0.0.1", "--port", port)
	pipe, err := server.StdoutPipe()
	if err != nil {
		return reading{}, err
	}
	if err := server.Start(); err != nil {
		return reading{}, err
	}
	defer func() {
		if err != nil {
			stop() // its client will not come
		}
		_, _ = io.Copy(io.Discard, pipe) // until it closes it
		if end := told(server, server.Wait()); err == nil {
			err = end
		}
	}()
	if err := listens(pipe); err != nil {
		return reading{}, err
	}
	seconds := (milliseconds + 999) / 1000 // it takes whole ones
	said, err := t.output(t.command(ctx, "iperf3", "--client", "127.0.0.1", "--port", port, "--json",
		"--time", strconv.Itoa(seconds), "--parallel", strconv.Itoa(s.streams)))
	if err != nil {
		return reading{}, fmt.Errorf("%w: %s", err, said)
	}
	return readIperf(said)
}

// listens returns once the server says that it listens.
func listens(r io.Reader) error {
	for s := bufio.NewScanner(r); s.Scan(); {
		if strings.HasPrefix(s.Text(), "Server listening") {
			return nil
		}
	}
	return errNotListening
}

// readIperf reads the client's report: what was received in the time of the test.
func readIperf(said string) (reading, error) {
	var got struct {
		End struct {
			Received struct {
				Seconds    float64 `json:"seconds"`
				BitsPerSec float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		return reading{}, fmt.Errorf("iperf3 printed %q: %w", said, err)
	}
	if got.End.Received.BitsPerSec <= 0 {
		return reading{}, errors.New("iperf3 received nothing")
	}
	return reading{got.End.Received.Seconds, got.End.Received.BitsPerSec / 8e6}, nil
}
