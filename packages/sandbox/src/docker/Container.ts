/** The arguments of the `docker` commands that create the containers and volumes of a sandbox. */
import * as StartScript from "../process/StartScript.ts"
import type { Command } from "../Sandbox.ts"
import type * as SandboxLimits from "../SandboxLimits.ts"
import type * as SandboxSpec from "../SandboxSpec.ts"

/** The user and group `nobody`, which own no files in any image. */
const user = 65534

/** The folder where programs start and a grader's files lie. */
const root = "/work"
const given = "/given"

/**
 * The label of everything that a host creates. Its value is the host's id; the owner label identifies hosts that can be checked from here.
 */
export const hostLabel = "effect-rl.sandbox.host"
export const ownerLabel = "effect-rl.sandbox.owner"

/** What the containers and volumes of one provider share. */
export interface Place {
  readonly image: string
  readonly host: string
  readonly owner: string
}

const labels = ({ host, owner }: Place) => [`--label=${hostLabel}=${host}`, `--label=${ownerLabel}=${owner}`]

/** The size of a volume. It is never 0, because 0 means unlimited. */
const sizeOf = ({ disk }: SandboxLimits.Resolved) => Math.max(disk, 4096)

/** An in-memory file system of limited size. It exists as long as a container uses it. */
export const volume = (place: Place, name: string, limits: SandboxLimits.Resolved): ReadonlyArray<string> => [
  "volume",
  "create",
  "--driver=local",
  "--opt=type=tmpfs",
  "--opt=device=tmpfs",
  `--opt=o=size=${sizeOf(limits)},nr_inodes=65536,mode=0755,uid=${user},gid=${user},nosuid,nodev`,
  ...labels(place),
  name
]

const mount = (volume: string, target: string, ...options: ReadonlyArray<string>) =>
  `--mount=${["type=volume", `source=${volume}`, `target=${target}`, "volume-nocopy", ...options].join(",")}`

/**
 * The volumes of a sandbox. Each folder that programs also find at an absolute path is a separate volume mounted in both places, because a
 * read-only image cannot hold links.
 */
export interface Volumes {
  readonly root: string
  readonly folders: Folders
}

/** Volume names by folder below the root. */
export type Folders = ReadonlyMap<string, string>

/** The volumes for the folders of a spec. Their names start with `name`. */
export const folders = (name: string, { folders }: SandboxSpec.Resolved): Folders =>
  new Map([...new Set(Object.values(folders))].map((folder, index) => [folder, `${name}-${index}`]))

/** The paths at which programs find a folder below the root: below the root itself, and below each absolute path that maps to it. */
const placesOf = (folder: string, { folders }: SandboxSpec.Resolved) => [
  `${root}/${folder}`,
  ...Object.entries(folders).flatMap(([path, within]) =>
    `${folder}/`.startsWith(`${within}/`) ? [`${path}${folder.slice(within.length)}`] : []
  )
]

const mountAll = ({ folders, root: volume }: Volumes, target: string, ...options: ReadonlyArray<string>) => [
  mount(volume, target, ...options),
  ...Array.from(folders, ([folder, volume]) => mount(volume, `${target}/${folder}`, ...options))
]

const mountFolders = (folders: Folders, spec: SandboxSpec.Resolved) =>
  [...folders].flatMap(([folder, volume]) => placesOf(folder, spec).map((place) => mount(volume, place)))

const memoryFolder = (path: string, limits: SandboxLimits.Resolved, mode: string) =>
  `--tmpfs=${path}:rw,exec,nosuid,nodev,size=${sizeOf(limits)},mode=${mode},uid=${user},gid=${user}`

/** Arguments that make the image read-only and remove all privileges and the network. The daemon does not keep outputs. */
const confined = (place: Place, name: string) => [
  "run",
  "--rm",
  "--pull=never",
  `--name=${name}`,
  ...labels(place),
  "--network=none",
  "--hostname=sandbox",
  "--ipc=private",
  "--read-only",
  `--user=${user}:${user}`,
  "--cap-drop=ALL",
  "--security-opt=no-new-privileges",
  "--log-driver=none",
  "--no-healthcheck",
  `--workdir=${root}`
]

const mebibyte = 1024 * 1024

const bounds = (processes: number, memory: number) => [
  `--pids-limit=${processes}`,
  "--cpus=1",
  `--memory=${memory}`,
  `--memory-swap=${memory}`
]

/** The lifetime of a keeper: one day, after which nothing needs the sandbox of a host that was never reaped. */
const longestSeconds = 86_400

/**
 * The arguments that start the container that keeps the files of a sandbox. Files are read and written in it, but it never runs a model's
 * programs.
 */
export const keeper = (place: Place, volumes: Volumes, limits: SandboxLimits.Resolved): ReadonlyArray<string> => [
  ...confined(place, volumes.root),
  "--detach",
  ...bounds(16, (1 + volumes.folders.size) * limits.disk + 64 * mebibyte),
  ...mountAll(volumes, root),
  "--entrypoint=sleep",
  place.image,
  String(longestSeconds)
]

/** The arguments that run a command in the container that keeps the files. */
export const inKeeper = (name: string, command: ReadonlyArray<string>): ReadonlyArray<string> => [
  "exec",
  "--interactive",
  name,
  ...command
]

/** The script's own process, in addition to the program's processes. */
const own = 1

/**
 * The exit code with which `docker` reports its own failures. If a program exits with this code, the container's script
 * writes a word to standard error that tells the two cases apart.
 */
export const dockerFailed = 125

const variables = ({ environment }: SandboxSpec.Resolved) =>
  Object.entries({ HOME: root, TMPDIR: "/tmp", LANG: "C.UTF-8", ...environment })
    .map(([name, value]) => `--env=${name}=${value}`)

const start = (word: string) => [
  "code=0",
  `printf %s ${word} >&2`,
  "\"$@\" || code=$?",
  `[ $code != ${dockerFailed} ] || printf %s ${word} >&2`,
  "exit $code"
]

/** The container of one program. */
export interface Program {
  readonly name: string
  /** The volumes of the sandbox. */
  readonly volumes: Volumes
  /** The volumes of folders that the program finds at absolute paths: the sandbox's, or the grader program's own. */
  readonly folders: Folders
  /** The word that marks the start of the program. */
  readonly word: string
}

/**
 * The arguments that run one program. The container's memory limit covers the program and the files that it writes, because all of them are
 * in memory.
 */
export const program = (
  place: Place,
  { folders, name, volumes, word }: Program,
  spec: SandboxSpec.Resolved,
  { argv }: Command
): ReadonlyArray<string> => {
  const { limits, role, runtime } = spec
  const isGrader = role === "grader"
  return [
    ...confined(place, name),
    "--interactive",
    "--sig-proxy=false",
    ...bounds(limits.processes + own, limits.memory + (3 + folders.size) * limits.disk + 16 * mebibyte),
    `--shm-size=${sizeOf(limits)}`,
    memoryFolder("/tmp", limits, "1777"),
    ...(isGrader
      ? [memoryFolder(root, limits, "0755"), ...mountAll(volumes, given, "readonly")]
      : [mount(volumes.root, root)]),
    ...mountFolders(folders, spec),
    ...variables(spec),
    "--entrypoint=/bin/sh",
    place.image,
    ...StartScript.args({
      limits,
      runtime,
      others: own,
      limitsProcesses: false,
      start: start(word),
      ...(isGrader ? { given } : {})
    }),
    ...argv
  ]
}
