// Python virtual environments. They are stored in $CONFORMANCE_ENVIRONMENTS (default: effect-rl-conformance in the temporary folder).
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const environments = process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance")

const runs = (python, code) => spawnSync(python, ["-c", code], { stdio: "ignore" }).status === 0

const print = (python, code, ...args) => execFileSync(python, ["-c", code, ...args], { encoding: "utf8" }).trim()

/** Only Debian's Python can import Debian's torch, and it may not be the first Python on PATH. */
const candidates = process.env.CONFORMANCE_PYTHON === undefined
  ? ["python3", "/usr/bin/python3"]
  : [process.env.CONFORMANCE_PYTHON]
const usable = candidates.filter((python) => runs(python, "import venv, ensurepip"))

/** $CONFORMANCE_PYTHON, or else the first Python with torch, or else the first Python. */
export const base = usable.find((python) => runs(python, "import torch")) ?? usable[0]

export const hasTorch = base !== undefined && runs(base, "import torch")

/** Gives an environment access to the base's packages, even if the base is itself an environment. */
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

/** The versions of a Python and of some of its packages. */
export const versions = (python, packages) => print(python, named, ...packages)
