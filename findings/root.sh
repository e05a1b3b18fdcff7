# Read by the scripts beside it: makes a small Debian root of pinned packages in a temporary
# directory, without root, and runs commands in it. Nothing is installed on the machine.
#   root SUITE PACKAGE=VERSION…   makes it in $root, with all that the packages depend on
#   inside COMMAND…               runs a command in it: own network, processes and /tmp, as its root
#   show TEXT / expect WHAT TEXT PATTERN   prints what was seen; fails if it is not as stated
# The packages come from the mirror that apt of this machine uses.
set -euo pipefail
work=$(mktemp -d)
root=$work/root
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT

root() {
	local suite=$1 mirror apt deb lib
	shift
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1)
	mkdir -p "$work"/apt/{lists,archives}/partial "$root"
	: >"$work/apt/status"
	printf 'deb %s %s main\n' "$mirror" "$suite" >"$work/apt/sources.list"
	apt=(-q -o Debug::NoLocking=true -o APT::Sandbox::User= -o APT::Install-Recommends=false
		-o Dir::State::status="$work/apt/status" -o Dir::State::lists="$work/apt/lists" -o Dir::Cache="$work/apt"
		-o Dir::Cache::archives="$work/apt/archives" -o Dir::Etc::sourcelist="$work/apt/sources.list"
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null)
	apt-get "${apt[@]}" update >"$work/apt/log" 2>&1 || { cat "$work/apt/log" >&2 && exit 1; }
	apt-get "${apt[@]}" install -y --download-only base-files bash coreutils grep sed "$@" >"$work/apt/log" 2>&1 ||
		{ echo "the packages are not there as pinned: $*" >&2 && cat "$work/apt/log" >&2 && exit 1; }
	# Where /bin, /lib and /sbin are links, packages follow them; older ones bring directories.
	mkdir -p "$root"/usr/{bin,lib,lib64,sbin} "$root"/{proc,dev,sys,tmp,etc,run}
	ln -s usr/bin usr/lib usr/lib64 usr/sbin "$root"
	for deb in "$work"/apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner; done
	# What their scripts would link: the shell, and libraries of which there is a choice.
	ln -sf libpsm1/libpsm_infinipath.so.1.16 "$root/usr/lib/libpsm_infinipath.so.1"
	for lib in "$root"/usr/lib/*/{blas/libblas,lapack/liblapack}.so.3; do
		[ ! -e "$lib" ] || ln -s "$(basename "$(dirname "$lib")")/$(basename "$lib")" "$(dirname "$(dirname "$lib")")"
	done
	[ -e "$root/bin/sh" ] || ln -s bash "$root/bin/sh"
	rm -r "$work/apt"
	echo 'root:x:0:0:root:/root:/bin/bash' >"$root/etc/passwd"
	echo 'root:x:0:' >"$root/etc/group"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	printf '# %s: %s\n' "$suite" "$*"
}

inside() {
	timeout -k 5 "${LIMIT:-300}" unshare --user --map-root-user --mount --net --pid --fork --kill-child bash -euc '
		root=$1 && shift
		mount --rbind /dev "$root/dev" && mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" && mount -t tmpfs tmpfs "$root/tmp"
		PATH=$PATH:/usr/sbin:/sbin && ip link set lo up
		cd / && exec env -i HOME=/tmp LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"' _ "$root" "$@"
}

show() { sed 's/^/| /' <<<"$1"; }

# expect SENTENCE TEXT PATTERN: the pattern (extended, a line) says what the sentence claims.
expect() {
	if grep -qE -- "$3" <<<"$2"; then
		echo "as stated: $1"
	else
		printf 'CHANGED: %s\nexpected: %s\nseen:\n' "$1" "$3" >&2
		show "$2" >&2
		exit 1
	fi
}
