package mpi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// Options of daemons have other names in Open MPI 5, and loopback is no network of theirs.
func TestLauncherOptions(t *testing.T) {
	all := Needs{Network: "10.1.0.0/16", Agent: "/a", Daemon: "/d", Scratch: "/s"}
	for _, tt := range []struct {
		version string
		needs   Needs
		want    string
	}{
		{"mpirun (Open MPI) 4.1.4", Needs{}, "--bind-to none"},
		{"mpirun (Open MPI) 5.0.7", Needs{Bound: true}, ""},
		{"mpirun.real (OpenRTE) 4.1.4", Needs{Network: "lo"}, "--bind-to none --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo"},
		{"mpirun (Open MPI) 5.0.7", Needs{Network: "lo"}, "--bind-to none --mca btl_tcp_if_include lo"},
		{"mpirun (Open MPI) 5.0.7", Needs{Network: "127.0.0.0/8"}, "--bind-to none --mca btl_tcp_if_include 127.0.0.0/8"},
		{"mpirun (Open MPI) 4.1.4", all, "--bind-to none --mca btl_tcp_if_include 10.1.0.0/16 --mca oob_tcp_if_include 10.1.0.0/16 --mca plm rsh --mca plm_rsh_agent /a" +
			" --mca orte_launch_agent /d --mca orte_tmpdir_base /s"},
		{"mpirun (Open MPI) 10.0.0rc1", all, "--bind-to none --mca btl_tcp_if_include 10.1.0.0/16 --prtemca prte_if_include 10.1.0.0/16 --prtemca plm ssh --prtemca plm_ssh_agent /a" +
			" --prtemca prte_launch_agent /d --prtemca prte_tmpdir_base /s"},
	} {
		got := strings.Join(launcherOf(tt.version+"\n\nReport bugs to\n").Options(tt.needs), " ")
		expect.Equal(t, got, tt.want, "%s %+v", tt.version, tt.needs)
	}
}

// What is no mpirun of Open MPI is not taken for one.
func TestFindLauncher(t *testing.T) {
	for text, want := range map[string]string{
		`[ "$*" = "--mca pml ucx --version" ] && echo "mpirun (Open MPI) 5.0.7"; exit 3`: "",
		"echo 'HYDRA build details:'; echo more":                                         `is not Open MPI's mpirun (--version: "HYDRA build details:")`,
		"exit 3":                                                                         "--version: exit status 3",
	} {
		program := filepath.Join(t.TempDir(), "mpirun")
		expect.Must(t, os.WriteFile(program, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
		l, err := FindLauncher(t.Context(), program, "--mca", "pml", "ucx")
		if want == "" {
			expect.True(t, err == nil && l == 5, "%s: %d, %v", text, l, err)
		} else {
			expect.True(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %s", text, err, want)
		}
	}
}
