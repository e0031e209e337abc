// Clients as npm and PyPI have them today, each in a folder of its own. They are kept in $CONFORMANCE_ENVIRONMENTS (default:
// effect-rl-conformance in the temporary folder).
import { execFile } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { promisify } from "node:util"

const environments = join(process.env.CONFORMANCE_ENVIRONMENTS ?? join(tmpdir(), "effect-rl-conformance"), "agents")
const run = promisify(execFile)

/** Milliseconds, after which an installation is given up. */
const timeout = 300_000

/** npm chooses versions for the Node that it runs on: this one. */
export const path = `${dirname(process.execPath)}:${process.env.PATH}`
const env = { ...process.env, PATH: path }

const reasonOf = ({ message, stderr }) => {
  const lines = (stderr || message).split("\n").filter((line) => /error|denied|timed out/i.test(line))
  return new Error(`it does not install: ${(lines[0] ?? message.split("\n")[0]).trim().slice(0, 160)}`)
}

const copied = (folder, files) => {
  for (const file of files) copyFileSync(file, join(folder, basename(file)))
}

/** A folder with these packages of npm, and the version of the first. `files` are copied into it. */
export const npm = async (name, packages, files) => {
  const folder = join(environments, name)
  mkdirSync(folder, { recursive: true })
  const manifest = join(folder, "package.json")
  if (!existsSync(manifest)) writeFileSync(manifest, JSON.stringify({ private: true, type: "module" }))
  if (process.env.CONFORMANCE_INSTALLED !== undefined) {
    copied(folder, files)
    return {
      folder,
      program: process.execPath,
      version: JSON.parse(readFileSync(join(folder, "node_modules", packages[0], "package.json"), "utf8")).version
    }
  }
  const install = ["install", "--no-audit", "--no-fund", ...packages.map((one) => `${one}@latest`)]
  await run("npm", install, { cwd: folder, env, timeout }).catch((error) => Promise.reject(reasonOf(error)))
  copied(folder, files)
  const versionOf = (one) => JSON.parse(readFileSync(join(folder, "node_modules", one, "package.json"), "utf8")).version
  return { folder, program: process.execPath, version: versionOf(packages[0]) }
}

const shown =
  "import importlib.metadata, re, sys; print(importlib.metadata.version(re.split(r'[\\[<>=]', sys.argv[1])[0]))"

/** An environment with these packages of PyPI, and the version of the first. */
export const pip = async (name, packages, files) => {
  const folder = join(environments, name)
  const program = join(folder, "bin/python")
  try {
    if (process.env.CONFORMANCE_INSTALLED !== undefined) {
      copied(folder, files)
      const { stdout } = await run(program, ["-c", shown, packages[0]])
      return { folder, program, version: stdout.trim() }
    }
    if (!existsSync(program)) await run(process.env.CONFORMANCE_PYTHON ?? "python3", ["-m", "venv", folder])
    await run(program, ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade", ...packages], {
      timeout
    })
  } catch (error) {
    throw reasonOf(error)
  }
  copied(folder, files)
  const { stdout } = await run(program, ["-c", shown, packages[0]])
  return { folder, program, version: stdout.trim() }
}
