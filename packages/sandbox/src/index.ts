/** Sandboxes for untrusted code. Each provider is tested before it is used. Stable. */

/** The service that opens sandboxes, and the handle of an open one. */
export * as Sandbox from "./Sandbox.ts"
/** The specification of a sandbox: what runs in it, with which files, network and limits, and for whom. */
export * as SandboxSpec from "./SandboxSpec.ts"
/** The files of a sandbox, each with the hash of its content. */
export * as SandboxFiles from "./SandboxFiles.ts"
/** The limits of a sandbox on a program's time, memory, processes, output and disk space. */
export * as SandboxLimits from "./SandboxLimits.ts"
/** The outcome of a program that ran in a sandbox. */
export * as Outcome from "./Outcome.ts"
/** effect's `ChildProcessSpawner` in an open sandbox. */
export * as SandboxSpawner from "./SandboxSpawner.ts"
/** The error type of all sandbox providers. */
export * as SandboxError from "./SandboxError.ts"
/** The capabilities of a provider: what it runs, what it enforces, and whether it is safe for hostile code. */
export * as SandboxCapabilities from "./SandboxCapabilities.ts"
/** Sandboxes for tests. A function supplies the outcome of every program. */
export * as Scripted from "./Scripted.ts"
/** Sandboxes in bubblewrap, for Linux. They use kernel namespaces and need neither a daemon nor root rights. */
export * as Bubblewrap from "./Bubblewrap.ts"
/** Sandboxes in Docker. Every program runs in its own container. */
export * as Docker from "./Docker.ts"
/** Removes the processes and folders of sandboxes whose host process no longer exists. */
export * as Reaper from "./Reaper.ts"
/** Sandboxes in WebAssembly, for Python on every system that Node runs on. */
export * as Wasi from "./Wasi.ts"
/** Sandboxes of other providers through AI SDK sessions, such as e2b, Daytona, Vercel and just-bash. */
export * as AiSdkSession from "./AiSdkSession.ts"
/** Runs programs as plain processes of this machine, without a sandbox. */
export * as UnsafeHost from "./UnsafeHost.ts"
/** The sandbox providers that are tried in order on this machine, and what each of them lacks. */
export * as LocalProvider from "./LocalProvider.ts"
