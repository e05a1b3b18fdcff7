// Package hosts starts the servers of plain hosts by ssh. It answers three questions:
// which hosts does a list name, and which server is on which (Expand, Place); which
// hosts cannot be used, and why (Judge); how does a worker get there, start and stop
// (SSH)?
//
// The first two are decided from values alone. SSH runs the OpenSSH client and
// leaves to it what its configuration says: addresses, keys, jump hosts. Nothing
// is left on a host but the binary. Secrets go through standard input and are on
// no command line.
package hosts
