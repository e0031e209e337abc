import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Outcome from "../Outcome.ts"
import * as SandboxFiles from "../SandboxFiles.ts"
import type { SandboxSpec } from "../SandboxSpec.ts"
import * as Case from "./Case.ts"

const secret = "the contents of a file outside of the sandbox"

/** A file on this machine that all users may read and write. */
const outside = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-rl-outside-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  ),
  (folder) => {
    const file = join(folder, "secret")
    writeFileSync(file, secret, { mode: 0o666 })
    return { folder, file }
  }
)

/** A server on this machine that counts connections. */
const server: Effect.Effect<{ readonly port: number; readonly connections: () => number }, never, Scope> = Effect.gen(
  function*() {
    let connections = 0
    const listening = createServer((socket) => {
      connections++
      socket.end()
    })
    const port = yield* Effect.callback<number>((resume) => {
      listening.listen(0, "127.0.0.1", () => {
        const address = listening.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
      })
    })
    yield* Effect.addFinalizer(() => Effect.callback<void>((done) => void listening.close(() => done(Effect.void))))
    return { port, connections: () => connections }
  }
)

const confinedPython = (body: Case.Body) =>
  Case.where((service) => Case.runsPython(service) && Case.isConfined(service), body)

/** The cases that check that programs reach nothing outside their sandbox. */
export const cases: ReadonlyArray<Case.Case> = [
  Case.make(
    "confinement: a program neither reads nor changes files of this machine",
    confinedPython(Effect.gen(function*() {
      const { file } = yield* outside
      const place = yield* Case.open()
      const outcome = yield* place.run({
        python: `
import sys
path = sys.argv[1]
for name in (path, '/proc/1/root' + path, '/proc/self/root' + path, '../../../../../../../..' + path, '/etc/shadow'):
  for mode in ('r', 'w'):
    try: print('opened', name, open(name, mode).read())
    except BaseException: pass
print('done')`
      }, { args: [file] })
      yield* Case.expectPrinted(outcome, "done")
      yield* Case.expectEqual("the file outside", readFileSync(file, "utf8"), secret)
    }))
  ),
  Case.make(
    "confinement: a link that a program made leads nowhere",
    confinedPython(Effect.gen(function*() {
      const { file, folder } = yield* outside
      const place = yield* Case.open({ role: "agent" })
      yield* place.run({
        python: `
import os, sys
for name, target in (('link', sys.argv[1]), ('folder', sys.argv[2]), ('up', '..'), ('all', '/')):
  try: os.symlink(target, name)
  except BaseException: pass
try: os.link(sys.argv[1], 'hard')
except BaseException: pass`
      }, { args: [file, folder] })
      for (const path of ["link", "folder/secret", `all${file}`, `up${file}`, "hard"]) {
        const read = yield* Effect.catch(place.handle.read(path), () => Effect.undefined)
        yield* Case.expect(read === undefined || Outcome.text(read) !== secret, `${path} not to be readable`, secret)
        yield* Effect.ignore(place.handle.write(path, "changed"))
        yield* Case.expectEqual("the file outside", readFileSync(file, "utf8"), secret)
      }
    }))
  ),
  Case.make(
    "confinement: a program reaches no network",
    confinedPython(Effect.gen(function*() {
      const { connections, port } = yield* server
      const place = yield* Case.open({ role: "agent" })
      const outcome = yield* place.run({
        python: `
import sys
try:
  import socket
  socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)
  print('connected')
except BaseException as error: print('refused')`
      }, { args: [String(port)] })
      yield* Case.expectPrinted(outcome, "refused")
      yield* Case.expectEqual("connections", connections(), 0)
    }))
  ),
  Case.make(
    "confinement: a program of an agent reaches the address that its spec names, and no other",
    Case.where(
      (service) => Case.runsPython(service) && service.capabilities.network === "named",
      Effect.gen(function*() {
        const [named, other] = [yield* server, yield* server]
        const address = `127.0.0.1:${named.port}`
        const place = yield* Case.open({ role: "agent", network: [address] })
        const outcome = yield* place.run({
          python: `
import socket, sys
def reaches(host, port):
  try:
    with socket.create_connection((host, port), 2) as connection: return connection.recv(9) == b''
  except OSError: return False
named, other = map(int, sys.argv[1:])
print(reaches('127.0.0.1', named), reaches('127.0.0.1', other), reaches('192.0.2.1', 80), reaches('localhost', 22))
try: print(socket.getaddrinfo('example.org', 80))
except OSError: print('no names')`
        }, { args: [String(named.port), String(other.port)] })
        yield* Case.expectPrinted(outcome, "True False False False\nno names")
        yield* Case.expectEqual("connections to the named address", named.connections(), 1)
        yield* Case.expectEqual("connections to another address", other.connections(), 0)
        const next = yield* Case.open({ role: "agent" })
        const without = yield* next.run({
          python:
            "import socket, sys\ntry: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)\nexcept OSError: print('refused')"
        }, { args: [String(named.port)] })
        yield* Case.expectPrinted(without, "refused")
        yield* Case.expectRefusal(Case.open({ role: "agent", network: ["example.org"] }), "Denied")
        yield* Case.expectRefusal(Case.open({ role: "grader", network: [address] }), "Denied")
      })
    )
  ),
  Case.make(
    "confinement: a program finds folders of its sandbox at the absolute paths that its spec names, and no others",
    Case.where(
      ({ capabilities }) => capabilities.folders === true && capabilities.runtimes.includes("shell"),
      Effect.gen(function*() {
        const folders = { "/app": "app", "/logs/tests": "logs" }
        const files = SandboxFiles.make({ "app/a.txt": "a", "logs/b.txt": "b" })
        for (const role of ["agent", "grader"] as const) {
          const place = yield* Case.open({ runtime: "shell", role, folders, files })
          const script =
            "cat /app/a.txt /logs/tests/b.txt; echo c > /app/c.txt; cat app/c.txt; test -e /tests || echo none"
          yield* Case.expectPrinted(yield* place.handle.exec({ argv: ["sh", "-c", script] }), "abc\nnone")
        }
        yield* Case.expectRefusal(Case.open({ folders: { "/usr/app": "app" } }), "Denied")
        yield* Case.expectRefusal(Case.open({ folders: { "/app": "../app" } }), "Denied")
      })
    )
  ),
  Case.make(
    "confinement: a program of a grader changes nothing in a folder that is read-only",
    Case.where(
      ({ capabilities }) => capabilities.readOnly === true && capabilities.runtimes.includes("shell"),
      Effect.gen(function*() {
        const folders = { "/app": "app", "/tests": "tests" }
        const files = SandboxFiles.make({ "app/a.txt": "a", "tests/b.txt": "b", "tests/deep/c.txt": "c" })
        const spec: Partial<SandboxSpec> = { runtime: "shell", folders, files, readOnly: ["/tests"] }
        const place = yield* Case.open(spec)
        const attempts = [
          "echo x > /tests/b.txt",
          "echo x >> /tests/deep/c.txt",
          "rm /tests/b.txt",
          "mv /tests/deep /tests/e",
          "touch /tests/new",
          "mv /tests /other",
          "rm -r /tests",
          "chmod 777 /tests /tests/b.txt",
          "ln -s /app /tests/app",
          "mount -o remount,rw /tests",
          "umount /tests",
          "echo x > /given/tests/b.txt",
          "rm -r ~/tests"
        ]
        const script = `${
          attempts.map((attempt) => `{ ${attempt}; } 2>/dev/null`).join("; ")
        }; cd /tests && find . | sort && cat b.txt deep/c.txt`
        yield* Case.expectPrinted(
          yield* place.handle.exec({ argv: ["sh", "-c", script] }),
          ".\n./b.txt\n./deep\n./deep/c.txt\nbc"
        )
        yield* Case.expectRefusal(Case.open({ ...spec, role: "agent" }), "Denied")
        yield* Case.expectRefusal(Case.open({ ...spec, readOnly: ["/other"] }), "Denied")
        yield* Case.expectRefusal(Case.open({ ...spec, files: [] }), "Denied")
      })
    )
  ),
  Case.make(
    "confinement: a program sees no process but its own",
    confinedPython(Effect.gen(function*() {
      const place = yield* Case.open()
      const outcome = yield* place.run({
        python: `
import os, sys
host = sys.argv[1]
for pid in (os.listdir('/proc') if os.path.exists('/proc') else []):
  for name in ('environ', 'cmdline', 'maps'):
    try:
      text = open(f'/proc/{pid}/{name}', 'rb').read().decode(errors='replace')
      if host in text: print('found', pid, name)
    except BaseException: pass
try:
  os.kill(int(host), 0); print('can signal')
except BaseException: pass
print('done')`
      }, { args: [String(process.pid)] })
      yield* Case.expectOutcome(
        outcome,
        !Outcome.text(outcome.stdout).includes("can signal"),
        "no signal to this process"
      )
      yield* Case.expectOutcome(
        outcome,
        !Outcome.text(outcome.stdout).includes("environ"),
        "no environment of this process"
      )
    }))
  ),
  Case.make(
    "confinement: a program has its three streams open and no other descriptor",
    confinedPython(Effect.gen(function*() {
      const place = yield* Case.open()
      const outcome = yield* place.run({
        python: `
import os
found = []
for n in range(3, 1024):
  try:
    os.fstat(n)
    target = os.readlink(f'/proc/self/fd/{n}') if os.path.exists('/proc/self/fd') else '/'
    if target not in ('/dev/null', '/'): found.append(f'{n} {target}')
  except OSError: pass
print(found)`
      })
      yield* Case.expectPrinted(outcome, "[]")
    }))
  ),
  Case.make(
    "confinement: a program starts no program of this machine that it was not given",
    confinedPython(Effect.gen(function*() {
      const place = yield* Case.open()
      const outcome = yield* place.run({
        python: `
import os
for call in ('mount', 'bwrap', 'docker', 'sudo', 'nsenter', 'unshare'):
  try:
    code = os.system(call + {'mount': ' -t tmpfs none /mnt', 'unshare': ' -r true', 'sudo': ' -n true', 'docker': ' ps',
      'nsenter': ' -t 1 -m true', 'bwrap': ' --ro-bind / / true'}[call] + ' >/dev/null 2>&1')
    if code == 0: print('succeeded', call)
  except BaseException: pass
print('done')`
      })
      yield* Case.expectPrinted(outcome, "done")
    }))
  )
]
