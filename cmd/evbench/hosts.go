package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/topology/network"
)

// hostsText returns what --hosts says: what the file of that name holds or, where there is none, the
// list itself, and how errors name it.
func hostsText(list string) (text []byte, name string, err error) {
	text, err = atomicfile.Read(list, maxList)
	if errors.Is(err, fs.ErrNotExist) && !strings.Contains(list, "/") {
		return []byte(list), "no file " + list + ", and as a list", nil
	}
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s: names no host", list)
	}
	return text, list, err
}

// readHosts reads hosts of a network.
func readHosts(list string, n *network.Network) (network.Job, error) {
	text, name, err := hostsText(list)
	if err != nil {
		return network.Job{}, err
	}
	job, err := network.ReadJob(bytes.NewReader(text), n)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return job, err
}
