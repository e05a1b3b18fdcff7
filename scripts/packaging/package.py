# SPDX-License-Identifier: Apache-2.0
"""Spack recipe of evbench, from the archive of its sources, which has all Go modules in it.

make dist writes it with the version and the sum of the archive. In the directory of the archive:
    spack repo add recipes/spack_repo/evbench
    spack install evbench            # also ~mpi, ~hdf5
"""

import os

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Evbench(MakefilePackage):
    """Event building on fat trees, measured and planned around dead links."""

    url = f"file://{os.getcwd()}/evbench-@VERSION@.tar.gz"
    manual_download = True

    license("Apache-2.0", checked_by="evbench")

    version("@VERSION@", sha256="@SHA256_SOURCES@")

    variant("mpi", default=True, description="Move fragments over MPI, too")
    variant("hdf5", default=True, description="Write results as one HDF5 file, too")

    depends_on("go@1.26:", type="build")
    depends_on("gmake", type="build")
    depends_on("c", type="build", when="+mpi")
    depends_on("c", type="build", when="+hdf5")
    depends_on("pkgconfig", type="build", when="+mpi")
    depends_on("openmpi", when="+mpi")
    depends_on("hdf5+hl", when="+hdf5")

    @property
    def variables(self):
        tags = [t for t in ("mpi", "hdf5") if self.spec.satisfies(f"+{t}")]
        return [f"VERSION={self.version}", "TAGS=" + ",".join(tags)]

    def setup_build_environment(self, env):
        env.set("GOFLAGS", "-mod=vendor")
        env.set("GOTOOLCHAIN", "local")
        env.set("GOCACHE", join_path(self.stage.path, "go-cache"))
        if self.spec.satisfies("+hdf5"):
            hdf5 = self.spec["hdf5"].prefix
            env.append_flags("CGO_CFLAGS", f"-O2 -I{hdf5.include}")
            env.append_flags("CGO_LDFLAGS", f"-L{hdf5.lib} -Wl,-rpath,{hdf5.lib}")

    def build(self, spec, prefix):
        make("build", *self.variables)

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}", *self.variables)

    def test_version(self):
        """the program starts and says its version"""
        out = which(self.prefix.bin.evbench)("--version", output=str.split, error=str.split)
        assert str(self.spec.version) in out
