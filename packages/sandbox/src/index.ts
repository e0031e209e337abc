/** Places where untrusted code runs, each probed before it is used. Stable. */

/** The service that opens sandboxes, and the handle of an open one. */
export * as Sandbox from "./Sandbox.ts"
/** The description of a sandbox: what runs in it, with which files, network and limits, and for whom. */
export * as SandboxSpec from "./SandboxSpec.ts"
/** Files of a sandbox, each known by the hash of its content. */
export * as SandboxFiles from "./SandboxFiles.ts"
/** Limits of a sandbox: what one program may use of time, memory, processes, output and disk. */
export * as SandboxLimits from "./SandboxLimits.ts"
/** The outcome of a program in a sandbox. */
export * as Outcome from "./Outcome.ts"
/** effect's `ChildProcessSpawner` in an open sandbox. */
export * as SandboxSpawner from "./SandboxSpawner.ts"
/** The one error of every sandbox provider. */
export * as SandboxError from "./SandboxError.ts"
/** The capabilities of a provider: what it runs, what it enforces, and whether it holds against hostile code. */
export * as SandboxCapabilities from "./SandboxCapabilities.ts"
/** Sandboxes for tests: a function stands for every program. */
export * as Scripted from "./Scripted.ts"
/** Sandboxes of bubblewrap, for Linux: namespaces of the kernel, set up without a daemon and without rights. */
export * as Bubblewrap from "./Bubblewrap.ts"
/** Sandboxes of Docker: every program is a container of its own. */
export * as Docker from "./Docker.ts"
/** Removes what processes that no longer exist left of their sandboxes. */
export * as Reaper from "./Reaper.ts"
/** Sandboxes of WebAssembly, for Python on every system that Node runs on. */
export * as Wasi from "./Wasi.ts"
/** Sandboxes of others, by the sessions of the AI SDK: e2b, Daytona, Vercel, just-bash. */
export * as AiSdkSession from "./AiSdkSession.ts"
/** No sandbox at all: programs as plain processes of this machine. */
export * as UnsafeHost from "./UnsafeHost.ts"
/** The providers that are tried in order on this machine, and what each of them lacks. */
export * as LocalProvider from "./LocalProvider.ts"
