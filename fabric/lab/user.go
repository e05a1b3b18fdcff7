package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// caller is the environment variable that tells a process in the user namespace of a lab who has
// called evbench outside.
const caller = "EVBENCH_LAB_USER"

// initialUsers is the machine's own user namespace, whose number the kernel fixes (proc_ns.h).
const initialUsers = "user:[4026531837]"

// User names the user who has called evbench, for folders in which no other user's name is the
// same: by number and, in a user namespace other than the machine's, by the number of that. In the
// namespace that Enter has created it is the caller outside, and inside is true.
func User() (name string, inside bool) {
	space, _ := os.Readlink("/proc/self/ns/user")
	users, _ := os.ReadFile("/proc/self/uid_map")
	return user(os.Getuid(), space, string(users), os.Getenv(caller))
}

// user is User for a process with this number, user namespace, map of users and caller. A caller
// counts only where the map has that user alone: other namespaces inherit the variable.
func user(own int, space, users, told string) (name string, inside bool) {
	var first, outside, count int
	number, _, _ := strings.Cut(told, "-")
	if _, err := fmt.Sscan(users, &first, &outside, &count); err == nil && count == 1 && first == own && strconv.Itoa(outside) == number {
		return told, true
	}
	name = strconv.Itoa(own)
	if number, ok := strings.CutPrefix(space, "user:["); ok && space != initialUsers {
		name += "-" + strings.TrimSuffix(number, "]")
	}
	return name, false
}

// Caller is the environment by which a process that this one starts in the namespace of a lab knows
// the user.
func Caller() string {
	name, _ := User()
	return caller + "=" + name
}
