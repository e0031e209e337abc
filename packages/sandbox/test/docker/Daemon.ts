/**
 * A daemon for tests of the Docker provider. It answers the `docker` command's requests as the Engine API documents, records them, and runs
 * containers in bubblewrap with the requested folders, users and process limits.
 *
 * @see docs.docker.com/reference/api/engine/version/v1.47
 */
import type * as InheritedDescriptors from "@effect-rl/sandbox/process/InheritedDescriptors"
import * as Seccomp from "@effect-rl/sandbox/process/Seccomp"
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chmodSync, chownSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Duplex } from "node:stream"

interface HostConfig {
  readonly AutoRemove: boolean
  readonly PidsLimit: number
  readonly Tmpfs?: Readonly<Record<string, string>> | null
  readonly Mounts?: ReadonlyArray<{ readonly Source: string; readonly Target: string; readonly ReadOnly?: boolean }>
}

/** The body of `POST /containers/create`. */
export interface Created {
  readonly Image: string
  readonly User: string
  readonly WorkingDir: string
  readonly Env: ReadonlyArray<string> | null
  readonly Entrypoint: ReadonlyArray<string>
  readonly Cmd: ReadonlyArray<string>
  readonly Labels: Readonly<Record<string, string>>
  readonly HostConfig: HostConfig & Readonly<Record<string, unknown>>
}

/** The body of `POST /volumes/create`. */
export interface Volume {
  readonly Name: string
  readonly Driver: string
  readonly DriverOpts: Readonly<Record<string, string>>
  readonly Labels: Readonly<Record<string, string>>
}

interface Container {
  readonly id: string
  readonly name: string
  readonly created: Created
  readonly onEnd: Set<(code: number) => void>
  stream?: Duplex
  child?: ChildProcess
}

interface Exec {
  readonly container: Container
  readonly command: ReadonlyArray<string>
  code: number
}

const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined

/** A chunk of a stream that multiplexes both outputs. */
const frame = (stream: 1 | 2, bytes: Uint8Array) => {
  const header = Buffer.alloc(8)
  header.writeUInt8(stream, 0)
  header.writeUInt32BE(bytes.byteLength, 4)
  return Buffer.concat([header, bytes])
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

export interface Daemon {
  /** For `DOCKER_HOST`. */
  readonly address: string
  /** Bodies of the container-creation requests that named a known image, in request order. */
  readonly created: Array<Created>
  readonly volumesMade: Array<Volume>
  /** Names of the existing containers and volumes. */
  readonly remaining: () => ReadonlyArray<string>
  /** Drops all connections, as a crashed daemon would. Containers keep running. */
  readonly drop: () => void
  readonly close: () => Promise<void>
}

/** Starts a daemon that has images with these names. `cover` hides this process's descriptors from the containers. */
export const start = async (images: ReadonlyArray<string>, cover: InheritedDescriptors.Cover): Promise<Daemon> => {
  const folder = mkdtempSync(join(tmpdir(), "effect-rl-docker-"))
  chmodSync(folder, 0o755)
  const containers = new Map<string, Container>()
  const volumes = new Map<string, Volume>()
  const execs = new Map<string, Exec>()
  const created: Array<Created> = []
  const volumesMade: Array<Volume> = []
  const streams = new Set<Duplex>()
  const folderOf = (volume: string) => join(folder, volume)

  // The filter refuses memory that a real container's control group would count.
  const filter = Seccomp.filter(process.arch)
  const filterFile = join(folder, "seccomp")
  if (filter !== undefined) writeFileSync(filterFile, filter)

  const find = (key: string) => [...containers.values()].find(({ id, name }) => id === key || name === key)

  const tmpfs = (
    path: string,
    options: string
  ) => ["--size", /size=(\d+)/.exec(options)?.[1] ?? "4096", "--tmpfs", path]

  const variable = (text: string) => {
    const at = text.indexOf("=")
    return ["--setenv", text.slice(0, at), text.slice(at + 1)]
  }

  /** The command that limits processes. Shells use one of two option letters for it. */
  const limited = (processes: number) => `{ ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}; }; exec "$@"`

  const depth = (path: string) => path.split("/").length

  /** The mounts in an order that puts folders before the mounts inside them. */
  const mounts = ({ Mounts, Tmpfs }: HostConfig) =>
    [
      ...Object.entries(Tmpfs ?? {}).map(([path, options]) => ({ path, words: tmpfs(path, options) })),
      ...(Mounts ?? []).map(({ ReadOnly = false, Source, Target }) => ({
        path: Target,
        words: [ReadOnly ? "--ro-bind" : "--bind", folderOf(Source), Target]
      }))
    ].sort((left, right) => depth(left.path) - depth(right.path)).flatMap(({ words }) => words)

  const inside = ({ created: { Env, HostConfig, WorkingDir } }: Container, command: ReadonlyArray<string>) =>
    [
      ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--as-pid-1", "--clearenv"],
      ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL", "--hostname", "sandbox"],
      ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives"],
      ...["bin", "sbin", "lib", "lib64"].map((name) => ["--symlink", `usr/${name}`, `/${name}`]),
      ["--proc", "/proc", "--dev", "/dev"],
      mounts(HostConfig),
      ["--remount-ro", "/", "--chdir", WorkingDir, "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"],
      ...(Env ?? []).map(variable),
      ["--", "/bin/sh", "-c", limited(HostConfig.PidsLimit), "sh", ...command]
    ].flat()

  const run = (
    container: Container,
    command: ReadonlyArray<string>,
    stream: Duplex | undefined,
    onEnd: (code: number) => void
  ) => {
    const filtered = filter === undefined ? [] : [openSync(filterFile, "r")]
    const child = spawn("bwrap", [...(filter === undefined ? [] : ["--seccomp", "3"]), ...inside(container, command)], {
      stdio: cover(["pipe", "pipe", "pipe", ...filtered]),
      detached: true,
      env: process.env,
      ...nobody
    })
    for (const descriptor of filtered) closeSync(descriptor)
    for (const pipe of child.stdio) pipe?.on("error", () => {})
    if (child.stdin === null || child.stdout === null || child.stderr === null) throw new Error("no pipes")
    if (stream === undefined) child.stdin.end()
    else stream.pipe(child.stdin)
    child.stdout.on("data", (bytes: Uint8Array) => stream?.write(frame(1, bytes)))
    child.stderr.on("data", (bytes: Uint8Array) => stream?.write(frame(2, bytes)))
    child.once("close", (code) => {
      stream?.end()
      onEnd(code ?? 137)
    })
    return child
  }

  const remove = (container: Container) => {
    containers.delete(container.id)
    if (container.child?.pid === undefined) return
    try {
      process.kill(-container.child.pid, "SIGKILL")
    } catch {
      // It has ended.
    }
  }

  const startContainer = (container: Container) => {
    const { created: { Cmd, Entrypoint, HostConfig } } = container
    container.child = run(container, [...Entrypoint, ...Cmd], container.stream, (code) => {
      if (HostConfig.AutoRemove) containers.delete(container.id)
      for (const tell of container.onEnd) tell(code)
    })
  }

  const isAsked = (labels: Readonly<Record<string, string>>, filters: string | null) => {
    const { label = {} }: { readonly label?: Readonly<Record<string, boolean>> } = JSON.parse(filters ?? "{}")
    return Object.keys(label).every((wanted) => {
      const [name = "", value] = wanted.split("=")
      return labels[name] === value
    })
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://docker")
    const path = pathname.replace(/^\/v\d+\.\d+/, "")
    const [, room = "", key = "", action = ""] = path.split("/")
    const text = await bodyOf(request)
    const say = (status: number, value?: unknown) => {
      response.writeHead(status, { "content-type": "application/json", "api-version": "1.47", ostype: "linux" })
      response.end(value === undefined ? "" : JSON.stringify(value))
    }
    const missing = () => say(404, { message: `No such container: ${key}` })
    const container = find(key)
    switch (
      `${request.method} /${room}${key === "create" || key === "json" ? `/${key}` : action === "" ? "" : `/${action}`}`
    ) {
      case "HEAD /_ping":
      case "GET /_ping":
        return say(200)
      case "POST /volumes/create": {
        const volume: Volume = JSON.parse(text)
        volumes.set(volume.Name, volume)
        volumesMade.push(volume)
        mkdirSync(folderOf(volume.Name))
        if (nobody !== undefined) chownSync(folderOf(volume.Name), nobody.uid, nobody.gid)
        return say(201, { ...volume, Mountpoint: folderOf(volume.Name), Scope: "local" })
      }
      case "GET /volumes": {
        const found = [...volumes.values()].filter(({ Labels }) => isAsked(Labels, searchParams.get("filters")))
        return say(200, { Volumes: found, Warnings: [] })
      }
      case "DELETE /volumes":
        volumes.delete(key)
        rmSync(folderOf(key), { recursive: true, force: true })
        return say(204)
      case "POST /containers/create": {
        const asked: Created = JSON.parse(text)
        if (!images.includes(asked.Image)) return say(404, { message: `No such image: ${asked.Image}` })
        created.push(asked)
        const made: Container = {
          id: randomUUID().replaceAll("-", "").repeat(2),
          name: searchParams.get("name") ?? "",
          created: asked,
          onEnd: new Set()
        }
        containers.set(made.id, made)
        return say(201, { Id: made.id, Warnings: [] })
      }
      case "GET /containers/json":
        return say(
          200,
          key === "json"
            ? [...containers.values()].filter(({ created }) => isAsked(created.Labels, searchParams.get("filters")))
              .map(
                ({ created, id, name }) => ({
                  Id: id,
                  Names: [`/${name}`],
                  Labels: created.Labels,
                  Image: created.Image
                })
              )
            : { Id: container?.id, Name: `/${container?.name}`, State: { Running: true }, Config: container?.created }
        )
      case "POST /containers/start":
        if (container === undefined) return missing()
        startContainer(container)
        return say(204)
      case "POST /containers/wait":
        if (container === undefined) return missing()
        response.writeHead(200, { "content-type": "application/json" })
        response.flushHeaders()
        container.onEnd.add((StatusCode) => response.end(JSON.stringify({ StatusCode })))
        return
      case "DELETE /containers":
        if (container === undefined) return missing()
        remove(container)
        return say(204)
      case "POST /containers/exec": {
        if (container === undefined) return missing()
        const { Cmd }: { readonly Cmd: ReadonlyArray<string> } = JSON.parse(text)
        const id = randomUUID()
        execs.set(id, { container, command: Cmd, code: 0 })
        return say(201, { Id: id })
      }
      case "GET /exec/json":
        return say(200, { ID: key, Running: false, ExitCode: execs.get(key)?.code ?? 0, Pid: 1 })
      default:
        return say(404, { message: `page not found: ${request.method} ${path}` })
    }
  }

  /** Handles `attach` and `exec/start`, which turn their connection into a stream after the request's body. */
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    streams.add(socket)
    socket.on("error", () => {}).on("close", () => streams.delete(socket))
    let skipped = Number(request.headers["content-length"] ?? 0)
    socket.unshift(head)
    const [, room, key = ""] = (request.url ?? "").replace(/^\/v\d+\.\d+/, "").split(/[/?]/)
    const begin = () => {
      socket.write(
        "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
      )
      const container = find(key)
      const exec = execs.get(key)
      if (room === "containers" && container !== undefined) container.stream = socket
      if (room === "exec" && exec !== undefined) {
        run(exec.container, exec.command, socket, (code) => exec.code = code)
      }
    }
    const skip = () => {
      if (skipped === 0) return begin()
      const bytes: Buffer | null = socket.read(skipped)
      if (bytes === null) return void socket.once("readable", skip)
      skipped = 0
      begin()
    }
    skip()
  }

  const server = createServer((request, response) => void answer(request, response))
  server.on("upgrade", upgrade)
  const path = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const drop = () => {
    for (const stream of streams) stream.destroy()
    server.closeAllConnections()
  }
  return {
    address: `unix://${path}`,
    created,
    volumesMade,
    remaining: () => [...[...containers.values()].map(({ name }) => name), ...volumes.keys()],
    drop,
    close: async () => {
      for (const container of containers.values()) remove(container)
      drop()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    }
  }
}
