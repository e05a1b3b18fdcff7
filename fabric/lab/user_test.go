package lab

import (
	"testing"

	"evbench/testing/expect"
)

func TestUser(t *testing.T) {
	const other = "user:[4026532001]"
	for _, tt := range []struct {
		name                     string
		own                      int
		space, users, told, want string
		inside                   bool
	}{
		{"the machine's root", 0, initialUsers, "0 0 4294967295\n", "", "0", false},
		{"a user of the machine", 1000, initialUsers, "0 0 4294967295\n", "", "1000", false},
		{"unshare -Ur of a user", 0, other, "0 1000 1\n", "", "0-4026532001", false},
		{"unshare -Ur of root", 0, other, "0 0 1\n", "", "0-4026532001", false},
		{"a container's", 1000, other, "0 100000 65536\n", "", "1000-4026532001", false},
		{"a user below another", 1000, other, "1000 0 1\n", "", "1000-4026532001", false},
		{"the lab of a user", 0, other, "0 1000 1\n", "1000", "1000", true},
		{"the lab of root", 0, other, "0 0 1\n", "0", "0", true},
		{"the lab of a user below another", 0, other, "0 1000 1\n", "1000-4026532000", "1000-4026532000", true},
		{"a container in a lab", 0, other, "0 100000 65536\n", "1000", "0-4026532001", false},
		{"another namespace in a lab", 0, other, "0 0 1\n", "1000", "0-4026532001", false},
		{"no /proc", 7, "", "", "", "7", false},
	} {
		got, inside := user(tt.own, tt.space, tt.users, tt.told)
		expect.True(t, got == tt.want && inside == tt.inside, "%s: %q, %v; want %q, %v", tt.name, got, inside, tt.want, tt.inside)
	}
}
