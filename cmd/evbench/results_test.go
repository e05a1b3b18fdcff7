package main

import (
	"errors"
	"evbench/testing/expect"
	"os"
	"testing"
)

// The link leads to the last run. Without a folder there is none, and what is no link stays.
func TestPointLatest(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"elsewhere/one", "elsewhere/two"} {
		expect.Must(t, os.MkdirAll(dir, 0o755))
	}
	expect.OK(t, pointLatest("results", "elsewhere/one"))
	expect.Must(t, os.Mkdir("results", 0o755))
	for _, dir := range []string{"elsewhere/one", "elsewhere/two"} {
		err := pointLatest("results", dir)
		to, linkErr := os.Readlink("results/latest")
		expect.True(t, err == nil && linkErr == nil && to == "../"+dir, "%q, %v, %v", to, err, linkErr)
	}
	expect.Must(t, errors.Join(os.Remove("results/latest"), os.Mkdir("results/latest", 0o755)))
	expect.Error(t, pointLatest("results", "elsewhere/one"), "is not a symbolic link")
}
