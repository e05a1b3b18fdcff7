#!/usr/bin/env bash
# HDF5 1.10 (Debian 12): a file whose writer ends without flushing or closing it cannot be opened,
# and h5clear, which resets the mark of an open file, does not bring it back. After one flush what
# was written before it can be read.
. "$(dirname "$0")/root.sh"
root bookworm python3-h5py-serial=3.7.0-8 hdf5-tools=1.10.8+repack1-1 python3
cat >"$root/write.py" <<'EOS'
import os, sys
import h5py._debian_h5py_serial as h5py
f = h5py.File(sys.argv[1], "w")
d = f.create_dataset("samples", shape=(0,), maxshape=(None,), chunks=(64,), dtype="i8")
d.resize((1000,)); d[:] = range(1000)
if sys.argv[2] == "flush": f.flush()
os._exit(0)
EOS
cat >"$root/commands" <<'EOS'
for how in flush none; do
	python3 /write.py /tmp/$how.h5 $how
	h5clear -s /tmp/$how.h5 >/dev/null 2>&1 || true
	echo "$how: $(h5dump -H /tmp/$how.h5 2>&1 | grep -oE 'SIMPLE \{ \( [0-9]+|unable to open' | head -n 1)"
done
EOS
seen=$(inside bash /commands)
show "$seen"
expect 'a flushed file is read' "$seen" '^flush: SIMPLE \{ \( 1000$'
expect 'one never flushed is not' "$seen" '^none: unable to open$'
