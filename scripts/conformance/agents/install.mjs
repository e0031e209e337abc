// The current client versions from npm and PyPI, each in its own folder. They are stored in $CONFORMANCE_ENVIRONMENTS (default:
// effect-rl-conformance in the temporary folder); with $CONFORMANCE_INSTALLED they are used as they are there.
import { execFile } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { promisify } from "node:util"

const environments = join(process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance"), "agents")
const run = promisify(execFile)

/** Time limit of an installation in milliseconds. */
const timeout = 300_000

/** npm chooses package versions for the Node that runs it, so this Node comes first. */
export const path = `${dirname(process.execPath)}:${process.env.PATH}`
const env = { ...process.env, PATH: path }

const reasonOf = ({ message, stderr }) => {
  const lines = (stderr || message).split("\n").filter((line) => /error|denied|timed out/i.test(line))
  return new Error(`it does not install: ${(lines[0] ?? message.split("\n")[0]).trim().slice(0, 160)}`)
}

const copied = (folder, files) => {
  for (const file of files) copyFileSync(file, join(folder, basename(file)))
}

/** Whether existing installations are used without updating them. */
const isInstalled = process.env.CONFORMANCE_INSTALLED !== undefined

const installed = async (program, args, options) => {
  if (!isInstalled) await run(program, args, options).catch((error) => Promise.reject(reasonOf(error)))
}

/** A folder with these npm packages, and the version of the first. `files` are copied into it. */
export const npm = async (name, packages, files) => {
  const folder = join(environments, name)
  mkdirSync(folder, { recursive: true })
  const manifest = join(folder, "package.json")
  if (!existsSync(manifest)) writeFileSync(manifest, JSON.stringify({ private: true, type: "module" }))
  const latest = packages.map((one) => `${one}@latest`)
  await installed("npm", ["install", "--no-audit", "--no-fund", ...latest], { cwd: folder, env, timeout })
  copied(folder, files)
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules", packages[0], "package.json"), "utf8"))
  return { folder, program: process.execPath, version }
}

const versionOf =
  "import importlib.metadata, re, sys; print(importlib.metadata.version(re.split(r'[\\[<>=]', sys.argv[1])[0]))"

/** An environment with these PyPI packages, and the version of the first. */
export const pip = async (name, packages, files) => {
  const folder = join(environments, name)
  const program = join(folder, "bin/python")
  if (!existsSync(program)) await installed(process.env.CONFORMANCE_PYTHON ?? "python3", ["-m", "venv", folder], {})
  const install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
  await installed(program, [...install, ...packages], { timeout })
  copied(folder, files)
  const { stdout } = await run(program, ["-c", versionOf, packages[0]])
  return { folder, program, version: stdout.trim() }
}
