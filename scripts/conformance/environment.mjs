// Virtual environments of Python. They are kept in $CONFORMANCE_ENVIRONMENTS (default: effect-rl-conformance in the temporary folder).
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const environments = process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance")

const runs = (python, code) => spawnSync(python, ["-c", code], { stdio: "ignore" }).status === 0

const print = (python, code, ...args) => execFileSync(python, ["-c", code, ...args], { encoding: "utf8" }).trim()

/** Debian's torch is seen by Debian's Python alone, which need not be the first one. */
const candidates = process.env.CONFORMANCE_PYTHON === undefined
  ? ["python3", "/usr/bin/python3"]
  : [process.env.CONFORMANCE_PYTHON]
const usable = candidates.filter((python) => runs(python, "import venv, ensurepip"))

/** $CONFORMANCE_PYTHON, or the first Python that has torch, or the first at all. */
export const base = usable.find((python) => runs(python, "import torch")) ?? usable[0]

export const hasTorch = base !== undefined && runs(base, "import torch")

/** Lets an environment see what the base has, also where the base is an environment itself. */
const share = (python) => {
  const folders = print(base, "import site; print('\\n'.join(site.getsitepackages()))")
  writeFileSync(join(print(python, "import site; print(site.getsitepackages()[0])"), "base.pth"), `${folders}\n`)
}

/** A Python with what each of these calls of `pip install` installs, one after another; undefined where PyPI does not give it. */
export const prepare = (name, ...installs) => {
  const folder = join(environments, name)
  const python = join(folder, "bin/python")
  if (!existsSync(python)) {
    mkdirSync(environments, { recursive: true })
    execFileSync(base, ["-m", "venv", folder])
    share(python)
  }
  const install = (packages) =>
    spawnSync(python, ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade", ...packages], {
      stdio: ["ignore", "ignore", "inherit"]
    }).status === 0
  return installs.every(install) ? python : undefined
}

const named = `
import importlib.metadata, platform, sys
versions = [f"{name} {importlib.metadata.version(name)}" for name in sys.argv[1:]]
print(", ".join([f"Python {platform.python_version()}", *versions]))
`

/** The versions of a Python and of packages in it. */
export const versions = (python, packages) => print(python, named, ...packages)
